// A check of table files before RocksDB opens them: RocksDB 7.8 takes the block of a table's
// properties apart before it verifies its checksum, and ends the process (an assertion) where the
// last bytes of that block say that it has a hash index, which such a block never has.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace weir {

// Fails with kDataLoss if a table file of the directory is damaged in that way. Whatever else may
// be wrong with one RocksDB finds itself. Cost: three short reads a file.
absl::Status CheckTables(const std::string& directory);

}  // namespace weir
