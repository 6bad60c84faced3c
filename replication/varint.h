// Numbers of 32 bits in as few bytes as they need: 7 bits a byte, the lowest first; the highest bit
// of a byte says that another follows. At most 5 bytes; there is one spelling of each number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/record_bytes.h"

namespace weir {

inline constexpr std::size_t kVarintBytesMax = 5;

// Writes to `to`, which has room for kVarintBytesMax; returns the end.
inline char* PutVarint(std::uint32_t number, char* to) noexcept {
  for (; number >= 0x80; number >>= 7) *to++ = static_cast<char>(number | 0x80);
  *to++ = static_cast<char>(number);
  return to;
}

inline void AppendVarint(std::uint32_t number, std::string& out) {
  char bytes[kVarintBytesMax];
  out.append(bytes, static_cast<std::size_t>(PutVarint(number, bytes) - bytes));
}

// Returns 0, and the reader fails, for bytes that AppendVarint does not write.
[[nodiscard]] inline std::uint32_t TakeVarint(RecordReader& reader) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 7 * kVarintBytesMax; shift += 7) {
    const std::uint64_t byte = reader.Take<std::uint8_t>();
    number |= (byte & 0x7F) << shift;
    if (byte >= 0x80) continue;
    const bool is_shortest = byte != 0 || shift == 0;
    if (number > UINT32_MAX || !is_shortest) break;
    return static_cast<std::uint32_t>(number);
  }
  reader.Fail();
  return 0;
}

}  // namespace weir
