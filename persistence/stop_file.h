// The stop file: how far the writes of a database went when its server stopped cleanly.
//
// RocksDB takes some damage for a crash and opens without a word what is left: a MANIFEST that is
// cut short, a log that is missing. The sequence number of the last write tells: a database that
// has less has lost something. The file is written last, after everything is in table files, and
// removed before the first write of the next server.
//
// Text of one line: "weir stopped at <sequence number> crc32c <8 hexadecimal digits>\n", the
// checksum being that of the bytes before " crc32c". Pure functions; any bytes may be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::string_view kStopFile = "STOPPED";  // its name in the data directory

[[nodiscard]] std::string StopFileText(std::uint64_t sequence_number);
// Nothing where it does not read as one.
[[nodiscard]] std::optional<std::uint64_t> ReadStopFile(std::string_view text);

}  // namespace weir
