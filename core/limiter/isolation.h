// Isolation makes several calls one unit, and a WatchedKey tells whether its buckets have changed:
// EXEC needs both.
//
//     const WatchedKey watched = Watch(limiter.table(), "user:42", now);       // WATCH
//     const Isolation isolation(limiter.table(), keys, {{watched}});           // EXEC
//     if (IsUnchanged(limiter.table(), watched, now)) ...                      // several calls
//
// Thread-safe. Fails: never. Holds that are due are settled first, in every look at a key.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/table/bucket_table.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"

namespace weir {

struct LimiterTable;

// The buckets of a key as Watch found them.
struct WatchedKey {
  struct WatchedBucket {
    LimitId id;
    Limit limit;
    Bucket bucket;
  };
  KeyHash key;
  std::vector<WatchedBucket> buckets;  // sorted by the ids of their limits
  std::size_t visits = 0;              // slots that Watch visited; IsUnchanged will visit as many
};

// Cost: a visit of the key's slots (Limiter::CountVisits), and a copy of its buckets' limits.
[[nodiscard]] WatchedKey Watch(LimiterTable& table, std::string_view key, Instant now);
// Returns true unless a bucket has changed since Watch. A bucket that is full at `now` counts as
// absent.
[[nodiscard]] bool IsUnchanged(LimiterTable& table, const WatchedKey& watched, Instant now);

// Makes several calls of this thread one unit: while it exists, no other thread's call about the
// same keys comes between them. Until then this thread may call nothing about other keys, and
// functions about all keys (Clear, size, ...) only if it isolates all. A nested one adds nothing.
// Cost: the locks of the keys' partitions; for all keys, which stops the world, about 50 us.
class Isolation {
 public:
  Isolation(LimiterTable& table, std::span<const std::string_view> keys,
            std::span<const WatchedKey> watched = {});
  explicit Isolation(LimiterTable& table);  // all keys

 private:
  // Set if all keys are isolated. Taken before the partitions' locks, as by Clear.
  std::optional<MutexLock<RecursiveMutex>> changes_;
  TableIsolation partitions_;
};

}  // namespace weir
