// Looks at the buckets of one key, and what a transaction needs of several.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/limiter/isolation.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_table.h"
#include "core/rules/rule.h"
#include "core/table/partition_set.h"

namespace weir {
namespace {

// A bucket that Inspect or Watch returns takes as long as this many visits: its limit is copied,
// and Inspect's caller turns the limit into text.
constexpr std::size_t kSlotsPerReturned = 8;

// Returns the slots that VisitKey will visit. Requires: the partition is locked.
std::size_t SlotsOf(LimiterTable& table, const KeyHash& key) {
  return std::min<std::size_t>(table.buckets.partition(key.partition).size(),
                               table.registry.used());
}

// Calls visit(SlotKey, Bucket) for each of the key's buckets: tries every limit if there are few,
// else scans the partition. Requires: the partition is locked.
template <typename Visit>
void VisitKey(LimiterTable& table, const KeyHash& key, Visit visit) {
  Partition& partition = table.buckets.partition(key.partition);
  LimiterTable::slots_visited += SlotsOf(table, key);
  if (table.registry.used() < partition.size()) {
    for (std::uint32_t id = 0; id < table.registry.used(); ++id) {
      const SlotKey slot{key.hash, LimitId{id}};
      if (const Bucket* bucket = partition.Find(slot)) visit(slot, *bucket);
    }
    return;
  }
  partition.ForEach([&](const SlotKey& slot, Bucket bucket) {
    if (slot.key_hash() == key.hash) visit(slot, bucket);
  });
}

// The time until a bucket is full; 0 if it is, or if its limit is gone.
Nanos TimeToReset(const std::optional<Limit>& limit, Bucket bucket, Instant now, Nanos max_wait) {
  if (!limit) return Nanos{0};
  // CL.THROTTLE's numbers come with each request: those of the interned limit must not clamp the
  // bucket.
  if (limit->owner() == kThrottleOwner) return TimeToFull(*limit, bucket, now);
  return DecideLimit(*limit, bucket, now, 0, max_wait).decision.reset_after;
}

}  // namespace

std::size_t Limiter::CountVisits(std::string_view key, Instant now, KeyWork work) {
  const KeyHash hash = Hash(key);
  PartitionLock lock(table_.buckets, hash.partition);
  PartitionStore store(table_, hash.partition);
  return SlotsOf(table_, hash) +
         (table_.follows ? 0 : HoldKeeper::CountVisits({&store, hash.hash}, now, work));
}

std::size_t Limiter::Reset(std::string_view key, std::span<const Limit> limits, Instant now,
                           PresentLimit present) {
  const KeyHash hash = Hash(key);
  PartitionLock lock(table_.buckets, hash.partition);
  absl::InlinedVector<LimitId, 4> ids;
  for (const Limit& limit : limits) {
    LimitHint no_hint;
    if (const std::optional<LimitId> id = table_.registry.Find(limit, no_hint)) ids.push_back(*id);
  }
  table_.resets.fetch_add(1, std::memory_order_relaxed);
  table_.ExpireHolds(hash, now);
  std::size_t live = 0;
  std::vector<SlotKey> gone;
  VisitKey(table_, hash, [&](const SlotKey& slot, Bucket bucket) {
    if (!limits.empty() && std::ranges::find(ids, slot.limit) == ids.end()) return;
    if (TimeToReset(present(table_.registry.Get(slot.limit)), bucket, now, table_.max_wait) >
        Nanos{0})
      ++live;
    gone.push_back(slot);
  });
  table_.ForgetHolds(hash, [&](const Hold& hold) {
    return limits.empty() || std::ranges::any_of(hold.parts(), [&](const HoldPart& part) {
             return std::ranges::find(ids, part.limit) != ids.end() &&
                    table_.registry.Get(part.limit).is_held();
           });
  });
  for (const SlotKey& slot : gone) {
    table_.CountLoss(hash, slot.limit);
    table_.Erase(hash.partition, slot);
  }
  return live;
}

std::vector<LiveBucket> Limiter::Inspect(const KeyHash& key, Instant now, PresentLimit present) {
  PartitionLock lock(table_.buckets, key.partition);
  table_.ExpireHolds(key, now);
  std::vector<std::pair<LimitId, Bucket>> live;
  VisitKey(table_, key, [&](const SlotKey& slot, Bucket bucket) {
    if (IsFull(table_.registry.Get(slot.limit), bucket, now)) return;
    live.emplace_back(slot.limit, bucket);
  });
  std::ranges::sort(live, {}, &std::pair<LimitId, Bucket>::first);
  live.resize(std::min(live.size(), kInspectedMax));
  LimiterTable::slots_visited += kSlotsPerReturned * live.size();
  std::vector<LiveBucket> buckets;
  buckets.reserve(live.size());
  for (const auto& [id, bucket] : live) {
    const std::optional<Limit> limit = present(table_.registry.Get(id));
    if (!limit) continue;
    if (const auto look = InspectBucket(*limit, bucket, now, table_.max_wait))
      buckets.push_back(*look);
  }
  WEIR_CHECK(buckets.size() <= kInspectedMax);
  return buckets;
}

Nanos Limiter::ResetAfter(std::string_view key, Instant now, PresentLimit present) {
  const KeyHash hash = Hash(key);
  PartitionLock lock(table_.buckets, hash.partition);
  table_.ExpireHolds(hash, now);
  Nanos longest{0};
  VisitKey(table_, hash, [&](const SlotKey& slot, Bucket bucket) {
    longest = std::max(longest, TimeToReset(present(table_.registry.Get(slot.limit)), bucket, now,
                                            table_.max_wait));
  });
  return longest;
}

// --- Transactions (isolation.h) ---

Isolation::Isolation(LimiterTable& table, std::span<const std::string_view> keys,
                     std::span<const WatchedKey> watched)
    : partitions_(table.buckets, [&] {
        PartitionSet partitions;
        for (const std::string_view key : keys) partitions.Add(table.Hash(key).partition);
        for (const WatchedKey& one : watched) partitions.Add(one.key.partition);
        return partitions;
      }()) {}

Isolation::Isolation(LimiterTable& table)
    : changes_(std::in_place, table.changes_mutex),
      partitions_(table.buckets, PartitionSet::All()) {}

WatchedKey Watch(LimiterTable& table, std::string_view key, Instant now) {
  WatchedKey watched{table.Hash(key), {}};
  PartitionLock lock(table.buckets, watched.key.partition);
  table.ExpireHolds(watched.key, now);
  watched.visits = SlotsOf(table, watched.key);
  VisitKey(table, watched.key, [&](const SlotKey& slot, Bucket bucket) {
    watched.buckets.push_back({slot.limit, table.registry.Get(slot.limit), bucket});
  });
  LimiterTable::slots_visited += kSlotsPerReturned * watched.buckets.size();
  std::ranges::sort(watched.buckets, {}, &WatchedKey::WatchedBucket::id);
  return watched;
}

bool IsUnchanged(LimiterTable& table, const WatchedKey& watched, Instant now) {
  PartitionLock lock(table.buckets, watched.key.partition);
  table.ExpireHolds(watched.key, now);
  std::vector<bool> is_there(watched.buckets.size());
  bool unchanged = true;
  VisitKey(table, watched.key, [&](const SlotKey& slot, Bucket bucket) {
    const bool is_full = IsFull(table.registry.Get(slot.limit), bucket, now);
    const auto before =
        std::ranges::lower_bound(watched.buckets, slot.limit, {}, &WatchedKey::WatchedBucket::id);
    if (before == watched.buckets.end() || before->id != slot.limit) {
      unchanged = unchanged && is_full;
      return;
    }
    is_there[static_cast<std::size_t>(before - watched.buckets.begin())] = true;
    const bool was_full = IsFull(before->limit, before->bucket, now);
    unchanged = unchanged && (before->bucket == bucket || (is_full && was_full));
  });
  for (std::size_t i = 0; i < is_there.size(); ++i) {
    const WatchedKey::WatchedBucket& one = watched.buckets[i];
    unchanged = unchanged && (is_there[i] || IsFull(one.limit, one.bucket, now));
  }
  return unchanged;
}

}  // namespace weir
