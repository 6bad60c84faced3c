#include "core/limiter/limiter_table.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "core/base/check.h"
#include "core/limiter/hold_sums.h"
#include "core/rules/rule.h"

namespace weir {

static_assert(kKeyBucketsMax >= kChecksMax, "a key has room for a whole request");
static_assert(TableBound::Within(0, true).SlotsMax(kPartitionCount - 1) >= kChecksMax,
              "a partition has room for a whole request");

LimiterTable::LimiterTable(const LimiterOptions& options)
    : current_hasher(nullptr),
      max_wait(options.max_wait),
      time_is_ordered(options.time_is_ordered),
      logs_changes(options.logs_changes),
      limits_max(options.limits_max),
      registry(options.limits_max),
      hold_records(registry, options.holds_max),
      keeper(registry, hold_records, max_wait, options.present) {
  hashers.push_back(std::make_unique<KeyHasher>(options.secret));
  current_hasher = hashers.back().get();
  WEIR_CHECK(max_wait >= Nanos{0});
  WEIR_CHECK(max_wait <= kMaxWaitMax);
  if (!logs_changes) return;
  registry.StartLogging();
  for (std::size_t i = 0; i < kPartitionCount; ++i) buckets.partition(i).set_logs_changes(true);
}

void LimiterTable::Insert(const KeyHash& key, LimitId id, const Limit& limit, Bucket bucket) {
  Partition& partition = buckets.partition(key.partition);
  registry.AddBucket(id);
  partition.Insert({key.hash, id}, limit.shape().algorithm, bucket);
  if (partition.logs_changes()) MarkChanged(key.partition);
  buckets.PublishSize(key.partition);
}

void LimiterTable::ReplaceAndLog(const KeyHash& key, const FoundBucket& found, const Limit& limit,
                                 Bucket bucket) {
  const bool is_counted =
      buckets.partition(key.partition)
          .Replace({key.hash, *found.id}, limit.shape().algorithm, *found.slot, bucket);
  MarkChanged(key.partition);
  if (is_counted) buckets.PublishSize(key.partition);
}

// The records of most full buckets can be recognised as full without their limit; those of a
// sliding window cannot, nor can any record where clients give the time.
void LimiterTable::CountErased(std::size_t partition, const SlotKey& slot, Erasure why) {
  Partition& changed = buckets.partition(partition);
  const Algorithm algorithm = registry.Get(slot.limit).shape().algorithm;
  const bool says_so =
      why == Erasure::kFull && algorithm != Algorithm::kSlidingWindow && time_is_ordered;
  if (changed.logs_changes() && !says_so) {
    changed.LogErased(slot, algorithm);
    MarkChanged(partition);
  }
  registry.RemoveBucket(slot.limit);
}

void LimiterTable::Erase(std::size_t partition, const SlotKey& slot, Erasure why) {
  CountErased(partition, slot, why);
  buckets.partition(partition).Erase(slot);
  buckets.PublishSize(partition);
}

std::size_t LimiterTable::EraseIf(std::size_t partition,
                                  absl::FunctionRef<bool(const SlotKey&, Bucket)> is_gone,
                                  Erasure why) {
  std::vector<SlotKey> gone;
  buckets.partition(partition).ForEach([&](const SlotKey& slot, Bucket bucket) {
    if (is_gone(slot, bucket)) gone.push_back(slot);
  });
  for (const SlotKey& slot : gone) Erase(partition, slot, why);
  return gone.size();
}

void LimiterTable::MarkChanged(std::size_t partition) {
  changed_partitions.Add(partition);
  if (buckets.partition(partition).everything_changed()) overflowed_partitions.Add(partition);
}

bool LimiterTable::MakeRoomOnKey(const KeyHash& key, std::size_t added, Instant now,
                                 std::span<const FoundBucket> asked) {
  Partition& partition = buckets.partition(key.partition);
  slots_visited += partition.size();
  CrowdedKeys::Counts counts;
  partition.ForEach([&](const SlotKey& slot, Bucket) { ++counts[slot.key_hash()]; });
  std::size_t& own = counts[key.hash];
  Nanos until_full = Nanos::max();
  if (own + added > kKeyBucketsMax) {
    const auto is_dropped = [&](const SlotKey& slot, Bucket bucket) {
      if (slot.key_hash() != key.hash) return false;
      const Nanos wait = TimeToFull(registry.Get(slot.limit), bucket, now);
      const bool is_asked =
          std::ranges::find(asked, std::optional(slot.limit), &FoundBucket::id) != asked.end();
      if (wait == Nanos{0} && !is_asked) return true;
      until_full = std::min(until_full, wait);
      return false;
    };
    const std::size_t dropped = EraseIf(key.partition, is_dropped, Erasure::kFull);
    if (dropped > 0) partition.AdvanceDecisionTime(now);
    WEIR_CHECK(dropped <= own);
    own -= dropped;
  }
  partition.crowded_keys().Count(counts);
  if (own + added <= kKeyBucketsMax) return true;
  partition.crowded_keys().SetExact(key.hash, now + until_full);
  return false;
}

void LimiterTable::FitBound() noexcept {
  const std::size_t bytes = memory_max.load(std::memory_order_relaxed);
  bound.store(bytes == 0 ? TableBound()
                         : TableBound::Beside(hold_records.counts().bytes(), bytes, logs_changes),
              std::memory_order_relaxed);
}

void LimiterTable::DropDownTo(std::size_t slots_kept, std::size_t index, Instant now) {
  struct Slot {
    std::int64_t used_share;
    Nanos until_full;  // 0: full
    SlotKey key;
  };
  Partition& partition = buckets.partition(index);
  absl::flat_hash_map<LimitId, std::optional<Limit>> present;
  const auto used_share = [&](LimitId id, Bucket bucket) {
    const Limit& interned = registry.Get(id);
    if (interned.owner() == LimitOwner{}) return UsedShare(interned, bucket, now);
    const auto [found, is_new] = present.try_emplace(id);
    if (is_new) found->second = keeper.PresentNumbers(interned);
    return found->second ? UsedShare(*found->second, bucket, now) : 0;
  };
  std::vector<Slot> slots;
  slots.reserve(partition.size());
  partition.ForEach([&](const SlotKey& key, Bucket bucket) {
    slots.push_back(
        {used_share(key.limit, bucket), TimeToFull(registry.Get(key.limit), bucket, now), key});
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
      Erase(index, slot->key, Erasure::kFull);
    } else {
      CountLoss({slot->key.key_hash(), static_cast<std::uint16_t>(index)}, slot->key.limit);
      Erase(index, slot->key);
    }
  }
  WEIR_CHECK(partition.size() <= slots_kept);
  if (first_live != slots.begin()) partition.AdvanceDecisionTime(now);
  evicted.fetch_add(static_cast<std::uint64_t>(first_kept - first_live), std::memory_order_relaxed);
  evicted_full.fetch_add(static_cast<std::uint64_t>(first_live - slots.begin()),
                         std::memory_order_relaxed);
}

void LimiterTable::CountLoss(const KeyHash& key, LimitId id) {
  PartitionStore store(*this, key.partition);
  HoldSums(store, max_wait).Forbid({key.hash, id}, registry.Get(id));
}

void LimiterTable::PublishHolds(std::size_t partition) {
  const HoldTable* const holds = buckets.holds(partition);
  if (holds && (holds->changes().size() > 0 || holds->changes().overflowed())) {
    if (holds->changes().overflowed()) {
      buckets.partition(partition).LogEverything();
      buckets.PublishSize(partition);
    }
    MarkChanged(partition);
  }
  buckets.PublishHolds(partition);
}

void LimiterTable::ExpireHolds(const KeyHash& key, Instant now) {
  if (follows) return;
  PartitionStore store(*this, key.partition);
  AdvanceDecisionTime(key.partition, keeper.ExpireHolds({&store, key.hash}, now));
}

void LimiterTable::ExpireHolds(std::span<const Check> checks, Instant now) {
  for (const Check& check : checks) ExpireHolds(check.hash, now);
}

void LimiterTable::ExpireHolds(std::size_t partition, Instant now, std::size_t most) {
  if (follows) return;
  PartitionStore store(*this, partition);
  AdvanceDecisionTime(partition, keeper.ExpireHolds(store, now, most));
}

// A thread that decides late must not decide as of before.
void LimiterTable::AdvanceDecisionTime(std::size_t partition, std::optional<Instant> last) {
  if (last && time_is_ordered) buckets.partition(partition).AdvanceDecisionTime(*last);
}

void LimiterTable::ForgetHolds(const KeyHash& key, absl::FunctionRef<bool(const Hold&)> is_gone) {
  PartitionStore store(*this, key.partition);
  keeper.ForgetIf({&store, key.hash}, is_gone);
}

void LimiterTable::ForgetHolds(std::size_t partition,
                               absl::FunctionRef<bool(const Hold&)> is_gone) {
  PartitionStore store(*this, partition);
  keeper.ForgetIf(store, is_gone);
}

}  // namespace weir
