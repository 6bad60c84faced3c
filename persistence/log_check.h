// Tells damage in a log of RocksDB from the torn end that a crash leaves.
//
// RocksDB 7.8 recovers a log up to the first record that does not read and drops the rest without a
// word. That is right for a torn end: the last write was under way when the machine stopped. Damage
// before the end would forget writes that were synced. The two differ in what follows: weir syncs
// each write before it begins the next, so a record that begins a write, behind one that does not
// read, proves damage.
//
// A log is a row of blocks of 32 KiB; a block is a row of records {masked crc32c:4 length:2 type:1
// bytes}, little-endian, and fewer than 7 bytes at its end are left out. A write is one record of
// type 1, or records of the types 2 (first), 3 (middle) and 4 (last).
// Source: RocksDB's wiki, "Write Ahead Log File Format". Pure function; any bytes may be read.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace weir {

// The offset of the first record that does not read although later writes follow it; nothing for a
// log that is whole or ends torn. A damaged last write reads like a torn one, and is not reported.
// Cost: about 2 ns a byte; for damage, some ms more.
[[nodiscard]] std::optional<std::size_t> FindLogDamage(std::string_view log);

}  // namespace weir
