// The checksum CRC-32C (Castagnoli) of some bytes: that of RocksDB's log, and of the stop file.
//
// Source: RFC 3720, appendix B.4. Cost: about 2 ns a byte.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

// The checksum of what `crc` is the checksum of, followed by `bytes`; 0: of nothing.
[[nodiscard]] std::uint32_t Crc32c(std::string_view bytes, std::uint32_t crc = 0) noexcept;

}  // namespace weir
