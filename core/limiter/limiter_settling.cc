// The limiter's settlements of holds: estimates become true costs.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/limiter/limiter.h"
#include "core/limiter/locked_request.h"
#include "core/rules/join_decisions.h"
#include "core/rules/rule.h"
#include "core/table/key_bound.h"

namespace weir {
namespace {

// `cost` granted tokens, each of which was worth `each`.
std::uint64_t TokensOf(std::uint64_t cost, std::uint64_t each) noexcept {
  std::uint64_t tokens = 0;
  if (__builtin_mul_overflow(cost, each, &tokens)) return std::numeric_limits<std::uint64_t>::max();
  return tokens;
}

}  // namespace

// One key's part of a settlement.
struct Limiter::SettledHold {
  KeyHash key;
  Hold* hold = nullptr;
  bool is_open = false;
  absl::InlinedVector<std::uint64_t, 4> costs;  // true costs, one per part
};

absl::StatusOr<Settled> Limiter::SettleHold(const SettleRequest& request, Instant now) {
  WEIR_CHECK(!request.keys.empty());
  WEIR_CHECK(request.keys.size() <= kChecksMax);
  const ReservationLock lock(table_, request.keys.size(),
                             [&](std::size_t i) { return request.keys[i].key.hash.partition; });
  now = ExecutionTime(lock, now);
  absl::InlinedVector<SettledHold, 2> holds;
  for (const SettledKey& key : request.keys) {
    SettleDue(key.key.hash.partition, now);
    SettledHold found = FindHold(key.key.hash, request.id);
    if (!found.hold) return Settled{};
    holds.push_back(std::move(found));
  }
  Settled settled;
  settled.settled = true;
  absl::InlinedVector<SlotKey, 4> looks;
  settled.foreign = SetCosts(request, holds, looks);
  if (settled.foreign) return settled;
  for (const SettledHold& hold : holds) {
    if (hold.is_open && !HasRoomForSettlement(hold, now)) return TooManyBucketsOfKey();
  }
  for (const SettledHold& hold : holds) {
    if (hold.is_open) Settle(hold, now);
  }
  AdvanceDecisionTime(lock, now);
  settled.verdict = NumbersOf(holds, looks, now);
  return settled;
}

Limiter::SettledHold Limiter::FindHold(const KeyHash& key, std::string_view id) {
  HoldTable* const holds = table_.holds(key.partition);
  if (!holds) return {key, nullptr, false, {}};
  Hold* const open = holds->FindOpen(key.hash, id);
  return {key, open ? open : holds->FindMark(key.hash, id), open != nullptr, {}};
}

// Sets the true costs of all parts, and adds the buckets of the limits that are named to `looks`.
// Returns the index of a name that is not the hold's.
std::optional<std::size_t> Limiter::SetCosts(const SettleRequest& request,
                                             std::span<SettledHold> holds,
                                             absl::InlinedVector<SlotKey, 4>& looks) {
  const auto each = [](const Hold& hold, const HoldPart& part) {
    const std::int64_t granted = hold.terms().granted;
    return granted > 0 ? part.cost / static_cast<std::uint64_t>(granted) : 1;
  };
  for (std::size_t i = 0; i < holds.size(); ++i) {
    for (const HoldPart& part : holds[i].hold->parts()) {
      const std::optional<std::int64_t> cost = request.keys[i].cost;
      holds[i].costs.push_back(
          cost ? TokensOf(static_cast<std::uint64_t>(*cost), each(*holds[i].hold, part))
               : part.cost);
    }
  }
  for (std::size_t n = 0; n < request.named.size(); ++n) {
    const TrueCost& name = request.named[n];
    const auto hold = std::ranges::find(holds, name.key.hash, &SettledHold::key);
    WEIR_CHECK(hold != holds.end());
    LimitHint no_hint;
    const std::optional<LimitId> id =
        name.limit ? registry_.Find(*name.limit, no_hint) : std::nullopt;
    bool is_found = name.limit && !name.limit->has_bucket();
    for (std::size_t i = 0; i < hold->costs.size(); ++i) {
      const HoldPart& part = hold->hold->parts()[i];
      const Limit& limit = registry_.Get(part.limit);
      const bool is_named = name.limit ? id == part.limit : limit.owner().policy == name.policy;
      if (!is_named) continue;
      if (limit.is_held() && name.cost) return n;
      is_found = true;
      const SlotKey look{hold->key.hash, part.limit};
      // A limit that is named twice costs the sum.
      const bool is_first = std::ranges::find(looks, look) == looks.end();
      const std::uint64_t cost =
          name.cost ? TokensOf(static_cast<std::uint64_t>(*name.cost), each(*hold->hold, part))
                    : part.cost;
      std::uint64_t& sum = hold->costs[i];
      if (is_first) sum = 0;
      if (__builtin_add_overflow(sum, cost, &sum)) sum = std::numeric_limits<std::uint64_t>::max();
      looks.push_back(look);
    }
    if (!is_found) return n;
  }
  return std::nullopt;
}

// Returns whether the key has room for the buckets that a charge beyond the estimates would create.
bool Limiter::HasRoomForSettlement(const SettledHold& settled, Instant now) {
  Partition& partition = table_.partition(settled.key.partition);
  std::size_t added = 0;
  for (std::size_t i = 0; i < settled.costs.size(); ++i) {
    const HoldPart& part = settled.hold->parts()[i];
    if (settled.costs[i] > part.cost && !partition.Find({settled.key.hash, part.limit})) ++added;
  }
  return added == 0 || HasRoomFor(settled.key, added, now);
}

void Limiter::Settle(const SettledHold& settled, Instant now) {
  HoldTable& holds = *table_.holds(settled.key.partition);
  for (std::size_t i = 0; i < settled.costs.size(); ++i) {
    SettlePart(settled.key.partition, *settled.hold, i, settled.costs[i], now);
  }
  holds.Mark(*settled.hold, std::min(settled.hold->expiry(), now + kHoldMarkMax));
  hold_counts_.Remove(settled.hold->terms().user);
  settled_holds_.fetch_add(1, std::memory_order_relaxed);
  // There are at most as many marks as open holds.
  const bool too_many =
      hold_marks_.fetch_add(1, std::memory_order_relaxed) >= hold_counts_.holds_max();
  if (too_many) ForgetMark(holds, holds.marks().First());
  table_.ShowHolds(settled.key.partition);
}

Verdict Limiter::NumbersOf(std::span<const SettledHold> holds,
                           const absl::InlinedVector<SlotKey, 4>& named, Instant now) {
  struct Look {
    std::size_t partition;
    SlotKey slot;
  };
  std::vector<Look> looks;
  const auto partition_of = [&](const SlotKey& slot) {
    return std::size_t{std::ranges::find(holds, slot.key_hash(), [](const SettledHold& hold) {
                         return hold.key.hash;
                       })->key.partition};
  };
  for (const SlotKey& slot : named) looks.push_back({partition_of(slot), slot});
  for (const bool held : {false, true}) {
    if (!looks.empty()) break;
    for (const SettledHold& hold : holds) {
      for (const HoldPart& part : hold.hold->parts()) {
        if (registry_.Get(part.limit).is_held() != held) continue;
        looks.push_back({hold.key.partition, {hold.key.hash, part.limit}});
      }
    }
  }
  Verdict verdict;
  std::vector<bool> is_shadow;
  for (const Look& look : looks) {
    const std::optional<Limit> limit = PresentNumbers(look.slot.limit);
    if (!limit) continue;
    const Bucket* const stored = table_.partition(look.partition).Find(look.slot);
    Decision decision =
        DecideLimit(*limit, stored ? Unmarked(*stored) : Bucket{}, now, 1, max_wait_).decision;
    const Nanos retry_after = decision.retry_after;
    decision =
        DecideLimit(*limit, stored ? Unmarked(*stored) : Bucket{}, now, 0, max_wait_).decision;
    decision.retry_after = retry_after;
    verdict.decisions.push_back(decision);
    is_shadow.push_back(limit->shape().shadow);
  }
  verdict.allowed = true;
  if (verdict.decisions.empty()) return verdict;
  const bool only_shadows = std::ranges::find(is_shadow, false) == is_shadow.end();
  JoinDecisions(
      verdict.decisions.size(), only_shadows, [&](std::size_t i) { return bool{is_shadow[i]}; },
      verdict);
  return verdict;
}

}  // namespace weir
