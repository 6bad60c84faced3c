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
#include "core/limiter/partition_store.h"
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
  return std::min<std::size_t>(table_.partition(key.partition).size(), registry_.used());
}

std::size_t Limiter::CountVisits(std::string_view key, Instant now, KeyWork work) {
  const KeyHash hash = Hash(key);
  PartitionLock lock(table_, hash.partition);
  PartitionStore store(*this, hash.partition);
  return SlotsOf(hash) + (follows_ ? 0 : HoldKeeper::CountVisits({&store, hash.hash}, now, work));
}

// Calls visit(SlotKey, Bucket) for each of the key's buckets: tries every limit if there are few,
// else scans the partition. Requires: the partition is locked.
template <typename Visit>
void Limiter::VisitKey(const KeyHash& key, Visit visit) {
  Partition& partition = table_.partition(key.partition);
  slots_visited_ += SlotsOf(key);
  if (registry_.used() < partition.size()) {
    for (std::uint32_t id = 0; id < registry_.used(); ++id) {
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
  PartitionLock lock(table_, hash.partition);
  absl::InlinedVector<LimitId, 4> ids;
  for (const Limit& limit : limits) {
    LimitHint no_hint;
    if (const std::optional<LimitId> id = registry_.Find(limit, no_hint)) ids.push_back(*id);
  }
  SettleDue(hash, now);
  std::size_t live = 0;
  std::vector<SlotKey> gone;
  VisitKey(hash, [&](const SlotKey& slot, Bucket bucket) {
    if (!limits.empty() && std::ranges::find(ids, slot.limit) == ids.end()) return;
    if (TimeToReset(present(registry_.Get(slot.limit)), bucket, now, max_wait_) > Nanos{0}) ++live;
    gone.push_back(slot);
  });
  ForgetHolds(hash, [&](const Hold& hold) {
    return limits.empty() || std::ranges::any_of(hold.parts(), [&](const HoldPart& part) {
             return std::ranges::find(ids, part.limit) != ids.end() &&
                    registry_.Get(part.limit).is_held();
           });
  });
  for (const SlotKey& slot : gone) {
    CountLoss(hash, slot.limit);
    Forget(hash.partition, slot);
    table_.partition(hash.partition).Erase(slot);
  }
  table_.ShowSize(hash.partition);
  return live;
}

std::vector<LiveBucket> Limiter::Inspect(std::string_view key, Instant now, PresentLimit present) {
  const KeyHash hash = Hash(key);
  PartitionLock lock(table_, hash.partition);
  SettleDue(hash, now);
  std::vector<std::pair<LimitId, Bucket>> live;
  VisitKey(hash, [&](const SlotKey& slot, Bucket bucket) {
    if (IsFull(registry_.Get(slot.limit), bucket, now)) return;
    live.emplace_back(slot.limit, bucket);
  });
  std::ranges::sort(live, {}, &std::pair<LimitId, Bucket>::first);
  live.resize(std::min(live.size(), kInspectedMax));
  slots_visited_ += kSlotsPerReturned * live.size();
  std::vector<LiveBucket> buckets;
  buckets.reserve(live.size());
  for (const auto& [id, bucket] : live) {
    const std::optional<Limit> limit = present(registry_.Get(id));
    if (!limit) continue;
    if (const auto look = InspectBucket(*limit, bucket, now, max_wait_)) buckets.push_back(*look);
  }
  WEIR_CHECK(buckets.size() <= kInspectedMax);
  return buckets;
}

Nanos Limiter::ResetAfter(std::string_view key, Instant now, PresentLimit present) {
  const KeyHash hash = Hash(key);
  PartitionLock lock(table_, hash.partition);
  SettleDue(hash, now);
  Nanos longest{0};
  VisitKey(hash, [&](const SlotKey& slot, Bucket bucket) {
    longest =
        std::max(longest, TimeToReset(present(registry_.Get(slot.limit)), bucket, now, max_wait_));
  });
  return longest;
}

Limiter::Isolation::Isolation(Limiter& limiter, std::span<const std::string_view> keys,
                              std::span<const Watched> watched)
    : hold_(limiter.table_, [&] {
        PartitionSet partitions;
        for (const std::string_view key : keys) partitions.Add(limiter.Hash(key).partition);
        for (const Watched& one : watched) partitions.Add(one.key.partition);
        return partitions;
      }()) {}

Limiter::Isolation::Isolation(Limiter& limiter)
    : saving_(std::in_place, limiter.saving_mutex_), hold_(limiter.table_, PartitionSet::All()) {}

Limiter::Watched Limiter::Watch(std::string_view key, Instant now) {
  Watched watched{Hash(key), {}};
  PartitionLock lock(table_, watched.key.partition);
  SettleDue(watched.key, now);
  watched.visits = SlotsOf(watched.key);
  VisitKey(watched.key, [&](const SlotKey& slot, Bucket bucket) {
    watched.buckets.push_back({slot.limit, registry_.Get(slot.limit), bucket});
  });
  slots_visited_ += kSlotsPerReturned * watched.buckets.size();
  std::ranges::sort(watched.buckets, {}, &Watched::WatchedBucket::id);
  return watched;
}

bool Limiter::IsUnchanged(const Watched& watched, Instant now) {
  PartitionLock lock(table_, watched.key.partition);
  SettleDue(watched.key, now);
  std::vector<bool> is_there(watched.buckets.size());
  bool unchanged = true;
  VisitKey(watched.key, [&](const SlotKey& slot, Bucket bucket) {
    const bool is_full = IsFull(registry_.Get(slot.limit), bucket, now);
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

// Logs that a bucket is erased, and uncounts it from its limit. Requires: its partition is locked.
void Limiter::Forget(std::size_t partition, const SlotKey& slot) {
  if (notes_changes_) {
    table_.partition(partition).LogErased(slot, registry_.Get(slot.limit).shape().algorithm);
    NoteChanged(partition);
  }
  registry_.RemoveBucket(slot.limit);
}

// Like Forget, for a full bucket. The records of most can be recognised as full without their
// limit; those of a sliding window cannot, nor can any record where clients give the time.
void Limiter::ForgetFull(std::size_t partition, const SlotKey& slot) {
  const Algorithm algorithm = registry_.Get(slot.limit).shape().algorithm;
  if (algorithm == Algorithm::kSlidingWindow || !time_is_ordered_) {
    Forget(partition, slot);
  } else {
    registry_.RemoveBucket(slot.limit);
  }
}

void Limiter::Clear() {
  MutexLock saving(saving_mutex_);
  discarded_.reserve(discarded_.size() + kPartitionCount);
  const Isolation everything(*this);
  generation_ = Next(generation_);
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    const bool is_empty = table_.partition(i).size() == 0 && table_.holds(i) == nullptr;
    BucketTable::Discarded discarded = table_.Discard(i);
    if (!is_empty) discarded_.push_back(std::move(discarded));
  }
  has_discarded_.store(!discarded_.empty(), std::memory_order_relaxed);
  keeper_.counts().Clear();
}

bool Limiter::FreeDiscarded() {
  if (!has_discarded_.load(std::memory_order_relaxed)) return false;
  std::vector<LimitId> ids;  // that the buckets and the parts of holds carry
  {
    BucketTable::Discarded freed;
    {
      MutexLock saving(saving_mutex_);
      if (discarded_.empty()) {
        discarded_.shrink_to_fit();
        has_discarded_.store(false, std::memory_order_relaxed);
        return false;
      }
      freed = std::move(discarded_.back());
      discarded_.pop_back();
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
    MutexLock saving(saving_mutex_);
    for (const LimitId id : some) registry_.RemoveBucket(id);
  }
  return true;
}

void Limiter::ForgetPolicies(std::span<const PolicyId> policies) {
  if (policies.empty()) return;
  const absl::flat_hash_set<PolicyId> gone(policies.begin(), policies.end());
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    PartitionLock lock(table_, i);
    if (follows_) return;
    ForgetHolds(i, [&](const Hold& hold) {
      return std::ranges::any_of(hold.parts(), [&](const HoldPart& part) {
        return gone.contains(registry_.Get(part.limit).owner().policy);
      });
    });
    table_.partition(i).EraseIf([&](const SlotKey& slot, Bucket) {
      if (!gone.contains(registry_.Get(slot.limit).owner().policy)) return false;
      Forget(i, slot);
      return true;
    });
    table_.ShowSize(i);
  }
}

Limiter::Swept Limiter::SweepSome(std::size_t partition, Instant now, std::size_t first,
                                  std::size_t visits_max) {
  PartitionLock lock(table_, partition);
  if (first == 0) {
    SettleDue(partition, now, std::max<std::size_t>(visits_max / kSlotsPerSettled, 1));
  }
  Partition& swept = table_.partition(partition);
  const auto is_full = [&](const SlotKey& slot, Bucket bucket) {
    if (!IsFull(registry_.Get(slot.limit), bucket, now)) return false;
    ForgetFull(partition, slot);
    return true;
  };
  const Swept part = {swept.EraseSome(first, visits_max, is_full), HasDue(partition, now)};
  if (part.erased > 0) {
    swept.AdvanceDecisionTime(now);
    table_.ShowSize(partition);
  }
  if (part.next != Partition::kNoMore) return part;
  const TableBound bound = bound_.load(std::memory_order_relaxed);
  if (swept.size() > bound.SlotsMax(partition))
    DropDownTo(bound.SlotsMax(partition), partition, now);
  swept.Shrink(bound.Capacity(partition));
  table_.ShowSize(partition);
  return part;
}

// Requires: the partition is locked.
bool Limiter::HasDue(std::size_t partition, Instant now) {
  const HoldTable* const holds = table_.holds(partition);
  return holds && !follows_ && holds->open().HasExpired(now);
}

bool Limiter::SettleSome(std::size_t partition, Instant now, std::size_t most) {
  PartitionLock lock(table_, partition);
  SettleDue(partition, now, most);
  return HasDue(partition, now);
}

void Limiter::set_memory_max(std::size_t bytes) noexcept {
  memory_max_.store(bytes, std::memory_order_relaxed);
  FitTable();
  const std::size_t limits = TableBound::RegistryBytes(bytes) / LimitRegistry::BytesPerLimit();
  registry_.set_limits_max(bytes == 0 ? limits_max_ : std::min(limits_max_, limits));
  keeper_.counts().set_bytes_max(bytes == 0 ? std::numeric_limits<std::size_t>::max()
                                            : TableBound::HoldBytesMax(bytes));
}

void Limiter::FitTable() noexcept {
  const std::size_t bytes = memory_max_.load(std::memory_order_relaxed);
  bound_.store(bytes == 0 ? TableBound()
                          : TableBound::Beside(keeper_.counts().bytes(), bytes, notes_changes_),
               std::memory_order_relaxed);
}

// Drops all full buckets, and others until at most `slots_kept` are left. Requires: the partition
// is locked.
void Limiter::DropDownTo(std::size_t slots_kept, std::size_t index, Instant now) {
  struct Slot {
    std::int64_t used_share;
    Nanos until_full;  // 0: full
    SlotKey key;
  };
  Partition& partition = table_.partition(index);
  absl::flat_hash_map<LimitId, std::optional<Limit>> present;
  const auto used_share = [&](LimitId id, Bucket bucket) {
    const Limit& interned = registry_.Get(id);
    if (interned.owner() == LimitOwner{}) return UsedShare(interned, bucket, now);
    const auto [found, is_new] = present.try_emplace(id);
    if (is_new) found->second = keeper_.PresentNumbers(interned);
    return found->second ? UsedShare(*found->second, bucket, now) : 0;
  };
  std::vector<Slot> slots;
  slots.reserve(partition.size());
  partition.ForEach([&](const SlotKey& key, Bucket bucket) {
    slots.push_back(
        {used_share(key.limit, bucket), TimeToFull(registry_.Get(key.limit), bucket, now), key});
  });
  const auto first_live = std::partition(slots.begin(), slots.end(),
                                         [](auto& slot) { return slot.until_full == Nanos{0}; });
  const auto excess =
      static_cast<std::ptrdiff_t>(slots.size() - std::min(slots.size(), slots_kept));
  const auto first_kept = std::max(first_live, slots.begin() + excess);
  std::nth_element(first_live, first_kept, slots.end(), [](const Slot& a, const Slot& b) {
    return std::tie(a.used_share, a.until_full) < std::tie(b.used_share, b.until_full);
  });
  for (auto slot = slots.begin(); slot != first_kept; ++slot) {
    if (slot < first_live) {
      ForgetFull(index, slot->key);
    } else {
      Forget(index, slot->key);
      CountLoss({slot->key.key_hash(), static_cast<std::uint16_t>(index)}, slot->key.limit);
    }
    partition.Erase(slot->key);
  }
  table_.ShowSize(index);
  WEIR_CHECK(partition.size() <= slots_kept);
  if (first_live != slots.begin()) partition.AdvanceDecisionTime(now);
  evicted_.fetch_add(static_cast<std::uint64_t>(first_kept - first_live),
                     std::memory_order_relaxed);
  evicted_full_.fetch_add(static_cast<std::uint64_t>(first_live - slots.begin()),
                          std::memory_order_relaxed);
}

void Limiter::MakeRoomForLimits() {
  if (!registry_.IsNearlyFull()) return;
  while (ReclaimLimits(1, kReclaimsAtOnce) == 0 && FreeDiscarded()) {
  }
}

std::size_t Limiter::ReclaimLimits(std::size_t ids_min, std::size_t ids_max) {
  if (registry_.idle() < std::max<std::size_t>(ids_min, 1)) return 0;
  slots_visited_ += registry_.used();
  const std::vector<LimitId> idle = registry_.Idle(ids_max);
  if (idle.empty() || idle.size() < ids_min) return 0;
  MutexLock saving(saving_mutex_);
  const TableLock world = TableLock::All(table_);
  const std::size_t reclaimed = registry_.Reclaim(idle);
  WEIR_CHECK(reclaimed <= ids_max);
  return reclaimed;
}

Limiter::Size Limiter::size() const {
  constexpr std::size_t kSlotBytes = sizeof(SlotKey) + sizeof(Bucket) + 1;  // and its control byte
  const BucketTable::Size table = table_.size();
  return {.buckets = table.slots,
          .changes = table.changes,
          .limits = registry_.size(),
          .table_bytes = table.capacity * kSlotBytes};
}

std::size_t Limiter::CountLive(Instant now) {
  std::size_t live = 0;
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    PartitionLock lock(table_, i);
    SettleDue(i, now);
    table_.partition(i).ForEach([&](const SlotKey& slot, Bucket bucket) {
      if (!IsFull(registry_.Get(slot.limit), bucket, now)) ++live;
    });
  }
  return live;
}

}  // namespace weir
