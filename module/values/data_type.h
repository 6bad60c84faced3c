// The type of our values, "weir-keys": how Redis saves, loads, copies and frees them, and with them
// the policies of the node.
//
// An RDB file has the policies before the keys. An AOF that is rewritten without an RDB preamble
// (aof-use-rdb-preamble no) has no place for what is no key: there policies are lost, and with them
// their buckets.
#pragma once

#include "module/api/redis_api.h"

namespace weir {

// Null if the server does not take it.
[[nodiscard]] redis::Type* CreateDataType(redis::Context* context);

}  // namespace weir
