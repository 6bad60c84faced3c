#include "core/limiter/limiter_restore.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"

#include "core/base/check.h"
#include "core/limiter/hold_sums.h"
#include "core/limiter/isolation.h"
#include "core/limiter/limiter_table.h"
#include "core/limiter/limiter_upkeep.h"

namespace weir {
namespace {

// Records of one partition after the other, as LimiterChanges has them.
template <typename Record>
class RecordsByPartition {
 public:
  explicit RecordsByPartition(const std::vector<Record>& records)
      : next_(records.begin()), end_(records.end()) {}

  // The partition of the next record, or kPartitionCount.
  [[nodiscard]] std::size_t partition() const {
    return next_ == end_ ? kPartitionCount : std::size_t{next_->partition};
  }
  // Calls visit(record) for the next records, as long as they are of this partition: first for
  // those for which comes_first(record) is true.
  template <typename ComesFirst, typename Visit>
  void ForEachOf(std::size_t partition, ComesFirst comes_first, Visit visit) {
    const auto first = next_;
    while (next_ != end_ && next_->partition == partition) ++next_;
    for (auto record = first; record != next_; ++record) {
      if (comes_first(*record)) visit(*record);
    }
    for (auto record = first; record != next_; ++record) {
      if (!comes_first(*record)) visit(*record);
    }
  }

 private:
  typename std::vector<Record>::const_iterator next_;
  typename std::vector<Record>::const_iterator end_;
};

// The application of records. Requires: this thread holds changes_mutex, so that no id is
// taken back before its first bucket is there.
class RecordApplier {
 public:
  RecordApplier(LimiterTable& table, const LimiterChanges& records, Instant time)
      : table_(table), time_(time) {
    ids_.reserve(records.limits.size());
    for (const LimitChange& named : records.limits) {
      WEIR_CHECK(NumberOf(named.id) == ids_.size());
      WEIR_CHECK(named.limit.has_value());
      LimitHint no_hint;
      const absl::StatusOr<LimitId> id = table_.registry.Intern(*named.limit, no_hint);
      ids_.push_back(id.ok() ? std::optional(*id) : std::nullopt);
    }
  }

  // Require: the partition is locked.
  void ForgetPartition(std::size_t partition);
  // Return false if the record was dropped. `is_rewritten`: all sums of the hold's key that are not
  // 0 follow.
  [[nodiscard]] bool ApplyBucket(const BucketChange& change);
  [[nodiscard]] bool ApplyHold(const HoldChange& change, bool is_rewritten);
  [[nodiscard]] bool ApplySums(const SumsChange& change);

 private:
  // The id here of a limit that the records name; nothing if there was no room for it.
  [[nodiscard]] std::optional<LimitId> Here(LimitId there) const {
    WEIR_CHECK(NumberOf(there) < ids_.size());
    return ids_[NumberOf(there)];
  }

  LimiterTable& table_;
  const Instant time_;
  std::vector<std::optional<LimitId>> ids_;
};

void RecordApplier::ForgetPartition(std::size_t partition) {
  Partition& forgotten = table_.buckets.partition(partition);
  if (forgotten.logs_changes()) {
    forgotten.LogEverything();
    table_.MarkChanged(partition);
  }
  if (HoldTable* const holds = table_.buckets.holds(partition))
    table_.hold_records.ForgetAll(*holds);
  forgotten.ForgetDecisionTime();  // It may be that of another primary.
  table_.EraseIf(partition, [](const SlotKey&, Bucket) { return true; });
  table_.PublishHolds(partition);
  table_.buckets.PublishSize(partition);
}

bool RecordApplier::ApplyBucket(const BucketChange& change) {
  const std::optional<LimitId> id = Here(change.key.limit);
  if (!id) return change.erased;
  const SlotKey slot{change.key.key_hash(), *id};
  PartitionStore store(table_, change.partition);
  if (!change.erased) {
    store.StoreBucket(slot, table_.registry.Get(*id), change.bucket, time_);
  } else if (store.FindBucket(slot)) {
    table_.Erase(change.partition, slot);
  }
  return true;
}

bool RecordApplier::ApplyHold(const HoldChange& change, bool is_rewritten) {
  std::optional<SavedHold> hold = change.hold;
  bool fits = true;
  if (hold) {
    for (HoldPart& part : hold->parts) {
      const std::optional<LimitId> id = Here(part.limit);
      fits = fits && id && !(hold->lapses && table_.registry.Get(*id).is_held());
      part.limit = id.value_or(LimitId{});
    }
    const HoldCounts& counts = table_.hold_records.counts();
    fits = fits && (!hold->settled || counts.marks() < counts.holds_max());
    if (!fits) hold.reset();
  }
  HoldTable* const holds =
      hold ? &table_.buckets.MakeHolds(change.partition) : table_.buckets.holds(change.partition);
  if (!holds) return fits;
  const Hold* const before = holds->FindOpen(change.key, change.id);
  const bool is_new = hold && !hold->settled && !(before && before->terms().order == hold->order);
  table_.hold_records.Apply(*holds, change.key, change.id, hold);
  // The sums that were there when it was opened. If they have changed since, a record says so.
  if (!is_new || is_rewritten) return fits;
  for (const HoldPart& part : hold->parts) holds->SetSums({change.key, part.limit}, part.sums);
  return fits;
}

bool RecordApplier::ApplySums(const SumsChange& change) {
  const std::optional<LimitId> id = Here(change.bucket.limit);
  HoldTable* const holds = table_.buckets.holds(change.partition);
  if (!id || !holds) return !change.sums;
  const SlotKey bucket{change.bucket.key_hash(), *id};
  // Sums that no open hold names are gone already.
  if (!holds->KeepsSums(bucket)) return !change.sums;
  holds->SetSums(bucket, change.sums.value_or(SettlementSums{}));
  return true;
}

}  // namespace

void LimiterRestore::SetFollowing(bool follows) {
  const Isolation everything(table_);
  table_.follows = follows;
  table_.told.store(Instant{}, std::memory_order_relaxed);
}

void LimiterRestore::SetTold(Instant time) noexcept {
  table_.told.store(time, std::memory_order_relaxed);
}

void LimiterRestore::StartOver(const HashSecret& secret) {
  const Isolation everything(table_);
  LimiterUpkeep(table_).Clear();
  for (std::size_t i = 0; i < kPartitionCount; ++i)
    table_.buckets.partition(i).ForgetDecisionTime();
  if (secret == table_.hashers.back()->secret()) return;
  table_.hashers.push_back(std::make_unique<KeyHasher>(secret));
  table_.current_hasher.store(table_.hashers.back().get(), std::memory_order_release);
}

std::size_t LimiterRestore::Apply(const LimiterChanges& records, Instant time) {
  MutexLock saving(table_.changes_mutex);
  LimiterUpkeep upkeep(table_);
  // Few idle limits are taken back last: the search for them visits all limits.
  while (!table_.registry.HasRoomFor(records.limits.size()) &&
         (upkeep.ReclaimLimits(LimiterTable::kReclaimsAtOnce, LimiterTable::kReclaimsAtOnce) > 0 ||
          upkeep.FreeDiscarded() || upkeep.ReclaimLimits(1, LimiterTable::kReclaimsAtOnce) > 0)) {
  }
  RecordApplier applier(table_, records, time);
  RecordsByPartition buckets(records.buckets);
  RecordsByPartition holds(records.holds);
  RecordsByPartition sums(records.sums);
  auto rewritten = records.rewritten_partitions.begin();
  std::size_t dropped = 0;
  for (;;) {
    const std::size_t first_rewritten =
        rewritten == records.rewritten_partitions.end() ? kPartitionCount : std::size_t{*rewritten};
    const std::size_t partition =
        std::min({first_rewritten, buckets.partition(), holds.partition(), sums.partition()});
    if (partition == kPartitionCount) return dropped;
    const PartitionLock lock(table_.buckets, partition);
    const bool is_rewritten = partition == first_rewritten;
    if (is_rewritten) {
      applier.ForgetPartition(partition);
      ++rewritten;
    }
    table_.buckets.partition(partition).AdvanceDecisionTime(time);
    // A limit may have got another id since the last records. Then what is gone under the old one
    // is there under the new one.
    buckets.ForEachOf(
        partition, [](const BucketChange& change) { return change.erased; },
        [&](const BucketChange& change) { dropped += applier.ApplyBucket(change) ? 0 : 1; });
    // The sums of a bucket go with the last open hold that names it.
    holds.ForEachOf(
        partition, [](const HoldChange& change) { return change.hold && !change.hold->settled; },
        [&](const HoldChange& change) {
          dropped += applier.ApplyHold(change, is_rewritten) ? 0 : 1;
        });
    sums.ForEachOf(
        partition, [](const SumsChange& change) { return !change.sums; },
        [&](const SumsChange& change) { dropped += applier.ApplySums(change) ? 0 : 1; });
    table_.PublishHolds(partition);
    table_.buckets.PublishSize(partition);
  }
}

// --- Loading ---

bool LimiterRestore::RestoreLimit(LimitId id, const Limit& limit) {
  return table_.registry.Restore(id, limit);
}

void LimiterRestore::RestorePartition(std::size_t partition,
                                      std::span<const RestoredBucket> buckets, Instant now) {
  PartitionLock lock(table_.buckets, partition);
  Partition& restored = table_.buckets.partition(partition);
  Partition::Slots slots;
  slots.reserve(buckets.size());
  for (const RestoredBucket& bucket : buckets) {
    WEIR_CHECK(NumberOf(bucket.key.limit) < table_.registry.used());
    WEIR_DCHECK(HasFormOf(table_.registry.Get(bucket.key.limit), bucket.bucket));
    const bool is_distinct = slots.emplace(bucket.key, bucket.bucket).second;
    WEIR_CHECK(is_distinct);
    table_.registry.AddBucket(bucket.key.limit);
  }
  restored.Restore(std::move(slots));
  table_.buckets.PublishSize(partition);
  const TableBound bound = table_.bound.load(std::memory_order_relaxed);
  if (restored.size() <= bound.SlotsMax(partition)) return;
  table_.DropDownTo(bound.SlotsMax(partition), partition, now);
  restored.Shrink(bound.Capacity(partition));
  table_.buckets.PublishSize(partition);
}

bool LimiterRestore::RestoreHold(const KeyHash& key, std::string_view id, const SavedHold& hold) {
  const HoldCounts& counts = table_.hold_records.counts();
  if (hold.settled && counts.marks() >= counts.holds_max()) return false;
  PartitionLock lock(table_.buckets, key.partition);
  table_.hold_records.Restore(table_.buckets.MakeHolds(key.partition), key.hash, id, hold);
  table_.buckets.PublishHolds(key.partition);
  return true;
}

bool LimiterRestore::RestoreSums(std::size_t partition, const SlotKey& bucket,
                                 const SettlementSums& sums) {
  PartitionLock lock(table_.buckets, partition);
  HoldTable* const holds = table_.buckets.holds(partition);
  if (!holds || !holds->KeepsSums(bucket)) return false;
  holds->RestoreSums(bucket, sums);
  return true;
}

void LimiterRestore::ExpireRestored(std::optional<Instant> now) {
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    PartitionLock lock(table_.buckets, i);
    if (!table_.buckets.holds(i)) continue;
    InsertRestoredHeld(i, now.value_or(Instant{}));
    if (now) table_.ExpireHolds(i, *now);
  }
}

// Inserts the buckets of held limits, which are the sums of the open holds. Requires: the partition
// is locked.
void LimiterRestore::InsertRestoredHeld(std::size_t partition, Instant now) {
  absl::btree_set<std::pair<std::uint64_t, LimitId>> held;
  table_.buckets.holds(partition)->open().ForEach([&](const Hold& hold) {
    for (const HoldPart& part : hold.parts()) {
      if (part.held_tokens() > 0) held.emplace(hold.key(), part.limit);
    }
  });
  PartitionStore store(table_, partition);
  for (const auto& [hash, id] : held) {
    const SlotKey slot{hash, id};
    store.StoreBucket(slot, table_.registry.Get(id),
                      HoldSums(store, table_.max_wait).HeldBucket(slot), now);
  }
}

void LimiterRestore::EndRestore(TableGeneration generation) {
  MutexLock saving(table_.changes_mutex);
  WEIR_CHECK(table_.generation == TableGeneration{});
  table_.generation = generation;
  table_.registry.EndRestore();
}

}  // namespace weir
