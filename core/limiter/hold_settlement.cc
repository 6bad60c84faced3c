// The keeper's settlements of holds: estimates become true costs, by a request or, with a cost of
// 0, when they expire. All expired holds of a key are settled together, so that each bucket is read
// and written once.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/utility/utility.h"

#include "core/base/check.h"
#include "core/limiter/hold_keeper.h"
#include "core/rules/held_limit.h"
#include "core/rules/join_decisions.h"
#include "core/rules/rule.h"
#include "core/table/key_bound.h"

namespace weir {
namespace {

// The settlement of a part takes as long as this many visits.
constexpr std::size_t kVisitsPerSettled = 4;
// A request ends at most this many expired holds of other keys, and forgets as many marks. It opens
// at most one hold for a key, so expired holds do not pile up in a store.
constexpr std::size_t kDueOfOthers = 1;

// `cost` granted tokens, each of which was worth `each`.
std::uint64_t TokensOf(std::uint64_t cost, std::uint64_t each) noexcept {
  std::uint64_t tokens = 0;
  if (__builtin_mul_overflow(cost, each, &tokens)) return std::numeric_limits<std::uint64_t>::max();
  return tokens;
}

}  // namespace

// --- By a request ---

// One key's part of a settlement.
struct HoldKeeper::SettledHold {
  HoldStore* store;
  HoldTable* holds = nullptr;
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
    if (!hold.is_open || (hold.keeps_mark && !records_.counts().HaveTooManyMarks())) continue;
    records_.ForgetMark(*hold.holds, *hold.hold);
    hold.store->HoldsChanged();
  }
  return result;
}

HoldKeeper::SettledHold HoldKeeper::Find(const StoredKey& key, std::string_view id, Instant now) {
  HoldTable* const holds = key.store->holds();
  if (!holds) return {key.store};
  if (Hold* const open = holds->FindOpen(key.key, id)) return {key.store, holds, open, true};
  Hold* const mark = holds->FindMark(key.key, id);
  return {key.store, holds, mark && mark->expiry() > now ? mark : nullptr, false};
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
  HoldTable& holds = *settled.holds;
  const Introducer user = settled.hold->terms().user;
  HoldCounts& counts = records_.counts();
  const bool have_room = holds.marks().weight() < kStoreMarksMax && counts.HaveRoomForMark();
  if ((have_room && counts.HasRoomForMark(user)) || holds.marks().empty()) return true;
  Hold& first = holds.marks().First();
  if (have_room && first.terms().user != user) return false;
  if (std::ranges::find(own, &first, &SettledHold::hold) == own.end())
    records_.ForgetMark(holds, first);
  return true;
}

void HoldKeeper::Settle(const SettledHold& settled, bool is_cancel, Instant now) {
  HoldStore& store = *settled.store;
  Hold& hold = *settled.hold;
  for (std::size_t i = 0; i < settled.costs.size(); ++i) {
    if (registry_.Get(hold.parts()[i].limit).is_held()) continue;
    const std::optional<Limit>& limit = settled.limits[i];
    SettlePart(settled, i, limit ? *limit : LimitToSettle(hold, i), now);
  }
  records_.Mark(*settled.holds, hold, std::min(hold.expiry(), now + kHoldMarkMax));
  StoreHeldBuckets(store, hold, now);
  settled_.fetch_add(1, std::memory_order_relaxed);
  if (is_cancel) cancelled_.fetch_add(1, std::memory_order_relaxed);
  store.HoldsChanged();
}

// Settles one part of an open hold, whose limit is not held.
void HoldKeeper::SettlePart(const SettledHold& settled, std::size_t part, const Limit& limit,
                            Instant now) {
  ++HoldWork::visits;
  HoldStore& store = *settled.store;
  HoldTable& holds = *settled.holds;  // It stays: it has the hold.
  const Hold& hold = *settled.hold;
  const SlotKey slot{hold.key(), hold.parts()[part].limit};
  const Bucket before = store.FindBucket(slot).value_or(Bucket{});
  SettlementSums sums = holds.SumsOf(slot);
  const Bucket after = SettleLimit(limit, before, now, hold.EstimateOf(part, limit),
                                   settled.costs[part], max_wait_, sums);
  if (after != before) store.StoreBucket(slot, limit, after, now);
  // The sums of a bucket go with the last open hold that names it, and this one is about to go.
  if (holds.HasOtherOpen(hold)) holds.SetSums(slot, sums);
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

// --- At the expiry ---

// The buckets of a key while its due holds are settled, in the order of their expiries.
class HoldKeeper::Expiring {
 public:
  Expiring(const HoldKeeper& keeper, const StoredKey& key) : keeper_(keeper), key_(key) {}

  void Settle(Holds due);
  // Stores the buckets that have changed. Requires: the holds are still there.
  void StoreBuckets();
  // Stores the sums if the key has other open holds, too; otherwise the sums end with its last
  // hold. Call it before StoreBuckets, because an eviction changes the sums.
  void StoreSums(std::size_t holds);

 private:
  // A bucket of the key, as the earlier holds have left it.
  struct DueBucket {
    LimitId id{};
    std::optional<Limit> limit;  // its numbers settle; nothing: those of each hold do
    bool is_held = false;
    bool is_stored = false;
    Bucket before;
    Bucket bucket;
    SettlementSums sums;
    std::uint64_t returned = 0;  // tokens of a held limit
    Instant last;                // the time of the last settlement
  };
  void Settle(const Hold& hold);
  [[nodiscard]] DueBucket& BucketOf(std::size_t part, LimitId id);

  const HoldKeeper& keeper_;
  const StoredKey key_;
  absl::flat_hash_map<LimitId, std::unique_ptr<DueBucket>> buckets_;
  // The last bucket used for each part number: most holds of a key have the same limits.
  absl::InlinedVector<DueBucket*, 4> of_part_;
};

HoldKeeper::Expiring::DueBucket& HoldKeeper::Expiring::BucketOf(std::size_t part, LimitId id) {
  if (of_part_.size() <= part) of_part_.resize(part + 1);
  if (of_part_[part] && of_part_[part]->id == id) return *of_part_[part];
  std::unique_ptr<DueBucket>& bucket = buckets_[id];
  if (!bucket) {
    const Limit& interned = keeper_.registry_.Get(id);
    const SlotKey slot{key_.key, id};
    const std::optional<Bucket> stored = key_.store->FindBucket(slot);
    bucket = std::make_unique<DueBucket>();
    bucket->id = id;
    bucket->limit = keeper_.PresentNumbers(interned);
    bucket->is_held = interned.is_held();
    bucket->is_stored = stored.has_value();
    bucket->before = stored.value_or(Bucket{});
    bucket->bucket = bucket->before;
    bucket->sums = key_.store->holds()->SumsOf(slot);
  }
  of_part_[part] = bucket.get();
  return *bucket;
}

void HoldKeeper::Expiring::Settle(const Hold& hold) {
  const std::span<const HoldPart> parts = hold.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    DueBucket& due = BucketOf(i, parts[i].limit);
    due.last = hold.expiry();
    if (due.is_held) {
      due.returned += parts[i].held_tokens();
      continue;
    }
    const auto settle = [&](const Limit& limit) {
      due.bucket = SettleLimit(limit, due.bucket, hold.expiry(), hold.EstimateOf(i, limit), 0,
                               keeper_.max_wait_, due.sums);
    };
    due.limit ? settle(*due.limit) : settle(keeper_.LimitToSettle(hold, i));
  }
}

void HoldKeeper::Expiring::StoreSums(std::size_t holds) {
  HoldTable& table = *key_.store->holds();
  if (table.CountOpen(key_.key) == holds) return;
  for (const auto& [id, due] : buckets_) {
    if (!due->is_held) table.SetSums({key_.key, id}, due->sums);
  }
}

void HoldKeeper::Expiring::StoreBuckets() {
  HoldStore& store = *key_.store;
  for (const auto& [id, due] : buckets_) {
    if (due->is_held) {
      const HeldTokens held = store.holds()->HeldOf(key_.key, id);
      WEIR_CHECK(held.tokens >= due->returned);
      const std::uint64_t left = held.tokens - due->returned;
      due->bucket = due->is_stored && left > 0 ? AddHeld({}, left, held.end) : Bucket{};
    }
    if (due->bucket == due->before) continue;
    const Limit& interned = keeper_.registry_.Get(id);
    store.StoreBucket({key_.key, id}, due->limit ? *due->limit : interned, due->bucket, due->last);
  }
}

void HoldKeeper::Expiring::Settle(Holds due) {
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (i + kAhead < due.size()) __builtin_prefetch(due[i + kAhead]);
    HoldWork::visits += kVisitsPerSettled * due[i]->weight();
    if (!due[i]->lapses()) Settle(*due[i]);
  }
  HoldWork::found_expired += due.size();
}

void HoldKeeper::CountEnded(std::uint64_t expired, std::uint64_t lapsed) noexcept {
  expired_.fetch_add(expired, std::memory_order_relaxed);
  lapsed_slices_.fetch_add(lapsed, std::memory_order_relaxed);
}

void HoldKeeper::Expire(const StoredKey& key, Holds due) {
  Expiring expiring(*this, key);
  expiring.Settle(due);
  expiring.StoreSums(due.size());
  expiring.StoreBuckets();
  const auto lapsed = static_cast<std::uint64_t>(std::ranges::count_if(due, &Hold::lapses));
  CountEnded(due.size() - lapsed, lapsed);
  records_.ForgetOpen(*key.store->holds(), due);
}

void HoldKeeper::ExpireInCopy(const StoredKey& key, Instant now) const {
  const HoldTable* const holds = key.store->holds();
  if (!holds) return;
  const std::vector<Hold*> due = holds->ExpiredOf(key.key, now);
  if (due.empty()) return;
  Expiring expiring(*this, key);
  expiring.Settle(due);
  expiring.StoreBuckets();
}

std::optional<Instant> HoldKeeper::ExpireHolds(HoldStore& store, Instant now, std::size_t most) {
  HoldTable* const holds = store.holds();
  if (!holds) return std::nullopt;
  std::optional<Instant> last;
  std::size_t done = 0;
  while (done < most && holds->open().HasExpired(now)) {
    const std::uint64_t key = holds->open().First().key();
    const std::vector<Hold*> due = holds->ExpiredOf(key, now, most - done);
    last = std::max(last, std::optional(due.back()->expiry()));
    done += due.size();
    Expire({&store, key}, due);
  }
  std::size_t forgotten = 0;
  for (; forgotten < most && holds->marks().HasExpired(now); ++forgotten) {
    records_.ForgetMark(*holds, holds->marks().First());
  }
  if (done + forgotten > 0) store.HoldsChanged();
  return last;
}

std::optional<Instant> HoldKeeper::ExpireHolds(const StoredKey& key, Instant now) {
  std::optional<Instant> last = ExpireHolds(*key.store, now, kDueOfOthers);
  HoldTable* const holds = key.store->holds();
  if (!holds) return last;
  const std::vector<Hold*> own = holds->ExpiredOf(key.key, now);
  if (own.empty()) return last;
  last = std::max(last, std::optional(own.back()->expiry()));
  Expire(key, own);
  key.store->HoldsChanged();
  return last;
}

std::size_t HoldKeeper::CountDue(const StoredKey& key, Instant now, std::size_t most) {
  const HoldTable* const holds = key.store->holds();
  if (!holds) return 0;
  std::size_t due = 0;
  for (const Hold* const hold : holds->ExpiredOf(key.key, now, most)) due += hold->weight();
  HoldWork::visits += due;
  return due;
}

}  // namespace weir
