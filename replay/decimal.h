// Decimal numbers of log lines and options, read exactly: 1700000000.25 seconds, 99.9 percent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace weir {

// The number that `text` spells, times 10^places: "1.5" with 3 places is 1500. Nothing unless
// `text` is digits, or digits, a point and 1 to `places` digits, has at most 19 - `places` digits
// before the point, and the result is below 2^63. Pure. Cost: O(bytes).
[[nodiscard]] inline std::optional<std::int64_t> ParseDecimal(std::string_view text,
                                                              std::size_t places) noexcept {
  // Numbers of as many digits stay below 2^64.
  constexpr std::size_t kDigitsMax = std::numeric_limits<std::uint64_t>::digits10;
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::size_t fraction_digits = point < text.size() ? text.size() - point - 1 : 0;
  if (point == 0 || (point < text.size() && fraction_digits == 0) || fraction_digits > places ||
      point + places > kDigitsMax) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == point) continue;
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  for (std::size_t i = fraction_digits; i < places; ++i) number *= 10;
  if (number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace weir
