// The limiter's maintenance: it inspects, resets, watches, sweeps, evicts and counts buckets.
#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "core/base/check.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_table.h"
#include "core/rules/rule.h"
#include "core/table/partition_set.h"

namespace weir {
namespace {

// A bucket that Inspect or Watch returns takes as long as this many visits: its limit is copied,
// and Inspect's caller turns the limit into text.
constexpr std::size_t kSlotsPerReturned = 8;

// The buckets that FreeDiscarded uncounts under one lock, which takes some 50 us.
constexpr std::size_t kUncountedAtOnce = 4096;

// The time until a bucket is full; 0 if it is, or if its limit is gone.
Nanos TimeToReset(const std::optional<Limit>& limit, Bucket bucket, Instant now, Nanos max_wait) {
  if (!limit) return Nanos{0};
  // CL.THROTTLE's numbers come with each request: those of the interned limit must not clamp the
  // bucket.
  if (limit->owner() == kThrottleOwner) return TimeToFull(*limit, bucket, now);
  return DecideLimit(*limit, bucket, now, 0, max_wait).decision.reset_after;
}

}  // namespace

// The slots that VisitKey will visit. Requires: the partition is locked.
std::size_t Limiter::SlotsOf(const KeyHash& key) {
  return std::min<std::size_t>(table_.buckets.partition(key.partition).size(),
                               table_.registry.used());
}

std::size_t Limiter::CountVisits(std::string_view key, Instant now, KeyWork work) {
  const KeyHash hash = Hash(key);
  PartitionLock lock(table_.buckets, hash.partition);
  PartitionStore store(table_, hash.partition);
  return SlotsOf(hash) +
         (table_.follows ? 0 : HoldKeeper::CountVisits({&store, hash.hash}, now, work));
}

// Calls visit(SlotKey, Bucket) for each of the key's buckets: tries every limit if there are few,
// else scans the partition. Requires: the partition is locked.
template <typename Visit>
void Limiter::VisitKey(const KeyHash& key, Visit visit) {
  Partition& partition = table_.buckets.partition(key.partition);
  table_.slots_visited += SlotsOf(key);
  if (table_.registry.used() < partition.size()) {
    for (std::uint32_t id = 0; id < table_.registry.used(); ++id) {
      const SlotKey slot{key.hash, LimitId{id}};
      if (const Bucket* bucket = partition.Find(slot)) visit(slot, *bucket);
    }
    return;
  }
  partition.ForEach([&](const SlotKey& slot, Bucket bucket) {
    if (slot.key_hash() == key.hash) visit(slot, bucket);
  });
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
  table_.ExpireHolds(hash, now);
  std::size_t live = 0;
  std::vector<SlotKey> gone;
  VisitKey(hash, [&](const SlotKey& slot, Bucket bucket) {
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
    table_.Forget(hash.partition, slot);
    table_.buckets.partition(hash.partition).Erase(slot);
  }
  table_.buckets.ShowSize(hash.partition);
  return live;
}

std::vector<LiveBucket> Limiter::Inspect(std::string_view key, Instant now, PresentLimit present) {
  const KeyHash hash = Hash(key);
  PartitionLock lock(table_.buckets, hash.partition);
  table_.ExpireHolds(hash, now);
  std::vector<std::pair<LimitId, Bucket>> live;
  VisitKey(hash, [&](const SlotKey& slot, Bucket bucket) {
    if (IsFull(table_.registry.Get(slot.limit), bucket, now)) return;
    live.emplace_back(slot.limit, bucket);
  });
  std::ranges::sort(live, {}, &std::pair<LimitId, Bucket>::first);
  live.resize(std::min(live.size(), kInspectedMax));
  table_.slots_visited += kSlotsPerReturned * live.size();
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
  VisitKey(hash, [&](const SlotKey& slot, Bucket bucket) {
    longest = std::max(longest, TimeToReset(present(table_.registry.Get(slot.limit)), bucket, now,
                                            table_.max_wait));
  });
  return longest;
}

Limiter::Isolation::Isolation(Limiter& limiter, std::span<const std::string_view> keys,
                              std::span<const Watched> watched)
    : hold_(limiter.table_.buckets, [&] {
        PartitionSet partitions;
        for (const std::string_view key : keys) partitions.Add(limiter.Hash(key).partition);
        for (const Watched& one : watched) partitions.Add(one.key.partition);
        return partitions;
      }()) {}

Limiter::Isolation::Isolation(Limiter& limiter)
    : saving_(std::in_place, limiter.table_.changes_mutex),
      hold_(limiter.table_.buckets, PartitionSet::All()) {}

Limiter::Watched Limiter::Watch(std::string_view key, Instant now) {
  Watched watched{Hash(key), {}};
  PartitionLock lock(table_.buckets, watched.key.partition);
  table_.ExpireHolds(watched.key, now);
  watched.visits = SlotsOf(watched.key);
  VisitKey(watched.key, [&](const SlotKey& slot, Bucket bucket) {
    watched.buckets.push_back({slot.limit, table_.registry.Get(slot.limit), bucket});
  });
  table_.slots_visited += kSlotsPerReturned * watched.buckets.size();
  std::ranges::sort(watched.buckets, {}, &Watched::WatchedBucket::id);
  return watched;
}

bool Limiter::IsUnchanged(const Watched& watched, Instant now) {
  PartitionLock lock(table_.buckets, watched.key.partition);
  table_.ExpireHolds(watched.key, now);
  std::vector<bool> is_there(watched.buckets.size());
  bool unchanged = true;
  VisitKey(watched.key, [&](const SlotKey& slot, Bucket bucket) {
    const bool is_full = IsFull(table_.registry.Get(slot.limit), bucket, now);
    const auto before =
        std::ranges::lower_bound(watched.buckets, slot.limit, {}, &Watched::WatchedBucket::id);
    if (before == watched.buckets.end() || before->id != slot.limit) {
      unchanged = unchanged && is_full;
      return;
    }
    is_there[static_cast<std::size_t>(before - watched.buckets.begin())] = true;
    const bool was_full = IsFull(before->limit, before->bucket, now);
    unchanged = unchanged && (before->bucket == bucket || (is_full && was_full));
  });
  for (std::size_t i = 0; i < is_there.size(); ++i) {
    const Watched::WatchedBucket& one = watched.buckets[i];
    unchanged = unchanged && (is_there[i] || IsFull(one.limit, one.bucket, now));
  }
  return unchanged;
}

void Limiter::Clear() {
  MutexLock saving(table_.changes_mutex);
  table_.discarded.reserve(table_.discarded.size() + kPartitionCount);
  const Isolation everything(*this);
  table_.generation = Next(table_.generation);
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    const bool is_empty =
        table_.buckets.partition(i).size() == 0 && table_.buckets.holds(i) == nullptr;
    BucketTable::Discarded discarded = table_.buckets.Discard(i);
    if (!is_empty) table_.discarded.push_back(std::move(discarded));
  }
  table_.has_discarded.store(!table_.discarded.empty(), std::memory_order_relaxed);
  table_.keeper.counts().Clear();
}

bool Limiter::FreeDiscarded() {
  if (!table_.has_discarded.load(std::memory_order_relaxed)) return false;
  std::vector<LimitId> ids;  // that the buckets and the parts of holds carry
  {
    BucketTable::Discarded freed;
    {
      MutexLock saving(table_.changes_mutex);
      if (table_.discarded.empty()) {
        table_.discarded.shrink_to_fit();
        table_.has_discarded.store(false, std::memory_order_relaxed);
        return false;
      }
      freed = std::move(table_.discarded.back());
      table_.discarded.pop_back();
    }
    for (const auto& [slot, bucket] : freed.slots) ids.push_back(slot.limit);
    const auto add_parts = [&](const Hold& hold) {
      for (const HoldPart& part : hold.parts()) ids.push_back(part.limit);
    };
    if (freed.holds) {
      freed.holds->open().ForEach(add_parts);
      freed.holds->marks().ForEach(add_parts);
    }
  }
  // An id must not be taken back while its buckets are uncounted.
  for (std::span<const LimitId> left = ids; !left.empty();) {
    const std::span<const LimitId> some = left.first(std::min(left.size(), kUncountedAtOnce));
    left = left.subspan(some.size());
    MutexLock saving(table_.changes_mutex);
    for (const LimitId id : some) table_.registry.RemoveBucket(id);
  }
  return true;
}

void Limiter::ForgetPolicies(std::span<const PolicyId> policies) {
  if (policies.empty()) return;
  const absl::flat_hash_set<PolicyId> gone(policies.begin(), policies.end());
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    PartitionLock lock(table_.buckets, i);
    if (table_.follows) return;
    table_.ForgetHolds(i, [&](const Hold& hold) {
      return std::ranges::any_of(hold.parts(), [&](const HoldPart& part) {
        return gone.contains(table_.registry.Get(part.limit).owner().policy);
      });
    });
    table_.buckets.partition(i).EraseIf([&](const SlotKey& slot, Bucket) {
      if (!gone.contains(table_.registry.Get(slot.limit).owner().policy)) return false;
      table_.Forget(i, slot);
      return true;
    });
    table_.buckets.ShowSize(i);
  }
}

Limiter::Swept Limiter::SweepSome(std::size_t partition, Instant now, std::size_t first,
                                  std::size_t visits_max) {
  PartitionLock lock(table_.buckets, partition);
  if (first == 0) {
    table_.ExpireHolds(partition, now, std::max<std::size_t>(visits_max / kSlotsPerSettled, 1));
  }
  Partition& swept = table_.buckets.partition(partition);
  const auto is_full = [&](const SlotKey& slot, Bucket bucket) {
    if (!IsFull(table_.registry.Get(slot.limit), bucket, now)) return false;
    table_.ForgetFull(partition, slot);
    return true;
  };
  const Swept part = {swept.EraseSome(first, visits_max, is_full), HasDue(partition, now)};
  if (part.erased > 0) {
    swept.AdvanceDecisionTime(now);
    table_.buckets.ShowSize(partition);
  }
  if (part.next != Partition::kNoMore) return part;
  const TableBound bound = table_.bound.load(std::memory_order_relaxed);
  if (swept.size() > bound.SlotsMax(partition))
    table_.DropDownTo(bound.SlotsMax(partition), partition, now);
  swept.Shrink(bound.Capacity(partition));
  table_.buckets.ShowSize(partition);
  return part;
}

// Requires: the partition is locked.
bool Limiter::HasDue(std::size_t partition, Instant now) {
  const HoldTable* const holds = table_.buckets.holds(partition);
  return holds && !table_.follows && holds->open().HasExpired(now);
}

bool Limiter::SettleSome(std::size_t partition, Instant now, std::size_t most) {
  PartitionLock lock(table_.buckets, partition);
  table_.ExpireHolds(partition, now, most);
  return HasDue(partition, now);
}

void Limiter::set_memory_max(std::size_t bytes) noexcept {
  table_.memory_max.store(bytes, std::memory_order_relaxed);
  FitTable();
  const std::size_t limits = TableBound::RegistryBytes(bytes) / LimitRegistry::BytesPerLimit();
  table_.registry.set_limits_max(bytes == 0 ? table_.limits_max
                                            : std::min(table_.limits_max, limits));
  table_.keeper.counts().set_bytes_max(bytes == 0 ? std::numeric_limits<std::size_t>::max()
                                                  : TableBound::HoldBytesMax(bytes));
}

void Limiter::FitTable() noexcept {
  const std::size_t bytes = table_.memory_max.load(std::memory_order_relaxed);
  table_.bound.store(
      bytes == 0 ? TableBound()
                 : TableBound::Beside(table_.keeper.counts().bytes(), bytes, table_.logs_changes),
      std::memory_order_relaxed);
}

void Limiter::MakeRoomForLimits() {
  if (!table_.registry.IsNearlyFull()) return;
  while (ReclaimLimits(1, LimiterTable::kReclaimsAtOnce) == 0 && FreeDiscarded()) {
  }
}

std::size_t Limiter::ReclaimLimits(std::size_t ids_min, std::size_t ids_max) {
  if (table_.registry.idle() < std::max<std::size_t>(ids_min, 1)) return 0;
  table_.slots_visited += table_.registry.used();
  const std::vector<LimitId> idle = table_.registry.Idle(ids_max);
  if (idle.empty() || idle.size() < ids_min) return 0;
  MutexLock saving(table_.changes_mutex);
  const TableLock world = TableLock::All(table_.buckets);
  const std::size_t reclaimed = table_.registry.Reclaim(idle);
  WEIR_CHECK(reclaimed <= ids_max);
  return reclaimed;
}

Limiter::Size Limiter::size() const {
  constexpr std::size_t kSlotBytes = sizeof(SlotKey) + sizeof(Bucket) + 1;  // and its control byte
  const BucketTable::Size table = table_.buckets.size();
  return {.buckets = table.slots,
          .changes = table.changes,
          .limits = table_.registry.size(),
          .table_bytes = table.capacity * kSlotBytes};
}

std::size_t Limiter::CountLive(Instant now) {
  std::size_t live = 0;
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    PartitionLock lock(table_.buckets, i);
    table_.ExpireHolds(i, now);
    table_.buckets.partition(i).ForEach([&](const SlotKey& slot, Bucket bucket) {
      if (!IsFull(table_.registry.Get(slot.limit), bucket, now)) ++live;
    });
  }
  return live;
}

}  // namespace weir
