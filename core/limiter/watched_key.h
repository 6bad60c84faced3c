// The buckets of a key as WATCH found them. A later look compares them with the present ones.
#pragma once

#include <cstddef>
#include <vector>

#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"

namespace weir {

struct WatchedKey {
  struct WatchedBucket {
    LimitId id;
    Limit limit;
    Bucket bucket;
  };
  KeyHash key;
  std::vector<WatchedBucket> buckets;  // sorted by the ids of their limits
  std::size_t visits = 0;  // slots that Limiter::Watch visited; IsUnchanged will visit as many
};

}  // namespace weir
