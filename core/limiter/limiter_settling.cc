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
  // One per part: the true costs, and the limits with their present numbers (nothing: it is gone).
  absl::InlinedVector<std::uint64_t, 4> costs{};
  absl::InlinedVector<std::optional<Limit>, 1> limits{};
};

// A part of a hold whose numbers are answered.
struct Limiter::SettledPart {
  std::size_t hold;                 // in the list of the keys' holds
  std::size_t part;                 // of that hold
  std::optional<std::size_t> name;  // in SettleRequest::named
};

absl::StatusOr<Settled> Limiter::SettleHold(const SettleRequest& request, Instant now) {
  return SettleHold(request, now, [this](const Limit& interned, std::string_view) {
    return PresentNumbers(interned);
  });
}

absl::StatusOr<Settled> Limiter::SettleHold(const SettleRequest& request, Instant now,
                                            PresentLimitOfKey present) {
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
    for (const HoldPart& part : found.hold->parts()) {
      found.limits.push_back(present(registry_.Get(part.limit), key.key.text));
    }
    holds.push_back(std::move(found));
  }
  Settled settled;
  settled.settled = true;
  absl::InlinedVector<SettledPart, 4> looks;
  settled.foreign = SetCosts(request, holds, looks);
  if (settled.foreign) return settled;
  for (const SettledHold& hold : holds) {
    if (hold.is_open && !HasRoomForSettlement(hold, now)) return TooManyBucketsOfKey();
  }
  for (const SettledHold& hold : holds) {
    if (!hold.is_open) continue;
    MakeRoomForMark(hold.key.partition, holds);
    Settle(hold, request.is_cancel, now);
  }
  AdvanceDecisionTime(lock, now);
  AddNumbers(holds, looks, now, settled);
  return settled;
}

Limiter::SettledHold Limiter::FindHold(const KeyHash& key, std::string_view id) {
  HoldTable* const holds = table_.holds(key.partition);
  if (!holds) return {key};
  Hold* const open = holds->FindOpen(key.hash, id);
  return {key, open ? open : holds->FindMark(key.hash, id), open != nullptr};
}

// Sets the true costs of all parts, and adds the parts that are named to `looks`.
// Returns the index of a name that is not the hold's.
std::optional<std::size_t> Limiter::SetCosts(const SettleRequest& request,
                                             std::span<SettledHold> holds,
                                             absl::InlinedVector<SettledPart, 4>& looks) {
  const auto each = [](const Hold& hold, const HoldPart& part) {
    const std::int64_t granted = hold.terms().granted;
    return granted > 0 ? part.cost / static_cast<std::uint64_t>(granted) : 1;
  };
  for (std::size_t i = 0; i < holds.size(); ++i) {
    for (const HoldPart& part : holds[i].hold->parts()) {
      const std::optional<std::int64_t> cost = request.keys[i].cost;
      holds[i].costs.push_back(
          cost && !registry_.Get(part.limit).is_held()
              ? TokensOf(static_cast<std::uint64_t>(*cost), each(*holds[i].hold, part))
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
      if (limit.is_held() && name.limit && name.cost) return n;
      is_found = true;
      const SettledPart look{static_cast<std::size_t>(hold - holds.begin()), i, n};
      // A limit that is named twice costs the sum.
      const bool is_first = std::ranges::none_of(looks, [&](const SettledPart& other) {
        return other.hold == look.hold && other.part == look.part;
      });
      const std::uint64_t cost =
          name.cost && !limit.is_held()
              ? TokensOf(static_cast<std::uint64_t>(*name.cost), each(*hold->hold, part))
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

// Forgets the mark of the partition that expires first if there are enough marks, but none of the
// request's own, whose numbers are answered.
void Limiter::MakeRoomForMark(std::size_t partition, std::span<const SettledHold> own) {
  HoldTable& holds = *table_.holds(partition);
  if (hold_counts_.HaveRoomForMarks(hold_marks_.load(std::memory_order_relaxed))) return;
  if (holds.marks().empty()) return;
  Hold& first = holds.marks().First();
  if (std::ranges::find(own, &first, &SettledHold::hold) == own.end()) ForgetMark(holds, first);
}

void Limiter::Settle(const SettledHold& settled, bool is_cancel, Instant now) {
  HoldTable& holds = *table_.holds(settled.key.partition);
  for (std::size_t i = 0; i < settled.costs.size(); ++i) {
    SettlePart(settled.key.partition, *settled.hold, i, settled.limits[i], settled.costs[i], now);
  }
  holds.Mark(*settled.hold, std::min(settled.hold->expiry(), now + kHoldMarkMax));
  hold_counts_.Remove(settled.hold->terms().user);
  settled_holds_.fetch_add(1, std::memory_order_relaxed);
  if (is_cancel) cancelled_holds_.fetch_add(1, std::memory_order_relaxed);
  hold_marks_.fetch_add(1, std::memory_order_relaxed);
  ShowHolds(settled.key.partition);
}

// Adds the numbers of the parts in `looks` or, if there are none, of all others that Settled
// explains.
void Limiter::AddNumbers(std::span<const SettledHold> holds,
                         absl::InlinedVector<SettledPart, 4>& looks, Instant now,
                         Settled& settled) {
  for (const bool held : {false, true}) {
    if (!looks.empty()) break;
    for (std::size_t i = 0; i < holds.size(); ++i) {
      const std::span<const HoldPart> parts = holds[i].hold->parts();
      for (std::size_t part = 0; part < parts.size(); ++part) {
        if (registry_.Get(parts[part].limit).is_held() == held) looks.push_back({i, part, {}});
      }
    }
  }
  Verdict& verdict = settled.verdict;
  for (const SettledPart& look : looks) {
    const SettledHold& hold = holds[look.hold];
    const LimitId id = hold.hold->parts()[look.part].limit;
    const std::optional<Limit>& limit = hold.limits[look.part];
    if (!limit) continue;
    const Bucket* const stored = table_.partition(hold.key.partition).Find({hold.key.hash, id});
    const Bucket bucket = stored ? Unmarked(*stored) : Bucket{};
    Decision decision = DecideLimit(*limit, bucket, now, 0, max_wait_).decision;
    decision.retry_after = DecideLimit(*limit, bucket, now, 1, max_wait_).decision.retry_after;
    verdict.decisions.push_back(decision);
    settled.rows.push_back({*limit, hold.costs[look.part], look.hold, look.name});
  }
  verdict.allowed = true;
  if (verdict.decisions.empty()) return;
  const auto is_shadow = [&](std::size_t i) { return settled.rows[i].limit.shape().shadow; };
  std::size_t shadows = 0;
  for (std::size_t i = 0; i < settled.rows.size(); ++i) shadows += is_shadow(i) ? 1 : 0;
  JoinDecisions(verdict.decisions.size(), shadows == verdict.decisions.size(), is_shadow, verdict);
}

}  // namespace weir
