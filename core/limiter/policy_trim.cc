#include "core/limiter/policy_trim.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/limiter/limiter_table.h"

namespace weir {

std::size_t Limiter::PolicyTrim::TrimKey(Limiter& limiter, std::string_view key,
                                         const PolicyLimits& before, const PolicyLimits& limits,
                                         Instant now) {
  const KeyHash hash = limiter.Hash(key);
  const PartitionLock lock(limiter.table_.buckets, hash.partition);
  Partition& partition = limiter.table_.buckets.partition(hash.partition);
  now = std::max(now, partition.decision_time());
  limiter.table_.ExpireHolds(hash, now);
  PartitionStore store(limiter.table_, hash.partition);
  const Trimmer trimmer(limiter.table_.max_wait, before, limits);
  std::size_t trimmed = 0;
  const auto trim = [&](const Limit& limit) {
    LimitHint no_hint;
    const std::optional<LimitId> id = limiter.table_.registry.Find(limit, no_hint);
    if (id && trimmer.Trim(store, {hash.hash, *id}, limit, now)) ++trimmed;
  };
  for (const PolicyLimit& one : limits) {
    if (!one.limit.has_bucket()) continue;
    trim(one.limit);
    if (!one.limit.shape().shadow) trim(one.limit.AsShadow());  // of "@policy,shadow"
  }
  if (trimmed > 0 && limiter.table_.time_is_ordered) partition.AdvanceDecisionTime(now);
  return trimmed;
}

bool Limiter::PolicyTrim::Step(Instant now) {
  if (!Refresh()) return true;
  if (!has_overrides_) {
    AddOverrides();
    return false;
  }
  AddChangedOverrides();
  std::size_t visits = 0;
  while (!is_outdated_ && partition_ < kPartitionCount && visits < kVisitsPerStep) {
    visits += TrimPartition(partition_++, now) + 1;
  }
  return is_outdated_ || partition_ == kPartitionCount;
}

// Takes the policy as it is now: an override may have raised its greatest numbers. Returns false if
// the work is outdated.
bool Limiter::PolicyTrim::Refresh() {
  std::shared_ptr<const Policy> present = FindUnchanged(policies_, *policy_);
  is_outdated_ = !present;
  if (present) policy_ = std::move(present);
  return !is_outdated_;
}

// Adds the present overrides; the watcher collects later changes.
void Limiter::PolicyTrim::AddOverrides() {
  std::vector<Overrides::Entry> some = policy_->overrides->Some(last_override_);
  for (auto& [key, limits] : some) {
    const KeyHash hash = limiter_.Hash(key);
    overrides_[{hash.partition, hash.hash}] = std::move(limits);
  }
  has_overrides_ = some.size() < Overrides::kCopiedAtOnce;
  if (!has_overrides_) last_override_ = std::move(some.back().first);
}

void Limiter::PolicyTrim::AddChangedOverrides() {
  for (const std::string& key : watcher_->Take()) {
    const KeyHash hash = limiter_.Hash(key);
    std::shared_ptr<const PolicyLimits> limits = policy_->overrides->Find(key);
    if (limits) {
      overrides_[{hash.partition, hash.hash}] = std::move(limits);
    } else {
      overrides_.erase({hash.partition, hash.hash});
    }
  }
}

std::size_t Limiter::PolicyTrim::TrimPartition(std::size_t partition, Instant now) {
  std::vector<SlotKey> slots;
  std::size_t visits = 0;
  {
    const PartitionLock lock(limiter_.table_.buckets, partition);
    visits = limiter_.table_.buckets.partition(partition).size();
    limiter_.table_.buckets.partition(partition).ForEach([&](const SlotKey& slot, Bucket) {
      if (limiter_.table_.registry.Get(slot.limit).owner().policy == policy_->id)
        slots.push_back(slot);
    });
  }
  for (std::size_t first = 0; first < slots.size(); first += kCutsAtOnce) {
    const PartitionLock lock(limiter_.table_.buckets,
                             partition);  // keeps changes of the numbers out
    if (!Refresh()) break;
    AddChangedOverrides();
    const std::size_t end = std::min(first + kCutsAtOnce, slots.size());
    for (std::size_t i = first; i < end; ++i) {
      if (TrimSlot(partition, slots[i], now)) ++trimmed_;
    }
  }
  return visits + kVisitsPerCut * slots.size();
}

// Requires: the partition is locked.
bool Limiter::PolicyTrim::TrimSlot(std::size_t partition, const SlotKey& slot, Instant now) {
  Partition& changed = limiter_.table_.buckets.partition(partition);
  now = std::max(now, changed.decision_time());
  const KeyHash key{slot.key_hash(), static_cast<std::uint16_t>(partition)};
  limiter_.table_.ExpireHolds(key, now);
  // Since the slot was found, the bucket may have gone, and the id may have become another limit's.
  if (!changed.Find(slot)) return false;
  const Limit& interned = limiter_.table_.registry.Get(slot.limit);
  if (interned.owner().policy != policy_->id) return false;
  const auto own = overrides_.find({key.partition, key.hash});
  const bool is_own = own != overrides_.end();
  PartitionStore store(limiter_.table_, partition);
  const Trimmer trimmer(limiter_.table_.max_wait, is_own ? *own->second : before_,
                        is_own ? *own->second : policy_->limits);
  if (!trimmer.Trim(store, slot, interned, now)) return false;
  if (limiter_.table_.time_is_ordered) changed.AdvanceDecisionTime(now);
  return true;
}

}  // namespace weir
