// Where a key has its holds and its buckets: a partition of the server's table, or a value of the
// module. HoldKeeper (hold_keeper.h) changes both through it.
//
// The keys are those of the holds (HoldTerms::key): hashes in the server; 0 in the module, where a
// store belongs to one key. Not thread-safe: the caller holds the lock of the partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/table/hold_table.h"
#include "core/table/slot_key.h"

namespace weir {

class HoldStore {
 public:
  HoldStore() = default;
  HoldStore(const HoldStore&) = default;
  HoldStore& operator=(const HoldStore&) = delete;
  virtual ~HoldStore() = default;

  // The holds, or null. MakeHolds returns a table in any case.
  [[nodiscard]] virtual HoldTable* holds() = 0;
  [[nodiscard]] virtual HoldTable& MakeHolds() = 0;
  // To be called after holds or sums have changed. A table that has become empty may be gone then.
  virtual void HoldsChanged() = 0;

  [[nodiscard]] virtual std::optional<Bucket> FindBucket(const SlotKey& slot) = 0;
  // Replaces the bucket or inserts it, even beyond the bound on the buckets of a key.
  virtual void StoreBucket(const SlotKey& slot, const Limit& limit, Bucket bucket, Instant now) = 0;
  // Returns whether the key may have `added` more buckets. May drop full ones.
  [[nodiscard]] virtual bool HasRoomFor(std::uint64_t key, std::size_t added, Instant now) = 0;
};

// A key in its store.
struct StoredKey {
  HoldStore* store;
  std::uint64_t key;
};

}  // namespace weir
