// The keeper's settlements of holds: estimates become true costs.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/utility/utility.h"

#include "core/base/check.h"
#include "core/limiter/hold_keeper.h"
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
struct HoldKeeper::SettledHold {
  HoldStore* store;
  Hold* hold = nullptr;
  bool is_open = false;
  bool keeps_mark = true;  // of an open one
  // One per part: the true costs, and the limits with their present numbers (nothing: it is gone).
  absl::InlinedVector<std::uint64_t, 4> costs{};
  absl::InlinedVector<std::optional<Limit>, 1> limits{};
};

// A part of a hold whose numbers are answered.
struct HoldKeeper::SettledPart {
  std::size_t hold;                 // in the list of the keys' holds
  std::size_t part;                 // of that hold
  std::optional<std::size_t> name;  // in SettleRequest::named
};

absl::StatusOr<Settled> HoldKeeper::Settle(const SettleRequest& request,
                                           std::span<const StoredKey> keys, Instant now,
                                           PresentOfKey present) {
  WEIR_CHECK(keys.size() == request.keys.size());
  absl::StatusOr<Settled> result(absl::in_place);
  Settled& settled = *result;
  absl::InlinedVector<SettledHold, 2> holds;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    SettledHold found = Find(keys[i], request.id, now);
    if (!found.hold) return result;
    for (const HoldPart& part : found.hold->parts()) {
      found.limits.push_back(present(registry_.Get(part.limit), request.keys[i].key.text));
    }
    holds.push_back(std::move(found));
  }
  settled.settled = true;
  absl::InlinedVector<SettledPart, 4> looks;
  settled.foreign = SetCosts(request, holds, looks);
  if (settled.foreign) return result;
  for (const SettledHold& hold : holds) {
    if (hold.is_open && !HasRoom(hold, now)) return TooManyBucketsOfKey();
  }
  for (SettledHold& hold : holds) {
    if (!hold.is_open) continue;
    hold.keeps_mark = MakeRoomForMark(hold, holds);
    Settle(hold, request.is_cancel, now);
  }
  AddNumbers(holds, looks, now, settled);
  for (const SettledHold& hold : holds) {
    if (!hold.is_open || (hold.keeps_mark && !counts_.HaveTooManyMarks())) continue;
    ForgetMark(*hold.store->holds(), *hold.hold);
    hold.store->HoldsChanged();
  }
  return result;
}

HoldKeeper::SettledHold HoldKeeper::Find(const StoredKey& key, std::string_view id, Instant now) {
  HoldTable* const holds = key.store->holds();
  if (!holds) return {key.store};
  if (Hold* const open = holds->FindOpen(key.key, id)) return {key.store, open, true};
  Hold* const mark = holds->FindMark(key.key, id);
  return {key.store, mark && mark->expiry() > now ? mark : nullptr, false};
}

// Sets the true costs of all parts, and adds the parts that are named to `looks`.
// Returns the index of a name that is not the hold's.
std::optional<std::size_t> HoldKeeper::SetCosts(const SettleRequest& request,
                                                std::span<SettledHold> holds,
                                                absl::InlinedVector<SettledPart, 4>& looks) const {
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
    const auto key = std::ranges::find_if(
        request.keys, [&](const SettledKey& one) { return one.key.hash == name.key.hash; });
    WEIR_CHECK(key != request.keys.end());
    const auto place = static_cast<std::size_t>(key - request.keys.begin());
    SettledHold* const hold = &holds[place];
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
      const SettledPart look{place, i, n};
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
bool HoldKeeper::HasRoom(const SettledHold& settled, Instant now) {
  std::size_t added = 0;
  const std::uint64_t key = settled.hold->key();
  for (std::size_t i = 0; i < settled.costs.size(); ++i) {
    const HoldPart& part = settled.hold->parts()[i];
    if (settled.costs[i] > part.cost && !settled.store->FindBucket({key, part.limit})) ++added;
  }
  return added == 0 || settled.store->HasRoomFor(key, added, now);
}

// If there are enough marks, forgets the store's mark that expires first, unless it is one of the
// request's own, whose numbers are answered. Returns false if there is no room for the hold's mark:
// the user has enough marks, and the first mark is another user's.
bool HoldKeeper::MakeRoomForMark(const SettledHold& settled, std::span<const SettledHold> own) {
  HoldTable& holds = *settled.store->holds();
  const Introducer user = settled.hold->terms().user;
  const bool have_room = holds.marks().weight() < kStoreMarksMax && counts_.HaveRoomForMark();
  if ((have_room && counts_.HasRoomForMark(user)) || holds.marks().empty()) return true;
  Hold& first = holds.marks().First();
  if (have_room && first.terms().user != user) return false;
  if (std::ranges::find(own, &first, &SettledHold::hold) == own.end()) ForgetMark(holds, first);
  return true;
}

void HoldKeeper::Settle(const SettledHold& settled, bool is_cancel, Instant now) {
  HoldStore& store = *settled.store;
  Hold& hold = *settled.hold;
  for (std::size_t i = 0; i < settled.costs.size(); ++i) {
    if (registry_.Get(hold.parts()[i].limit).is_held()) continue;
    const std::optional<Limit>& limit = settled.limits[i];
    SettlePart(store, hold, i, limit ? *limit : LimitToSettle(hold, i), settled.costs[i], now);
  }
  store.holds()->Mark(hold, std::min(hold.expiry(), now + kHoldMarkMax));
  CountHeldAgain(store, hold, now);
  counts_.Remove(hold.terms().user);
  counts_.AddMark();
  settled_.fetch_add(1, std::memory_order_relaxed);
  if (is_cancel) cancelled_.fetch_add(1, std::memory_order_relaxed);
  store.HoldsChanged();
}

// Settles one part of an open hold, whose limit is not held.
void HoldKeeper::SettlePart(HoldStore& store, const Hold& hold, std::size_t part,
                            const Limit& limit, std::uint64_t cost, Instant now) {
  ++visits_;
  const SlotKey slot{hold.key(), hold.parts()[part].limit};
  const Bucket before = store.FindBucket(slot).value_or(Bucket{});
  SettlementSums sums = store.holds()->SumsOf(slot);
  const Bucket after =
      SettleLimit(limit, before, now, hold.EstimateOf(part, limit), cost, max_wait_, sums);
  if (after != before) store.StoreBucket(slot, limit, after, now);
  // The sums of a bucket go with the last open hold that names it, and this one is about to go.
  if (store.holds()->HasOtherOpen(hold)) store.holds()->SetSums(slot, sums);
}

// Adds the numbers of the parts in `looks` or, if there are none, of all others that Settled
// explains.
void HoldKeeper::AddNumbers(std::span<const SettledHold> holds,
                            absl::InlinedVector<SettledPart, 4>& looks, Instant now,
                            Settled& settled) const {
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
    const Bucket bucket = hold.store->FindBucket({hold.hold->key(), id}).value_or(Bucket{});
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
