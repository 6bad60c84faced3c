// A check of RocksDB's logs that tells damage from the torn end that a crash leaves.
//
// RocksDB 7.8 recovers a log up to the first unreadable record and drops the rest without a
// message. That is right for a torn end: the last write was not complete when the machine stopped.
// For damage before the end it would lose synced writes. The bytes that follow tell which it is:
// weir syncs each write before it begins the next, so if a write begins behind an unreadable
// record, that record was damaged. A write whose pieces are not in order is damaged, too.
//
// A log is a sequence of blocks of 32 KiB. A block is a sequence of records {masked crc32c:4
// length:2 type:1 bytes}, little-endian; fewer than 7 bytes at its end are padding. A write is one
// record of type 1, or a record of type 2 (first), any number of type 3 (middle) and one of type 4
// (last).
//
// Source: RocksDB's wiki, "Write Ahead Log File Format". Pure function; any bytes may be read.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace weir {

// Returns the offset of the first damaged record, or nothing if the log is whole or has a torn end.
// A damaged last write looks like a torn one and is not reported. Cost: about 2 ns a byte, and some
// ms more for damage.
[[nodiscard]] std::optional<std::size_t> FindLogDamage(std::string_view log);

}  // namespace weir
