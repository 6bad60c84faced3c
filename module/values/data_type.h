// The type of the module's values, "weir-keys": how Redis saves, loads, copies and frees them, and
// how it saves and loads the node's policies.
//
// The encoding version that Redis stores with a type is one for all values of a file, so it stays
// 0, and a value with holds says so in its bytes (state_bytes.h): a module before holds reads a
// file without holds, and refuses one that has some.
//
// An RDB file has the policies before the keys. An AOF that is rewritten without an RDB preamble
// (aof-use-rdb-preamble no) has place for keys only: it loses the policies, and with them their
// buckets.
#pragma once

#include "module/api/redis_api.h"

namespace weir {

// Returns null if the server refuses it.
[[nodiscard]] redis::Type* CreateDataType(redis::Context* context);

}  // namespace weir
