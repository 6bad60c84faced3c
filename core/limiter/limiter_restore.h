// Makes the table of a limiter what records say: those on disk at a start, or those of a primary.
//
//     LimiterRestore restore(limiter.table());
//     restore.SetFollowing(true);
//     const std::size_t dropped = restore.Apply(records, time);
//
// Thread-safe, except for loading. A restore is a reference to the table, which must outlive it.
// Fails: never; a record that has no room is dropped, and counted or told.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/instant.h"
#include "core/limiter/limiter_changes.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/settlement.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"
#include "core/table/saved_hold.h"
#include "core/table/slot_key.h"
#include "core/table/table_generation.h"

namespace weir {

struct LimiterTable;

class LimiterRestore {
 public:
  explicit LimiterRestore(LimiterTable& table) : table_(table) {}

  // --- Following a primary ---

  // While a table follows, no hold expires: it takes what its primary has settled. Stops the
  // world for about 50 us.
  void SetFollowing(bool follows);
  // Tells the newest time that the primary has told, before what came with it is applied. Nothing
  // is dropped that is not full by then. One thread tells it. Cost: a store.
  void SetTold(Instant time) noexcept;
  // Forgets everything, and hashes keys with this secret from now on. Requests that are under way
  // may still look for their keys' old places, and find nothing there.
  void StartOver(const HashSecret& secret);
  // Makes the table what the records say. `records.limits` are the limits that they name, with ids
  // 0, 1, 2, ..., whatever ids those have here. A partition that is rewritten becomes its records
  // at once. `time`: the primary's, no earlier than the execution time of any change. Returns the
  // number of records that were dropped, because there is no room for their limit or hold. Cost:
  // about 0.3 us a bucket.
  std::size_t Apply(const LimiterChanges& records, Instant time);

  // --- Loading, before anything is decided ---

  // Returns false, with nothing changed, if the id is taken or too large, or the limit has an id.
  [[nodiscard]] bool RestoreLimit(LimitId id, const Limit& limit);
  struct RestoredBucket {
    SlotKey key;
    Bucket bucket;
  };
  // Restores the buckets of a partition. If there is no room for all, those with the greatest used
  // share at `now` stay. Requires: an empty partition; distinct buckets of restored limits, each of
  // a form that its limit has (HasFormOf).
  void RestorePartition(std::size_t partition, std::span<const RestoredBucket> buckets,
                        Instant now);
  // Restores an open hold or a mark, for no user. Returns false, with nothing changed, if there are
  // too many marks. Requires: restored limits, and no hold of that name.
  [[nodiscard]] bool RestoreHold(const KeyHash& key, std::string_view id, const SavedHold& hold);
  // Restores the sums of a bucket. Returns false, with nothing changed, if its key has no open
  // hold.
  [[nodiscard]] bool RestoreSums(std::size_t partition, const SlotKey& bucket,
                                 const SettlementSums& sums);
  // Counts the buckets of held limits, and cancels the holds that have expired at `now`, each as of
  // its expiry; nothing expires if `now` is unset, where clients give the time. To be called after
  // the holds, their sums and all buckets are restored.
  void ExpireRestored(std::optional<Instant> now);
  void EndRestore(TableGeneration generation);

 private:
  void InsertRestoredHeld(std::size_t partition, Instant now);

  LimiterTable& table_;
};

}  // namespace weir
