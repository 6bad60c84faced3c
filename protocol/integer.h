// How the protocol spells a number, in length fields as in arguments:
//
//     integer = "0" | ["-"] nonzero digit*        from -2^63 to 2^63-1
//
// One number has one spelling: no "+", no leading zero, no "-0", no blank. So two programs on the
// way of a request cannot read different lengths out of the same bytes. These are the rules of
// Redis, whose clients we serve.
//
// Pure. Costs O(1): what is longer than kIntegerBytesMax is no integer, whatever it says.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace weir {

inline constexpr std::size_t kIntegerBytesMax = 20;  // "-9223372036854775808"

// The number that `text` spells from its first byte to its last, or nothing.
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
