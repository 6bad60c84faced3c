// The stop file: the sequence number of the last write before a clean stop.
//
// RocksDB takes some damage for a crash and opens the rest without a message: a MANIFEST that is
// cut short, or a log that is missing. The stop file shows it: a database whose last sequence
// number is lower has lost writes. The file is written last, when all records are in table files,
// and removed before the first write of the next server.
//
// The file is one line: "weir stopped at <sequence number> crc32c <8 hexadecimal digits>\n", with
// the checksum of the bytes before " crc32c". Pure functions; any bytes may be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::string_view kStopFile = "STOPPED";  // its name in the data directory

[[nodiscard]] std::string StopFileText(std::uint64_t sequence_number);
// Returns the sequence number, or nothing if the text is not that of a stop file.
[[nodiscard]] std::optional<std::uint64_t> ReadStopFile(std::string_view text);

}  // namespace weir
