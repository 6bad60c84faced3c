// The checksum CRC-32C (Castagnoli), which RocksDB's logs and the stop file carry.
//
// Source: RFC 3720, appendix B.4. Cost: about 2 ns a byte.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

// Returns the checksum of `bytes`. A checksum of earlier bytes as `crc` gives that of both
// together.
[[nodiscard]] std::uint32_t Crc32c(std::string_view bytes, std::uint32_t crc = 0) noexcept;

}  // namespace weir
