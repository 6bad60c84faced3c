// Numbers of four bytes, big-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::size_t kU32Bytes = 4;

inline void AppendU32(std::uint32_t number, std::string& out) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<std::uint8_t>(number >> shift)));
  }
}

// The number at the front. Requires: kU32Bytes bytes.
[[nodiscard]] inline std::uint32_t ReadU32(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char byte : bytes.substr(0, kU32Bytes)) {
    number = number << 8 | static_cast<std::uint8_t>(byte);
  }
  return number;
}

}  // namespace weir
