// The spelling of an integer in the protocol, in length fields and in arguments alike:
//
//     integer = "0" | ["-"] nonzero digit*        from -2^63 to 2^63-1
//
// Each number has one spelling: no "+", no leading zero, no "-0", no blank. So two programs that a
// request passes through cannot read different lengths from the same bytes. Redis has these rules.
//
// Pure. Cost: O(1), as a text of more than kIntegerBytesMax bytes is not read.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace weir {

inline constexpr std::size_t kIntegerBytesMax = 20;  // "-9223372036854775808"
static_assert(kIntegerBytesMax == 1 + 1 + std::numeric_limits<std::int64_t>::digits10);

// The integer that all of `text` spells, or nothing.
[[nodiscard]] inline std::optional<std::int64_t> ParseInteger(std::string_view text) noexcept {
  if (text == "0") return 0;
  if (text.size() > kIntegerBytesMax) return std::nullopt;
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits.front() < '1' || digits.front() > '9') return std::nullopt;
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

}  // namespace weir
