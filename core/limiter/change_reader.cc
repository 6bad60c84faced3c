#include "core/limiter/change_reader.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/limiter/isolation.h"
#include "core/limiter/limiter_table.h"
#include "core/rules/rule.h"
#include "core/table/partition_set.h"

namespace weir {
namespace {

// True if the changes are in the order that LimiterChanges promises, and distinct.
[[maybe_unused]] bool AreDistinct(std::span<const BucketChange> changes) {
  const auto order = [](const BucketChange& change) {
    return std::tuple(change.partition, change.key.key_hash(), change.algorithm, change.key.limit);
  };
  return std::ranges::adjacent_find(changes, std::ranges::greater_equal{}, order) == changes.end();
}

// Makes room for more elements. The list at least doubles when it grows: a save adds the changes of
// thousands of partitions to it.
template <typename T>
void MakeRoom(std::size_t more, std::vector<T>& list) {
  const std::size_t wanted = list.size() + more;
  if (list.capacity() < wanted) list.reserve(std::max(wanted, 2 * list.capacity()));
}

// A changed hold, or the changed sums of a bucket, count as this many changed buckets: the time
// that they take.
constexpr std::size_t kBucketsPerHold = 8;

// The number of partitions by which a fetch into the cache is ahead of the changes being taken.
constexpr std::size_t kPartitionsAhead = 8;

// Adds what has changed, or all of some partitions, to changes. Requires: this thread has a
// ChangesLock.
class ChangeCollector {
 public:
  struct TakenPartition {
    std::uint16_t index = 0;
    bool overflowed = false;
    std::vector<LoggedChange> buckets;
  };

  ChangeCollector(LimiterTable& table, LimiterChanges& changes)
      : table_(table), changes_(changes) {}

  void TakePartition(std::size_t index, TakenPartition& taken);
  void AddBuckets(const TakenPartition& taken, std::optional<Instant> now);
  void DropFull(std::size_t first, std::optional<Instant> now);
  void TakeHolds(std::size_t partition);
  void CopyHolds(std::size_t partition);
  [[nodiscard]] std::size_t ChangesOf(std::size_t partition);

 private:
  [[nodiscard]] bool IsFull(LimitId id, const Bucket& bucket, std::optional<Instant> now) const;

  LimiterTable& table_;
  LimiterChanges& changes_;
};

// Takes what has changed in a partition: the buckets into `taken`, and the holds. Requires: it is
// locked.
void ChangeCollector::TakePartition(std::size_t index, TakenPartition& taken) {
  Partition& partition = table_.buckets.partition(index);
  taken.index = static_cast<std::uint16_t>(index);
  taken.overflowed = partition.everything_changed();
  taken.buckets.clear();
  if (taken.overflowed) {
    partition.ForgetChanges();
    if (HoldTable* const holds = table_.buckets.holds(index)) holds->ForgetChanges();
    table_.buckets.PublishHolds(index);
  } else {
    partition.TakeChangesInto(taken.buckets);
    TakeHolds(index);
  }
  table_.buckets.PublishSize(index);
}

// Adds the buckets of a partition that must be written. No id has been given out again since they
// were logged or copied: a ChangesLock is held.
void ChangeCollector::AddBuckets(const TakenPartition& taken, std::optional<Instant> now) {
  for (const LoggedChange& change : taken.buckets) {
    const bool full = IsFull(change.limit(), change.bucket(), now);
    if (full && !change.went_back()) continue;
    changes_.buckets.push_back({.key = change.key(),
                                .partition = taken.index,
                                .algorithm = change.algorithm(),
                                .went_back = change.went_back(),
                                .erased = full,
                                .bucket = full ? Bucket{} : change.bucket()});
  }
}

// Completes the buckets from the index `first` on, which are copies, without those that are full.
void ChangeCollector::DropFull(std::size_t first, std::optional<Instant> now) {
  const auto begin = changes_.buckets.begin() + static_cast<std::ptrdiff_t>(first);
  const auto is_full = [&](const BucketChange& copy) {
    return IsFull(copy.key.limit, copy.bucket, now);
  };
  changes_.buckets.erase(std::remove_if(begin, changes_.buckets.end(), is_full),
                         changes_.buckets.end());
  std::for_each(begin, changes_.buckets.end(), [&](BucketChange& copy) {
    copy.algorithm = table_.registry.Get(copy.key.limit).shape().algorithm;
  });
}

bool ChangeCollector::IsFull(LimitId id, const Bucket& bucket, std::optional<Instant> now) const {
  // No bucket carries the id any more.
  if (!table_.registry.IsUsed(id)) return true;
  if (!now) return bucket == Bucket{};
  return weir::IsFull(table_.registry.Get(id), bucket, table_.Droppable(*now));
}

// Requires: the partition is locked.
void ChangeCollector::CopyHolds(std::size_t partition) {
  const HoldTable* const holds = table_.buckets.holds(partition);
  if (!holds) return;
  const auto index = static_cast<std::uint16_t>(partition);
  const auto copy = [&](const HoldSet& set, bool settled) {
    set.ForEach([&](const Hold& hold) {
      changes_.holds.push_back(
          {index, hold.key(), std::string(hold.id()), SavedHoldOf(hold, settled)});
    });
  };
  const auto first = static_cast<std::ptrdiff_t>(changes_.holds.size());
  MakeRoom(holds->size(), changes_.holds);
  copy(holds->open(), false);
  const auto first_mark = static_cast<std::ptrdiff_t>(changes_.holds.size());
  copy(holds->marks(), true);
  const auto begin = changes_.holds.begin();
  std::inplace_merge(begin + first, begin + first_mark, changes_.holds.end(),
                     [](const HoldChange& a, const HoldChange& b) {
                       return std::tie(a.key, a.id) < std::tie(b.key, b.id);
                     });
  holds->ForEachSums([&](const SlotKey& bucket, const SettlementSums& sums) {
    changes_.sums.push_back({index, bucket, sums});
  });
}

// Takes the changed holds and sums of a partition. Requires: it is locked.
void ChangeCollector::TakeHolds(std::size_t partition) {
  HoldTable* const holds = table_.buckets.holds(partition);
  if (!holds) return;
  const auto index = static_cast<std::uint16_t>(partition);
  MakeRoom(holds->changes().size(), changes_.holds);
  holds->TakeChanges(
      [&](std::uint64_t key, std::string_view id, std::optional<SavedHold> hold) {
        changes_.holds.push_back({index, key, std::string(id), std::move(hold)});
      },
      [&](const SlotKey& bucket, const SettlementSums* sums) {
        changes_.sums.push_back(
            {index, bucket, sums ? std::optional<SettlementSums>(*sums) : std::nullopt});
      });
  table_.buckets.PublishHolds(partition);
}

// The time that TakePartition would take, in changed buckets. Requires: the partition is locked.
std::size_t ChangeCollector::ChangesOf(std::size_t partition) {
  const Partition& changed = table_.buckets.partition(partition);
  if (changed.everything_changed()) return 1;
  const HoldTable* const holds = table_.buckets.holds(partition);
  return changed.changes() + (holds ? kBucketsPerHold * holds->changes().size() : 0);
}

}  // namespace

ChangesLock::ChangesLock(const ChangeReader& reader) : lock_(reader.table_.changes_mutex) {}

bool ChangeReader::logs_changes() const noexcept { return table_.logs_changes; }

void ChangeReader::StartLogging() {
  const Isolation everything(table_);
  if (table_.logs_changes) return;
  table_.logs_changes = true;
  table_.registry.StartLogging();
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    table_.buckets.partition(i).set_logs_changes(true);
    if (HoldTable* const holds = table_.buckets.holds(i)) holds->StartLogging();
  }
  table_.FitBound();
}

void ChangeReader::StopLogging() {
  const Isolation everything(table_);
  table_.logs_changes = false;
  table_.registry.StopLogging();
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    table_.buckets.partition(i).set_logs_changes(false);
    table_.buckets.partition(i).ForgetChanges();
    if (HoldTable* const holds = table_.buckets.holds(i)) holds->StopLogging();
    table_.buckets.PublishHolds(i);
    table_.buckets.PublishSize(i);
  }
  table_.FitBound();
}

TableGeneration ChangeReader::generation() const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  return table_.generation;
}

Instant ChangeReader::Droppable(Instant now) const noexcept { return table_.Droppable(now); }

std::size_t ChangeReader::PublishedSlots(std::size_t partition) const noexcept {
  return table_.buckets.PublishedSlots(partition);
}

void ChangeReader::CopyPartition(std::size_t partition, std::optional<Instant> now,
                                 LimiterChanges& changes) {
  MutexLock saving(table_.changes_mutex);
  ChangeCollector collector(table_, changes);
  const auto index = static_cast<std::uint16_t>(partition);
  const std::size_t first = changes.buckets.size();
  {
    const PartitionLock lock(table_.buckets, partition);
    const Partition& source = table_.buckets.partition(partition);
    MakeRoom(source.size(), changes.buckets);
    source.ForEach([&](const SlotKey& key, const Bucket& bucket) {
      changes.buckets.push_back({.key = key,
                                 .partition = index,
                                 .algorithm = {},
                                 .went_back = false,
                                 .erased = false,
                                 .bucket = bucket});
    });
    collector.CopyHolds(partition);
  }
  changes.rewritten_partitions.push_back(index);
  collector.DropFull(first, now);
}

LimiterChanges ChangeReader::TakeChanges(std::optional<Instant> now, bool consistent_snapshot,
                                         std::size_t first_partition, LimiterChanges changes) {
  changes.Clear();
  WEIR_CHECK(table_.logs_changes);
  MutexLock saving(table_.changes_mutex);
  ChangeCollector collector(table_, changes);
  changes.generation = table_.generation;
  if (table_.hashers.size() > 1) changes.new_secret = secret();
  PartitionSet changed;
  table_.changed_partitions.TakeInto(changed);
  PartitionSet overflowed;
  const bool in_parts = table_.overflowed_partitions.TakeInto(overflowed) || first_partition > 0;
  std::optional<TableLock> cut;
  if (consistent_snapshot && !in_parts) {
    // Any request that changed a locked partition has reported its other partitions by now. The
    // loop ends, since the locked set only grows.
    do {
      cut.reset();
      cut.emplace(table_.buckets, changed);
    } while (table_.changed_partitions.TakeInto(changed));
    std::size_t logged = 0;
    changed.ForEach([&](std::size_t i) { logged += collector.ChangesOf(i); });
    if (logged > kTakenMax) cut.reset();
  }
  const auto add = [&](ChangeCollector::TakenPartition& partition) {
    if (partition.overflowed) changes.overflowed_partitions.push_back(partition.index);
    KeepLast(partition.buckets);
    collector.AddBuckets(partition, now);
  };
  if (cut) {
    std::vector<ChangeCollector::TakenPartition> taken;
    changed.ForEach([&](std::size_t i) { collector.TakePartition(i, taken.emplace_back()); });
    cut.reset();
    for (ChangeCollector::TakenPartition& partition : taken) add(partition);
  } else {
    ChangeCollector::TakenPartition taken;
    std::vector<std::uint16_t> all;
    changed.ForEach([&](std::size_t i) { all.push_back(static_cast<std::uint16_t>(i)); });
    changes.buckets.reserve(std::min(all.size(), kTakenMax));
    for (std::size_t at = 0; at < all.size(); ++at) {
      const std::size_t i = all[at];
      if (at + 2 * kPartitionsAhead < all.size())
        table_.buckets.PrefetchPartition(all[at + 2 * kPartitionsAhead]);
      if (at + kPartitionsAhead < all.size())
        table_.buckets.PrefetchChanges(all[at + kPartitionsAhead]);
      const bool too_many = changes.size() >= kTakenMax;
      if (too_many) changes.next_partition = std::min(changes.next_partition, i);
      if (too_many || i < first_partition) {
        table_.changed_partitions.Add(i);
        if (overflowed.Contains(i)) table_.overflowed_partitions.Add(i);
        continue;
      }
      {
        const PartitionLock lock(table_.buckets, i);
        collector.TakePartition(i, taken);
      }
      add(taken);
    }
  }
  WEIR_CHECK(changes.next_partition > first_partition);  // A call takes at least one partition.
  WEIR_DCHECK(AreDistinct(changes.buckets));
  return changes;
}

const Limit& ChangeReader::LimitOf(LimitId id) const noexcept {
  return table_.registry.LastMeaning(id);
}

std::vector<LimitChange> ChangeReader::TakeLimits() { return table_.registry.TakeChanges(); }

void ChangeReader::BeginSave() { table_.registry.BeginSave(); }

void ChangeReader::EndSave() { table_.registry.EndSave(); }

const HashSecret& ChangeReader::secret() const noexcept { return table_.hasher().secret(); }

std::size_t ChangeReader::CountHolds(std::size_t partition) {
  const PartitionLock lock(table_.buckets, partition);
  const HoldTable* const holds = table_.buckets.holds(partition);
  return holds ? holds->size() : 0;
}

}  // namespace weir
