// The state that the classes of this folder share: buckets, limits and holds, with their locks, the
// bound on their memory and the marks of what has changed.
//
//     PartitionLock lock(table.buckets, key.partition);
//     table.ExpireHolds(key, now);
//
// Limiter owns it. Limiter, LimiterUpkeep, ChangeReader and LimiterRestore are the doors to it, one
// for each kind of caller: only files of this folder include this header. A function that takes a
// key or a partition requires that the partition is locked.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/functional/function_ref.h"

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "core/limiter/hold_keeper.h"
#include "core/limiter/hold_records.h"
#include "core/limiter/hold_request.h"
#include "core/limiter/hold_store.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/table/bucket_table.h"
#include "core/table/changed_partitions.h"
#include "core/table/key_bound.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"
#include "core/table/slot_key.h"
#include "core/table/table_bound.h"
#include "core/table/table_generation.h"
#include "core/words/request.h"

namespace weir {

struct LimiterOptions {
  HashSecret secret{};
  // The longest wait that may ever be reserved: how far past its capacity a stored time is
  // believed. 0 .. kMaxWaitMax.
  Nanos max_wait = std::chrono::seconds{60};
  std::size_t limits_max = kLimitsMax;  // distinct limits in use
  std::size_t holds_max = kHoldsMax;    // open holds, one for each key of a reservation
  // False if clients give the execution time, which may then go back between decisions on a key.
  // True if it comes from a clock that several threads read: a thread that is overtaken between
  // reading the clock and deciding uses the time of the latest decision about its keys.
  bool time_is_ordered = true;
  bool logs_changes = false;   // for ChangeReader
  std::size_t memory_max = 0;  // as LimiterUpkeep::set_memory_max
  // Returns an interned limit with its present numbers, or nothing if it is gone. Null: a limit
  // keeps the numbers that it was interned with. Called with a partition's lock held.
  std::function<std::optional<Limit>(const Limit&)> present = nullptr;
};

// The bucket of a check.
struct FoundBucket {
  std::optional<LimitId> id;  // unset: not interned, so there is no bucket
  Bucket* slot = nullptr;     // null: absent
};

// Why a bucket is erased. Nothing is lost with a full one, as an absent one is full.
enum class Erasure : bool { kFull, kLost };

struct LimiterTable {
  explicit LimiterTable(const LimiterOptions& options);

  [[nodiscard]] const KeyHasher& hasher() const noexcept {
    return *current_hasher.load(std::memory_order_acquire);
  }
  [[nodiscard]] KeyHash Hash(std::string_view key) const noexcept { return hasher()(key); }

  // --- Buckets ---

  // Writes a decided bucket: replaces the one that was found, or inserts one and counts it for its
  // limit. Marks the partition changed and publishes its size. Requires: the limit has an id; for a
  // new bucket, MakeRoomFor() was called.
  void Store(const KeyHash& key, const FoundBucket& found, const Limit& limit, Bucket bucket);
  // The mirror of Store: erases a bucket and uncounts it from its limit. CountErased leaves the
  // erasure and the publication to a scan that erases (Partition::EraseSome).
  void Erase(std::size_t partition, const SlotKey& slot, Erasure why = Erasure::kLost);
  void CountErased(std::size_t partition, const SlotKey& slot, Erasure why);
  // Erases the buckets of the partition for which is_gone(slot, bucket) is true. Returns how many.
  std::size_t EraseIf(std::size_t partition,
                      absl::FunctionRef<bool(const SlotKey&, Bucket)> is_gone,
                      Erasure why = Erasure::kLost);
  // Tells ChangeReader that something in the partition has changed. Requires: the partition logs
  // changes.
  void MarkChanged(std::size_t partition);

  // Returns whether the key may have `added` more buckets; nothing if only a count can tell.
  [[nodiscard]] std::optional<bool> KnownRoom(const KeyHash& key, std::size_t added, Instant now);
  // Like KnownRoom, but counts if necessary. If the key has too many buckets, drops its full ones,
  // except for those of `asked`.
  [[nodiscard]] bool HasRoom(const KeyHash& key, std::size_t added, Instant now,
                             std::span<const FoundBucket> asked = {}) {
    const std::optional<bool> known = KnownRoom(key, added, now);
    return known ? *known : MakeRoomOnKey(key, added, now, asked);
  }
  // Makes room in the partition for all new buckets of a request, so that they do not evict each
  // other. (They may evict one of its present buckets, if that has the smallest used share.)
  // Requires: at most kChecksMax buckets.
  void MakeRoomFor(std::size_t added, std::size_t partition, Instant now);
  // Drops all full buckets of a partition, and others until at most `slots_kept` are left.
  void DropDownTo(std::size_t slots_kept, std::size_t index, Instant now);

  // Sets the bound on the buckets to what memory_max leaves beside the holds.
  void FitBound() noexcept;

  // --- Holds ---

  // Settle the holds that have expired: those of one key or of a request's keys, and little else,
  // so that after a million holds have expired together no request waits for the others; or at most
  // `most` of a partition.
  void ExpireHolds(const KeyHash& key, Instant now);
  void ExpireHolds(std::span<const Check> checks, Instant now);
  void ExpireHolds(std::size_t partition, Instant now,
                   std::size_t most = std::numeric_limits<std::size_t>::max());
  // Drop the holds and marks of a key, or of a partition, for which is_gone(hold) is true.
  void ForgetHolds(const KeyHash& key, absl::FunctionRef<bool(const Hold&)> is_gone);
  void ForgetHolds(std::size_t partition, absl::FunctionRef<bool(const Hold&)> is_gone);
  // The bucket is lost: no open hold may give anything back to another one in its place.
  void CountLoss(const KeyHash& key, LimitId id);
  // Tells ChangeReader that holds of the partition may have changed, and publishes whether there
  // are open ones.
  void PublishHolds(std::size_t partition);

  static constexpr std::size_t kReclaimsAtOnce = 1024;
  // NOLINTNEXTLINE(*-identifier-naming): public. The slots that this thread has visited so far.
  static inline constinit thread_local std::uint64_t slots_visited = 0;

  // The hasher, and those that it has replaced, which requests under way may still use.
  std::vector<std::unique_ptr<const KeyHasher>> hashers;
  std::atomic<const KeyHasher*> current_hasher;
  const Nanos max_wait;
  const bool time_is_ordered;
  // This and the next are written while all partitions are locked. Partition::logs_changes is the
  // same, for those who have locked one.
  std::atomic<bool> logs_changes;
  bool follows = false;
  // The newest time that the primary has told a table that follows (LimiterRestore::SetTold).
  std::atomic<Instant> told{};
  // The time up to which what is full may be dropped. The clock of a replica that hears from a
  // primary first may go back, so a thread that has read it before must not drop by it what has
  // come since. Requires: a partition is locked, or changes_mutex is held.
  [[nodiscard]] Instant Droppable(Instant now) const noexcept {
    return follows ? std::min(now, told.load(std::memory_order_relaxed)) : now;
  }
  // Held while changes are taken, while ids are taken back, and while everything is forgotten:
  // these must not overlap. Taken before a partition's lock.
  RecursiveMutex changes_mutex;
  TableGeneration generation ABSL_GUARDED_BY(changes_mutex){};
  std::vector<BucketTable::Discarded> discarded ABSL_GUARDED_BY(changes_mutex);
  std::atomic<bool> has_discarded{false};  // written under changes_mutex; false: there is nothing
  const std::size_t limits_max;
  ChangedPartitions changed_partitions;     // used if logs_changes; may have unchanged ones, too
  ChangedPartitions overflowed_partitions;  // those of them whose ChangeLog has overflowed
  std::atomic<std::size_t> memory_max{0};   // 0: no bound
  std::atomic<TableBound> bound;
  std::atomic<std::uint64_t> reservations{0};
  std::atomic<std::uint64_t> resets{0};  // of keys, and of the whole table
  std::atomic<std::uint64_t> evicted{0};
  std::atomic<std::uint64_t> evicted_full{0};
  LimitRegistry registry;
  HoldRecords hold_records;
  HoldKeeper keeper;
  BucketTable buckets;

 private:
  // Store for a new bucket, and for a present one where changes are logged.
  void Insert(const KeyHash& key, LimitId id, const Limit& limit, Bucket bucket);
  void ReplaceAndLog(const KeyHash& key, const FoundBucket& found, const Limit& limit,
                     Bucket bucket);
  // Counts the buckets of every key in the partition. If this key has too many, drops its full
  // ones, except for those of `asked`. Cost: about 20 ns a slot.
  [[nodiscard]] bool MakeRoomOnKey(const KeyHash& key, std::size_t added, Instant now,
                                   std::span<const FoundBucket> asked);
  void AdvanceDecisionTime(std::size_t partition, std::optional<Instant> time);
};

ABSL_ATTRIBUTE_ALWAYS_INLINE inline void LimiterTable::Store(const KeyHash& key,
                                                             const FoundBucket& found,
                                                             const Limit& limit, Bucket bucket) {
  if (!found.slot) return Insert(key, *found.id, limit, bucket);
  if (buckets.partition(key.partition).logs_changes()) {
    return ReplaceAndLog(key, found, limit, bucket);
  }
  *found.slot = bucket;  // There is nothing to mark or to publish.
}

// A key has no more buckets than its partition, and no more than there are limits.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline std::optional<bool> LimiterTable::KnownRoom(const KeyHash& key,
                                                                                std::size_t added,
                                                                                Instant now) {
  Partition& partition = buckets.partition(key.partition);
  // The limits of the new buckets may have no ids yet.
  const std::size_t most = std::min<std::size_t>(partition.size(), registry.used()) + added;
  if (most <= kKeyBucketsMax) return true;
  return partition.crowded_keys().HasRoom(key.hash, added, now);
}

inline void LimiterTable::MakeRoomFor(std::size_t added, std::size_t partition, Instant now) {
  const std::size_t slots_max = bound.load(std::memory_order_relaxed).SlotsMax(partition);
  if (buckets.partition(partition).size() + added <= slots_max) return;
  WEIR_CHECK(added <= slots_max);
  DropDownTo(slots_max - std::max(added, slots_max / 32), partition, now);
}

// A partition of the table as a store of holds. Requires: the partition is locked.
class PartitionStore final : public HoldStore {
 public:
  PartitionStore(LimiterTable& table, std::size_t partition)
      : table_(table), partition_(partition) {}

  [[nodiscard]] HoldTable* holds() override { return table_.buckets.holds(partition_); }
  [[nodiscard]] HoldTable& MakeHolds() override { return table_.buckets.MakeHolds(partition_); }
  void HoldsChanged() override { table_.PublishHolds(partition_); }

  [[nodiscard]] std::optional<Bucket> FindBucket(const SlotKey& slot) override {
    const Bucket* const stored = table_.buckets.partition(partition_).Find(slot);
    return stored ? std::optional(*stored) : std::nullopt;
  }
  void StoreBucket(const SlotKey& slot, const Limit& limit, Bucket bucket, Instant now) override {
    const FoundBucket found{slot.limit, table_.buckets.partition(partition_).Find(slot)};
    if (!found.slot) table_.MakeRoomFor(1, partition_, now);
    table_.Store(KeyOf(slot.key_hash()), found, limit, bucket);
  }
  [[nodiscard]] bool HasRoomFor(std::uint64_t key, std::size_t added, Instant now) override {
    return table_.HasRoom(KeyOf(key), added, now);
  }

 private:
  [[nodiscard]] KeyHash KeyOf(std::uint64_t hash) const {
    return {hash, static_cast<std::uint16_t>(partition_)};
  }

  LimiterTable& table_;
  const std::size_t partition_;
};

}  // namespace weir
