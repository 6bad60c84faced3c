// What the limiter does with buckets besides deciding: looks, forgets, sweeps, counts.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "core/limiter/limiter.h"
#include "core/rules/rule.h"
#include "core/table/partition_set.h"

namespace weir {

std::size_t Limiter::Reset(std::string_view key, std::span<const Limit> limits, Instant now) {
  const KeyHash hash = hasher_(key);
  PartitionLock lock(table_, hash.partition);
  absl::InlinedVector<LimitId, 4> ids;
  for (const Limit& limit : limits) {
    LimitHint no_hint;
    if (const std::optional<LimitId> id = registry_.Find(limit, no_hint)) ids.push_back(*id);
  }
  std::size_t live = 0;
  const auto forget = [&](const SlotKey& slot, Bucket bucket) {
    if (slot.key_hash() != hash.hash) return false;
    if (!limits.empty() && std::ranges::find(ids, slot.limit) == ids.end()) return false;
    if (!IsFull(registry_.Get(slot.limit), bucket, now)) ++live;
    Forget(hash.partition, slot);
    return true;
  };
  table_.partition(hash.partition).EraseIf(std::numeric_limits<std::size_t>::max(), forget);
  return live;
}

std::vector<LiveBucket> Limiter::Inspect(std::string_view key, Instant now, PresentLimit present) {
  const KeyHash hash = hasher_(key);
  PartitionLock lock(table_, hash.partition);
  std::vector<std::pair<LimitId, Bucket>> live;
  table_.partition(hash.partition).ForEach([&](const SlotKey& slot, Bucket bucket) {
    if (slot.key_hash() != hash.hash || IsFull(registry_.Get(slot.limit), bucket, now)) return;
    live.emplace_back(slot.limit, bucket);
  });
  std::ranges::sort(live, {}, &std::pair<LimitId, Bucket>::first);
  live.resize(std::min(live.size(), kInspectedMax));
  std::vector<LiveBucket> buckets;
  buckets.reserve(live.size());
  for (const auto& [id, bucket] : live) {
    const std::optional<Limit> limit = present(registry_.Get(id));
    if (!limit) continue;
    if (const auto look = LookAt(*limit, bucket, now, max_wait_)) buckets.push_back(*look);
  }
  return buckets;
}

Nanos Limiter::ResetAfter(std::string_view key, Instant now, PresentLimit present) {
  const KeyHash hash = hasher_(key);
  PartitionLock lock(table_, hash.partition);
  Nanos longest{0};
  table_.partition(hash.partition).ForEach([&](const SlotKey& slot, Bucket bucket) {
    if (slot.key_hash() != hash.hash) return;
    const std::optional<Limit> limit = present(registry_.Get(slot.limit));
    if (!limit) return;
    // The numbers of CL.THROTTLE's are those of whoever asks next: they must not clamp it.
    const Nanos reset_after =
        limit->owner() == kThrottleOwner
            ? TimeToFull(*limit, bucket, now)
            : DecideLimit(*limit, bucket, now, 0, max_wait_).decision.reset_after;
    longest = std::max(longest, reset_after);
  });
  return longest;
}

Limiter::Isolation::Isolation(Limiter& limiter, std::span<const std::string_view> keys,
                              std::span<const Watched> watched)
    : hold_(limiter.table_, [&] {
        PartitionSet partitions;
        for (const std::string_view key : keys) partitions.Add(limiter.hasher_(key).partition);
        for (const Watched& one : watched) partitions.Add(one.key.partition);
        return partitions;
      }()) {}

Limiter::Isolation::Isolation(Limiter& limiter)
    : saving_(std::in_place, limiter.saving_mutex_), hold_(limiter.table_, PartitionSet::All()) {}

Limiter::Watched Limiter::Watch(std::string_view key) {
  Watched watched{hasher_(key), {}};
  PartitionLock lock(table_, watched.key.partition);
  table_.partition(watched.key.partition).ForEach([&](const SlotKey& slot, Bucket bucket) {
    if (slot.key_hash() != watched.key.hash) return;
    watched.buckets.push_back({slot.limit, registry_.Get(slot.limit), Unmarked(bucket)});
  });
  std::ranges::sort(watched.buckets, {}, &Watched::One::id);
  return watched;
}

bool Limiter::IsUnchanged(const Watched& watched, Instant now) {
  PartitionLock lock(table_, watched.key.partition);
  std::vector<bool> is_there(watched.buckets.size());
  bool unchanged = true;
  table_.partition(watched.key.partition).ForEach([&](const SlotKey& slot, Bucket bucket) {
    if (slot.key_hash() != watched.key.hash) return;
    const bool is_full = IsFull(registry_.Get(slot.limit), bucket, now);
    const auto before =
        std::ranges::lower_bound(watched.buckets, slot.limit, {}, &Watched::One::id);
    if (before == watched.buckets.end() || before->id != slot.limit) {
      unchanged = unchanged && is_full;
      return;
    }
    is_there[static_cast<std::size_t>(before - watched.buckets.begin())] = true;
    const bool was_full = IsFull(before->limit, before->bucket, now);
    unchanged = unchanged && (before->bucket == Unmarked(bucket) || (is_full && was_full));
  });
  for (std::size_t i = 0; i < is_there.size(); ++i) {
    const Watched::One& one = watched.buckets[i];
    unchanged = unchanged && (is_there[i] || IsFull(one.limit, one.bucket, now));
  }
  return unchanged;
}

// Notes that a bucket goes, whatever is in it. Requires: its partition is locked.
void Limiter::Forget(std::size_t partition, const SlotKey& slot) {
  if (notes_changes_) {
    table_.partition(partition).NoteErased(slot, registry_.Get(slot.limit).shape().algorithm);
    NoteChanged(partition);
  }
  registry_.RemoveBucket(slot.limit);
}

// The same of a full one. Of most, what was saved can be told to be full without their limit.
void Limiter::ForgetFull(std::size_t partition, const SlotKey& slot) {
  if (registry_.Get(slot.limit).shape().algorithm == Algorithm::kSlidingWindow) {
    Forget(partition, slot);
  } else {
    registry_.RemoveBucket(slot.limit);
  }
}

void Limiter::Clear() {
  MutexLock saving(saving_mutex_);
  const Isolation everything(*this);
  ++generation_;
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    table_.partition(i).ForgetChanges();
    table_.partition(i).EraseIf(std::numeric_limits<std::size_t>::max(),
                                [&](const SlotKey& slot, Bucket) {
                                  registry_.RemoveBucket(slot.limit);
                                  return true;
                                });
    table_.partition(i).Shrink(bound_.load(std::memory_order_relaxed).Capacity(i));
  }
}

void Limiter::ForgetPolicies(std::span<const std::uint32_t> policies) {
  if (policies.empty()) return;
  const absl::flat_hash_set<std::uint32_t> gone(policies.begin(), policies.end());
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    PartitionLock lock(table_, i);
    table_.partition(i).EraseIf(std::numeric_limits<std::size_t>::max(),
                                [&](const SlotKey& slot, Bucket) {
                                  if (!gone.contains(registry_.Get(slot.limit).owner().policy))
                                    return false;
                                  Forget(i, slot);
                                  return true;
                                });
  }
}

std::size_t Limiter::Sweep(std::size_t partition, Instant now, std::size_t drop_max) {
  PartitionLock lock(table_, partition);
  Partition& swept = table_.partition(partition);
  const std::size_t dropped = swept.EraseIf(drop_max, [&](const SlotKey& slot, Bucket bucket) {
    const Limit& limit = registry_.Get(slot.limit);
    if (!IsFull(limit, bucket, now)) return false;
    ForgetFull(partition, slot);
    return true;
  });
  if (dropped > 0) swept.RaiseLatest(now);
  if (dropped == drop_max) return dropped;
  const TableBound bound = bound_.load(std::memory_order_relaxed);
  if (swept.size() > bound.SlotsMax(partition))
    DropDownTo(bound.SlotsMax(partition), partition, now);
  swept.Shrink(bound.Capacity(partition));
  return dropped;
}

void Limiter::set_memory_max(std::size_t bytes) noexcept {
  bound_.store(bytes == 0 ? TableBound() : TableBound::Within(bytes, notes_changes_),
               std::memory_order_relaxed);
}

// Makes room for all new buckets of a request, so that they do not drive out one another. (It may
// be one of its old ones that goes, if that is the nearest to full.)
// Requires: the partition is locked, at most kChecksMax buckets.
void Limiter::MakeRoomFor(std::size_t buckets, std::size_t partition, Instant now) {
  const std::size_t slots_max = bound_.load(std::memory_order_relaxed).SlotsMax(partition);
  if (table_.partition(partition).size() + buckets <= slots_max) return;
  DropDownTo(slots_max - std::max(buckets, slots_max / 32), partition, now);
}

// Drops all that is full, and more until only so many are left. Requires: the partition is locked.
void Limiter::DropDownTo(std::size_t slots_kept, std::size_t index, Instant now) {
  struct Slot {
    Nanos until_full;
    SlotKey key;
  };
  Partition& partition = table_.partition(index);
  std::vector<Slot> slots;
  slots.reserve(partition.size());
  partition.ForEach([&](const SlotKey& key, Bucket bucket) {
    slots.push_back({TimeToFull(registry_.Get(key.limit), bucket, now), key});
  });
  const auto first_live = std::partition(slots.begin(), slots.end(),
                                         [](auto& slot) { return slot.until_full == Nanos{0}; });
  const auto excess =
      static_cast<std::ptrdiff_t>(slots.size() - std::min(slots.size(), slots_kept));
  const auto first_kept = std::max(first_live, slots.begin() + excess);
  std::nth_element(first_live, first_kept, slots.end(),
                   [](const Slot& a, const Slot& b) { return a.until_full < b.until_full; });
  for (auto slot = slots.begin(); slot != first_kept; ++slot) {
    slot < first_live ? ForgetFull(index, slot->key) : Forget(index, slot->key);
    partition.Erase(slot->key);
  }
  if (first_live != slots.begin()) partition.RaiseLatest(now);
  evicted_.fetch_add(static_cast<std::uint64_t>(first_kept - first_live),
                     std::memory_order_relaxed);
}

std::size_t Limiter::ReclaimLimits(std::size_t ids_min, std::size_t ids_max) {
  const std::vector<LimitId> idle = registry_.Idle(ids_max);
  if (idle.empty() || idle.size() < ids_min) return 0;
  MutexLock saving(saving_mutex_);
  const TableLock world = TableLock::All(table_);
  return registry_.Reclaim(idle);
}

Limiter::Size Limiter::size() {
  constexpr std::size_t kSlotBytes = sizeof(SlotKey) + sizeof(Bucket) + 1;  // and its control byte
  Size size;
  size.limits = registry_.size();
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    PartitionLock lock(table_, i);
    size.buckets += table_.partition(i).size();
    size.changes += table_.partition(i).changes();
    size.table_bytes += table_.partition(i).capacity() * kSlotBytes;
  }
  return size;
}

std::size_t Limiter::CountLive(Instant now) {
  std::size_t live = 0;
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    PartitionLock lock(table_, i);
    table_.partition(i).ForEach([&](const SlotKey& slot, Bucket bucket) {
      if (!IsFull(registry_.Get(slot.limit), bucket, now)) ++live;
    });
  }
  return live;
}

}  // namespace weir
