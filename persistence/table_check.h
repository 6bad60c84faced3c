// A check of table files that must run before RocksDB opens them.
//
// RocksDB 7.8 parses the block of a table's properties before it verifies the block's checksum. If
// the last bytes say that the block has a hash index, which such a block never has, an assertion of
// RocksDB ends the process.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace weir {

// Fails with kDataLoss if a table file of the directory is damaged in that way. RocksDB finds all
// other damage. Cost: three short reads a file.
absl::Status CheckTables(const std::string& directory);

}  // namespace weir
