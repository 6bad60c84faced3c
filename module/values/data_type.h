// The type of the module's values, "weir-keys": how Redis saves, loads, copies and frees them, and
// how it saves and loads the node's policies.
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
