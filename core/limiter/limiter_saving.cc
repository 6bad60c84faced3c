// The limiter's part in saving and loading its state.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/base/check.h"
#include "core/limiter/limiter.h"
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

}  // namespace

// Requires: the partition is locked.
void Limiter::TakePartition(std::size_t index, std::optional<Instant> now,
                            LimiterChanges& changes) {
  Partition& partition = table_.partition(index);
  const auto is_full = [&](LimitId id, const Bucket& bucket) {
    return now ? IsFull(registry_.Get(id), bucket, *now) : bucket == Bucket{};
  };
  const auto add = [&](const NotedChange& noted, const Bucket* bucket) {
    // The bucket of a held limit is counted from the open holds.
    if (noted.algorithm == Algorithm::kHeld) return;
    // The id may have been given out again since: then the bucket is not the one that was noted.
    if (bucket && registry_.Get(noted.key.limit).shape().algorithm != noted.algorithm) {
      bucket = nullptr;
    }
    const bool full = !bucket || is_full(noted.key.limit, *bucket);
    if (full && !noted.went_back) return;
    changes.buckets.push_back({.key = noted.key,
                               .partition = static_cast<std::uint16_t>(index),
                               .algorithm = noted.algorithm,
                               .went_back = noted.went_back,
                               .erased = full,
                               .bucket = bucket ? *bucket : Bucket{}});
  };
  if (!partition.everything_changed()) {
    partition.TakeChanges(add);
    return table_.ShowSize(index);
  }
  // The list has overflowed: it is not known which buckets have gone.
  changes.rewritten_partitions.push_back(static_cast<std::uint16_t>(index));
  std::vector<NotedChange> all;
  partition.TakeEverything([&](const SlotKey& key, const Bucket&) {
    all.push_back({key, registry_.Get(key.limit).shape().algorithm, false});
  });
  table_.ShowSize(index);
  MakeDistinct(all);
  for (const NotedChange& noted : all) add(noted, partition.Find(noted.key));
}

LimiterChanges Limiter::TakeChanges(std::optional<Instant> now, bool consistent_snapshot,
                                    std::size_t first_partition) {
  WEIR_CHECK(notes_changes_);
  MutexLock saving(saving_mutex_);
  if (first_partition == 0) registry_.BeginSave();
  LimiterChanges changes;
  changes.generation = generation_;
  PartitionSet changed;
  changed_partitions_.TakeInto(changed);
  PartitionSet overflowed;
  const bool in_parts = overflowed_partitions_.TakeInto(overflowed) || first_partition > 0;
  std::optional<TableLock> cut;
  if (consistent_snapshot && !in_parts) {
    // Any request that changed a locked partition has reported its other partitions by now. The
    // loop ends, since the locked set only grows.
    do {
      cut.reset();
      cut.emplace(table_, changed);
    } while (changed_partitions_.TakeInto(changed));
    std::size_t noted = 0;
    changed.ForEach([&](std::size_t i) { noted += table_.partition(i).changes(); });
    if (noted > kTakenMax) cut.reset();
  }
  if (cut) {
    changed.ForEach([&](std::size_t i) { TakePartition(i, now, changes); });
    cut.reset();
  } else {
    changed.ForEach([&](std::size_t i) {
      const bool too_many = changes.buckets.size() >= kTakenMax;
      if (too_many) changes.next_partition = std::min(changes.next_partition, i);
      if (too_many || i < first_partition) {
        changed_partitions_.Add(i);
        if (overflowed.Contains(i)) overflowed_partitions_.Add(i);
        return;
      }
      PartitionLock lock(table_, i);
      TakePartition(i, now, changes);
    });
  }
  WEIR_CHECK(changes.next_partition > first_partition);  // A call takes at least one partition.
  WEIR_DCHECK(AreDistinct(changes.buckets));
  // Taken after the buckets, so that the limit of each is known, and before any thread can take an
  // id back.
  changes.limits = registry_.TakeChanges();
  return changes;
}

void Limiter::NotePartition(std::size_t partition) {
  PartitionLock lock(table_, partition);
  table_.partition(partition).NoteEverything();
  NoteChanged(partition);
  table_.ShowSize(partition);
}

void Limiter::NoteEverything() {
  for (std::size_t i = 0; i < kPartitionCount; ++i) NotePartition(i);
}

void Limiter::NoteAgain(const LimiterChanges& changes) {
  registry_.NoteAgain(changes.limits);
  for (const std::uint16_t partition : changes.rewritten_partitions) NotePartition(partition);
  for (const BucketChange& change : changes.buckets) {
    if (std::ranges::binary_search(changes.rewritten_partitions, change.partition)) continue;
    PartitionLock lock(table_, change.partition);
    Partition& partition = table_.partition(change.partition);
    partition.NoteAgain({change.key, change.algorithm, change.went_back});
    NoteChanged(change.partition);
    table_.ShowSize(change.partition);
  }
}

void Limiter::RestorePartition(std::size_t partition, std::span<const RestoredBucket> buckets,
                               Instant now) {
  PartitionLock lock(table_, partition);
  Partition& restored = table_.partition(partition);
  WEIR_CHECK(restored.size() == 0);
  restored.Reserve(buckets.size());
  for (const RestoredBucket& bucket : buckets) {
    WEIR_CHECK(NumberOf(bucket.key.limit) < registry_.used());
    restored.Insert(bucket.key, Unmarked(bucket.bucket));
    registry_.AddBucket(bucket.key.limit);
  }
  table_.ShowSize(partition);
  const TableBound bound = bound_.load(std::memory_order_relaxed);
  if (restored.size() <= bound.SlotsMax(partition)) return;
  DropDownTo(bound.SlotsMax(partition), partition, now);
  restored.Shrink(bound.Capacity(partition));
  table_.ShowSize(partition);
}

void Limiter::EndRestore(TableGeneration generation) {
  MutexLock saving(saving_mutex_);
  WEIR_CHECK(generation_ == TableGeneration{});
  generation_ = generation;
  registry_.EndRestore();
}

}  // namespace weir
