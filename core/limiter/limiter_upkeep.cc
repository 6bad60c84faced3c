#include "core/limiter/limiter_upkeep.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "core/base/check.h"
#include "core/limiter/isolation.h"
#include "core/limiter/limiter_table.h"
#include "core/rules/rule.h"
#include "core/table/partition_set.h"

namespace weir {
namespace {

// The buckets that FreeDiscarded uncounts under one lock, which takes some 50 us.
constexpr std::size_t kUncountedAtOnce = 4096;

// Requires: the partition is locked.
bool HasDue(LimiterTable& table, std::size_t partition, Instant now) {
  const HoldTable* const holds = table.buckets.holds(partition);
  return holds && !table.follows && holds->open().HasExpired(now);
}

}  // namespace

absl::Status LimiterUpkeep::ExpireAhead(std::span<const KeyHash> keys, Instant now) {
  if (table_.hold_records.counts().open() == 0) return absl::OkStatus();
  std::size_t settled = 0;
  for (const KeyHash& key : keys) {
    PartitionLock lock(table_.buckets, key.partition);
    const Partition& partition = table_.buckets.partition(key.partition);
    if (!partition.has_open_holds() || table_.follows) continue;
    const Instant then = std::max(now, partition.decision_time());
    PartitionStore store(table_, key.partition);
    const std::size_t due = HoldKeeper::CountDue({&store, key.hash}, then, kKeyHoldsMax);
    if (settled > 0 && settled + due > kKeyHoldsMax) return TooManyDue();
    table_.ExpireHolds(key, then);
    settled += due;
  }
  return absl::OkStatus();
}

void LimiterUpkeep::ExpireHolds(std::span<const std::string_view> keys, Instant now) {
  if (!table_.time_is_ordered) return;
  for (const std::string_view key : keys) {
    const KeyHash hash = table_.Hash(key);
    PartitionLock lock(table_.buckets, hash.partition);
    table_.ExpireHolds(hash, now);
  }
}

void LimiterUpkeep::ExpireHolds(Instant now) {
  if (!table_.time_is_ordered || table_.hold_records.counts().open() == 0) return;
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    PartitionLock lock(table_.buckets, i);
    table_.ExpireHolds(i, now);
  }
}

void LimiterUpkeep::Clear() {
  MutexLock saving(table_.changes_mutex);
  table_.discarded.reserve(table_.discarded.size() + kPartitionCount);
  const Isolation everything(table_);
  table_.resets.fetch_add(1, std::memory_order_relaxed);
  table_.generation = Next(table_.generation);
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    const bool is_empty =
        table_.buckets.partition(i).size() == 0 && table_.buckets.holds(i) == nullptr;
    BucketTable::Discarded discarded = table_.buckets.Discard(i);
    if (!is_empty) table_.discarded.push_back(std::move(discarded));
  }
  table_.has_discarded.store(!table_.discarded.empty(), std::memory_order_relaxed);
  table_.hold_records.counts().Clear();
}

bool LimiterUpkeep::FreeDiscarded() {
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

void LimiterUpkeep::ForgetPolicies(std::span<const PolicyId> policies) {
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
    table_.EraseIf(i, [&](const SlotKey& slot, Bucket) {
      return gone.contains(table_.registry.Get(slot.limit).owner().policy);
    });
  }
}

LimiterUpkeep::Swept LimiterUpkeep::SweepSome(std::size_t partition, Instant now, std::size_t first,
                                              std::size_t visits_max) {
  PartitionLock lock(table_.buckets, partition);
  if (first == 0) {
    table_.ExpireHolds(partition, now, std::max<std::size_t>(visits_max / kSlotsPerSettled, 1));
  }
  now = table_.Droppable(now);
  Partition& swept = table_.buckets.partition(partition);
  const auto is_full = [&](const SlotKey& slot, Bucket bucket) {
    if (!IsFull(table_.registry.Get(slot.limit), bucket, now)) return false;
    table_.CountErased(partition, slot, Erasure::kFull);
    return true;
  };
  const Swept part = {swept.EraseSome(first, visits_max, is_full), HasDue(table_, partition, now)};
  if (part.erased > 0) {
    swept.AdvanceDecisionTime(now);
    table_.buckets.PublishSize(partition);
  }
  if (part.next != Partition::kNoMore) return part;
  const TableBound bound = table_.bound.load(std::memory_order_relaxed);
  if (swept.size() > bound.SlotsMax(partition))
    table_.DropDownTo(bound.SlotsMax(partition), partition, now);
  swept.Shrink(bound.Capacity(partition));
  table_.buckets.PublishSize(partition);
  return part;
}

bool LimiterUpkeep::ExpireSome(std::size_t partition, Instant now, std::size_t most) {
  PartitionLock lock(table_.buckets, partition);
  table_.ExpireHolds(partition, now, most);
  return HasDue(table_, partition, now);
}

void LimiterUpkeep::set_memory_max(std::size_t bytes) noexcept {
  table_.memory_max.store(bytes, std::memory_order_relaxed);
  table_.FitBound();
  const std::size_t limits = TableBound::RegistryBytes(bytes) / LimitRegistry::BytesPerLimit();
  table_.registry.set_limits_max(bytes == 0 ? table_.limits_max
                                            : std::min(table_.limits_max, limits));
  table_.hold_records.counts().set_bytes_max(bytes == 0 ? std::numeric_limits<std::size_t>::max()
                                                        : TableBound::HoldBytesMax(bytes));
}

void LimiterUpkeep::FitTable() noexcept { table_.FitBound(); }

void LimiterUpkeep::MakeRoomForLimits() {
  if (!table_.registry.IsNearlyFull()) return;
  while (ReclaimLimits(1, LimiterTable::kReclaimsAtOnce) == 0 && FreeDiscarded()) {
  }
}

std::size_t LimiterUpkeep::ReclaimLimits(std::size_t ids_min, std::size_t ids_max) {
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

LimiterUpkeep::Size LimiterUpkeep::size() const {
  constexpr std::size_t kSlotBytes = sizeof(SlotKey) + sizeof(Bucket) + 1;  // and its control byte
  const BucketTable::Size table = table_.buckets.size();
  return {.buckets = table.slots,
          .changes = table.changes,
          .limits = table_.registry.size(),
          .table_bytes = table.capacity * kSlotBytes};
}

std::size_t LimiterUpkeep::CountLive(Instant now) const {
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

LimiterUpkeep::Counts LimiterUpkeep::counts() const noexcept {
  const HoldCounts& holds = table_.hold_records.counts();
  const HoldKeeper& keeper = table_.keeper;
  return {.evicted = table_.evicted.load(std::memory_order_relaxed),
          .evicted_full = table_.evicted_full.load(std::memory_order_relaxed),
          .open_holds = holds.open(),
          .hold_bytes = holds.bytes(),
          .expired_holds = keeper.expired(),
          .cancelled_holds = keeper.cancelled(),
          .settled_holds = keeper.settled(),
          .open_slices = holds.slices(),
          .slice_units = holds.units(),
          .granted_slices = keeper.granted_slices(),
          .lapsed_slices = keeper.lapsed_slices(),
          .resets = table_.resets.load(std::memory_order_relaxed)};
}

}  // namespace weir
