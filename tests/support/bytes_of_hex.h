// The bytes of an example in a page of docs/.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protocol/hex_digit.h"

namespace weir {

// "4f 0a" is two bytes. All but hexadecimal digits is passed over.
[[nodiscard]] inline std::string BytesOfHex(std::string_view text) {
  std::string bytes;
  std::optional<unsigned> high;
  for (const char c : text) {
    const std::optional<unsigned> digit = HexDigit(c);
    if (!digit) continue;
    if (high) bytes += static_cast<char>(*high << 4 | *digit);
    high = high ? std::nullopt : digit;
  }
  return bytes;
}

}  // namespace weir
