#include "persistence/save_fold.h"

#include <algorithm>

#include "core/limiter/change_reader.h"
#include "core/table/hold_changes.h"

namespace weir {

SaveFold::SaveFold(LimiterTable& table)
    : reader_(table), buckets_(kPartitionCount), held_(kPartitionCount) {}

void SaveFold::Consume(const ChangeBatch& batch) {
  const LimiterChanges& changes = batch.limiter;
  if (changes.generation != generation_) StartOver(changes.generation);
  new_secret_ = changes.new_secret;
  for (const std::uint16_t partition : changes.overflowed_partitions) CopyLater(partition);
  for (const BucketChange& change : changes.buckets) AddBucket(change);
  AddHeld(changes);
  for (const PolicyChanges::PolicyChange& change : batch.policies.policies) {
    policies_[change.id] = change.policy;
  }
  for (const OverrideChange& change : batch.policies.overrides) {
    overrides_[{change.policy, change.key}] = change.limits;
  }
  next_policy_ = batch.policies.next_id;
}

// The table was emptied since the last batch.
void SaveFold::StartOver(TableGeneration generation) {
  generation_ = generation;
  changed_.ForEach([&](std::size_t i) {
    buckets_[i].Clear();
    held_[i].reset();
  });
  changed_ = PartitionSet();
  copied_ = PartitionSet();
  size_ = 0;
}

void SaveFold::CopyLater(std::size_t partition) {
  changed_.Add(partition);
  copied_.Add(partition);
  size_ -= buckets_[partition].size();
  buckets_[partition].Clear();
  held_[partition].reset();
}

void SaveFold::AddBucket(const BucketChange& change) {
  if (change.algorithm == Algorithm::kHeld || copied_.Contains(change.partition)) return;
  ChangeLog& log = buckets_[change.partition];
  const std::size_t before = log.size();
  log.Add({change.key, change.algorithm, change.bucket, change.went_back},
          reader_.PublishedSlots(change.partition));
  changed_.Add(change.partition);
  size_ += log.size() - before;
  if (log.overflowed()) CopyLater(change.partition);
}

void SaveFold::AddHeld(const LimiterChanges& changes) {
  const auto held = [&](std::size_t partition) -> Held* {
    if (copied_.Contains(partition)) return nullptr;
    changed_.Add(partition);
    std::unique_ptr<Held>& found = held_[partition];
    if (!found) found = std::make_unique<Held>();
    return found.get();
  };
  for (const HoldChange& change : changes.holds) {
    Held* const found = held(change.partition);
    if (!found) continue;
    found->holds.insert_or_assign({change.key, change.id}, change);
    const std::size_t kept = found->holds.size();
    if (kept % HoldChanges::kGoneMax == 0 &&
        kept > reader_.CountHolds(change.partition) + HoldChanges::kGoneMax) {
      CopyLater(change.partition);
    }
  }
  for (const SumsChange& change : changes.sums) {
    Held* const found = held(change.partition);
    if (!found) continue;
    // Bounded as the buckets, which change with their sums.
    found->sums.insert_or_assign({change.bucket.key_hash(), change.bucket.limit}, change);
  }
}

std::size_t SaveFold::TakeInto(LimiterChanges& changes, std::size_t first, std::size_t end,
                               std::optional<Instant> now) {
  changes.generation = generation_;
  changes.new_secret = new_secret_;
  PartitionSet left;
  PartitionSet left_copied;
  std::size_t next = end;
  changed_.ForEach([&](std::size_t i) {
    if (i >= first && i < next && changes.size() >= ChangeReader::kTakenMax) next = i;
    if (i < first || i >= next) {
      left.Add(i);
      if (copied_.Contains(i)) left_copied.Add(i);
    } else if (copied_.Contains(i)) {
      const auto first_copied = static_cast<std::ptrdiff_t>(changes.buckets.size());
      reader_.CopyPartition(i, now, changes);
      // The bucket of a held limit is counted from the open holds.
      const auto held = std::remove_if(
          changes.buckets.begin() + first_copied, changes.buckets.end(),
          [](const BucketChange& copied) { return copied.algorithm == Algorithm::kHeld; });
      changes.buckets.erase(held, changes.buckets.end());
      std::ranges::sort(
          changes.buckets.begin() + first_copied, changes.buckets.end(), {},
          [](const BucketChange& copied) { return BucketOrder(copied.key, copied.algorithm); });
    } else {
      TakePartition(i, changes);
    }
  });
  changed_ = left;
  copied_ = left_copied;
  return next;
}

void SaveFold::TakePartition(std::size_t partition, LimiterChanges& changes) {
  taken_.clear();
  size_ -= buckets_[partition].size();
  buckets_[partition].TakeInto(taken_);
  KeepLast(taken_);
  for (const LoggedChange& change : taken_) {
    changes.buckets.push_back({.key = change.key(),
                               .partition = static_cast<std::uint16_t>(partition),
                               .algorithm = change.algorithm(),
                               .went_back = change.went_back(),
                               .erased = change.bucket() == Bucket{},
                               .bucket = change.bucket()});
  }
  const std::unique_ptr<Held> held = std::move(held_[partition]);
  if (!held) return;
  for (auto& [name, hold] : held->holds) changes.holds.push_back(std::move(hold));
  for (const auto& [name, sums] : held->sums) changes.sums.push_back(sums);
}

PolicyChanges SaveFold::TakePolicies() {
  PolicyChanges changes;
  changes.next_id = next_policy_;
  for (auto& [id, policy] : std::exchange(policies_, {})) {
    changes.policies.push_back({id, std::move(policy)});
  }
  for (auto& [key, limits] : std::exchange(overrides_, {})) {
    changes.overrides.push_back({key.first, key.second, std::move(limits)});
  }
  return changes;
}

}  // namespace weir
