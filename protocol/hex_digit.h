// The value of a hexadecimal digit, as escapes have it: "\x4f" of an inline request, "%4F" of a
// target. Pure.
#pragma once

#include <optional>

namespace weir {

// 0 to 15 for a digit in either case; nothing for any other byte.
[[nodiscard]] constexpr std::optional<unsigned> HexDigit(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a' + 10);
  if (digit >= 'A' && digit <= 'F') return static_cast<unsigned>(digit - 'A' + 10);
  return std::nullopt;
}

}  // namespace weir
