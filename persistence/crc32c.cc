#include "persistence/crc32c.h"

#include <array>

namespace weir {
namespace {

constexpr std::uint32_t kReversedPolynomial = 0x82F63B78;

constexpr std::array<std::uint32_t, 256> kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1U) * kReversedPolynomial;
    table.at(byte) = crc;
  }
  return table;
}();
static_assert(kTable[1] == 0xF26B8303);  // from RFC 3720's table
static_assert(kTable[255] == 0xAD7D5351);

}  // namespace

std::uint32_t Crc32c(std::string_view bytes, std::uint32_t crc) noexcept {
  crc = ~crc;
  for (const char byte : bytes) {
    crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU];
  }
  return ~crc;
}

}  // namespace weir
