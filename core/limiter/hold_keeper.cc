#include "core/limiter/hold_keeper.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/rules/held_limit.h"
#include "core/rules/rule.h"

namespace weir {
namespace {

static_assert(kHoldPartsMax == kChecksMax);

// A hold that Inspect returns takes as long as this many visits.
constexpr std::size_t kVisitsPerHold = 8;
// The expired holds of other keys that a request ends, and as many marks. As it opens one hold for
// a key at most, a store has no more of them for long.
constexpr std::size_t kDueOfOthers = 1;
// Those that a request ends in each of its stores if there are too many holds for its own.
constexpr std::size_t kDueForRoom = 64;

}  // namespace

// --- Buckets beside open holds ---

void HoldKeeper::CountInSums(HoldStore& store, const SlotKey& bucket,
                             absl::FunctionRef<void(SettlementSums&)> count) {
  HoldTable* const holds = store.holds();
  if (!holds || !holds->HasOpen(bucket.key_hash())) return;
  SettlementSums sums = holds->SumsOf(bucket);
  count(sums);
  holds->SetSums(bucket, sums);
  store.HoldsChanged();
}

void HoldKeeper::Forbid(HoldStore& store, const SlotKey& bucket, const Limit& limit) const {
  CountInSums(store, bucket,
              [&](SettlementSums& sums) { ForbidGivingBack(limit, max_wait_, sums); });
}

void HoldKeeper::CountCharged(HoldStore& store, const SlotKey& bucket, const Limit& limit,
                              const BucketStep& step, Instant now) const {
  CountInSums(store, bucket, [&](SettlementSums& sums) {
    CountCharge(limit, step.present, step.step.bucket, now, step.cost, max_wait_, sums);
    if (HasLostTime(limit, step.present, step.step.bucket)) {
      ForbidGivingBack(limit, max_wait_, sums);
    }
  });
}

void HoldKeeper::CountRefunded(HoldStore& store, const SlotKey& bucket, const Limit& limit,
                               Bucket before, Bucket after, Instant now) const {
  CountInSums(store, bucket, [&](SettlementSums& sums) {
    CountRefund(limit, before, after, now, max_wait_, sums);
  });
}

Bucket HoldKeeper::CountHeld(HoldStore& store, const SlotKey& bucket) {
  Bucket held;
  const HoldTable* const holds = store.holds();
  if (!holds) return held;
  holds->open().ForEachOf(bucket.key_hash(), [&](const Hold& hold) {
    ++visits_;
    for (const HoldPart& part : hold.parts()) {
      if (part.limit != bucket.limit || part.cost == 0) continue;
      held = AddHeld(held, part.cost, hold.expiry());
    }
    return true;
  });
  return held;
}

// --- Expiry ---

std::optional<Instant> HoldKeeper::SettleDue(HoldStore& store, Instant now, std::size_t most) {
  HoldTable* const holds = store.holds();
  if (!holds) return std::nullopt;
  std::optional<Instant> last;
  std::size_t done = 0;
  for (; done < most && holds->open().HasExpired(now); ++done) {
    Hold& hold = holds->open().First();
    last = hold.expiry();
    SettleExpired(store, hold);
  }
  std::size_t forgotten = 0;
  for (; forgotten < most && holds->marks().HasExpired(now); ++forgotten) {
    ForgetMark(*holds, holds->marks().First());
  }
  if (done + forgotten > 0) store.HoldsChanged();
  return last;
}

std::optional<Instant> HoldKeeper::SettleDue(const StoredKey& key, Instant now) {
  std::optional<Instant> last = SettleDue(*key.store, now, kDueOfOthers);
  HoldTable* const holds = key.store->holds();
  if (!holds) return last;
  const std::vector<Hold*> own = holds->open().ExpiredOf(key.key, now, visits_);
  if (own.empty()) return last;
  last = own.back()->expiry();
  for (Hold* const hold : own) SettleExpired(*key.store, *hold);
  key.store->HoldsChanged();
  return last;
}

void HoldKeeper::SettleExpired(HoldStore& store, Hold& hold) {
  const Instant expiry = hold.expiry();
  for (std::size_t i = 0; i < hold.parts().size(); ++i) {
    SettlePart(store, hold, i, PresentNumbers(registry_.Get(hold.parts()[i].limit)), 0, expiry);
  }
  ForgetOpen(*store.holds(), hold);
  if (!store.is_copy()) expired_.fetch_add(1, std::memory_order_relaxed);
  ++found_expired_;
}

std::optional<Limit> HoldKeeper::PresentNumbers(const Limit& interned) const {
  if (!present_ || interned.owner() == LimitOwner{}) return interned;
  return present_(interned);
}

// Settles one part of an open hold. `present`: the limit with its present numbers; nothing if it is
// gone, and then only a held limit gets its tokens back.
void HoldKeeper::SettlePart(HoldStore& store, const Hold& hold, std::size_t part,
                            const std::optional<Limit>& present, std::uint64_t cost, Instant now) {
  ++visits_;
  const LimitId id = hold.parts()[part].limit;
  const Limit& interned = registry_.Get(id);
  if (!present && !interned.is_held()) return;
  const Limit& limit = present ? *present : interned;
  const SlotKey slot{hold.key(), id};
  const Bucket before = store.FindBucket(slot).value_or(Bucket{});
  SettlementSums sums = store.holds()->SumsOf(slot);
  const Bucket after =
      SettleLimit(limit, before, now, hold.EstimateOf(part, limit), cost, max_wait_, sums);
  if (after != before) store.StoreBucket(slot, limit, after, now);
  // The sums of a key go with its last open hold, and this one is about to go.
  if (store.holds()->HasOtherOpen(hold)) store.holds()->SetSums(slot, sums);
}

void HoldKeeper::CountExpired(const HoldTable& holds, Instant now) noexcept {
  holds.open().ForEach([&](const Hold& hold) {
    if (hold.expiry() <= now) expired_.fetch_add(1, std::memory_order_relaxed);
  });
}

void HoldKeeper::ForgetOpen(HoldTable& holds, Hold& hold) {
  for (const HoldPart& part : hold.parts()) registry_.RemoveBucket(part.limit);
  counts_.Remove(hold.terms().user);
  counts_.RemoveBytes(hold.bytes());
  holds.RemoveOpen(hold);
}

void HoldKeeper::ForgetMark(HoldTable& holds, Hold& mark) {
  for (const HoldPart& part : mark.parts()) registry_.RemoveBucket(part.limit);
  counts_.RemoveBytes(mark.bytes());
  counts_.RemoveMark();
  holds.RemoveMark(mark);
}

// --- Reserving ---

absl::StatusOr<HoldKeeper::Repeated> HoldKeeper::FindRepeated(std::span<const StoredKey> keys,
                                                              const HoldRequest& request,
                                                              Instant now) {
  Repeated open;
  bool has_mark = false;
  bool is_other = false;
  for (const StoredKey& key : keys) {
    const HoldTable* const holds = key.store->holds();
    Hold* const found = holds ? holds->FindOpen(key.key, request.id) : nullptr;
    if (found) open.push_back(found);
    is_other = is_other || (found && found->terms().request != request.words);
    const Hold* const mark = holds ? holds->FindMark(key.key, request.id) : nullptr;
    has_mark = has_mark || (mark && mark->expiry() > now);
  }
  if (has_mark) {
    return absl::FailedPreconditionError(absl::StrCat("hold ", Quote(request.id), " is settled"));
  }
  if (is_other || (!open.empty() && open.size() < keys.size())) {
    return absl::AlreadyExistsError(
        absl::StrCat("hold ", Quote(request.id), " is another request"));
  }
  return open;
}

void HoldKeeper::Renew(HoldStore& store, Hold& hold, Instant expiry) {
  store.holds()->Renew(hold, expiry);
  for (const HoldPart& part : hold.parts()) {
    const Limit& limit = registry_.Get(part.limit);
    if (!limit.is_held() || part.cost == 0) continue;
    const SlotKey slot{hold.key(), part.limit};
    const std::optional<Bucket> stored = store.FindBucket(slot);
    if (stored) store.StoreBucket(slot, limit, ExtendHeld(*stored, expiry), expiry);
  }
  store.HoldsChanged();
}

Verdict HoldKeeper::RenewedVerdict(Plan<kManyChecks>& plan, Instant now,
                                   absl::FunctionRef<std::optional<Bucket>(std::size_t)> stored) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    BucketStep& bucket = plan.bucket(i);
    bucket.cost = 0;
    if (const std::optional<Bucket> found = stored(i)) bucket.present = *found;
  }
  return plan.Refund(now);
}

std::int64_t HoldKeeper::Decide(Plan<kManyChecks>& plan, std::span<const Check> checks,
                                const HoldRequest& request, Instant now) {
  std::int64_t granted = 0;
  if (request.upto > 0) {
    granted = plan.DecideUpTo(request.upto, now);
  } else {
    plan.Decide(now, Purpose::kTake);
    granted = plan.allowed() ? 1 : 0;
  }
  if (granted == 0) return 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    BucketStep& bucket = plan.bucket(i);
    if (!plan.AsksBucket(i) || !checks[i].limit->is_held() || !bucket.charges()) continue;
    bucket.step.bucket = ExtendHeld(bucket.step.bucket, now + request.ttl);
    bucket.step.decision = DecideHeld(*checks[i].limit, bucket.step.bucket, now, 0).decision;
  }
  return granted;
}

absl::Status HoldKeeper::CountNew(std::span<const StoredKey> keys, Introducer user, Instant now) {
  for (const StoredKey& key : keys) {
    const HoldTable* const holds = key.store->holds();
    // A key has no more holds than its store.
    if (!holds || holds->open().size() < kKeyHoldsMax) continue;
    visits_ += holds->open().size();
    if (holds->CountOpen(key.key) >= kKeyHoldsMax) return TooManyHolds();
  }
  if (counts_.TryAdd(user, keys.size())) return absl::OkStatus();
  for (const StoredKey& key : keys) SettleDue(*key.store, now, kDueForRoom);
  return counts_.TryAdd(user, keys.size()) ? absl::OkStatus() : TooManyHolds();
}

void HoldKeeper::Open(const StoredKey& key, const HoldRequest& request, std::int64_t granted,
                      Instant now, const Plan<kManyChecks>& plan, std::span<const Check> checks,
                      absl::FunctionRef<std::optional<LimitId>(std::size_t)> id_of) {
  HoldTable& holds = key.store->MakeHolds();
  absl::InlinedVector<HoldPart, 4> parts;
  absl::InlinedVector<HoldInterval, 4> intervals;
  bool has_owned = false;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::optional<LimitId> id = plan.AsksBucket(i) ? id_of(i) : std::nullopt;
    if (!id) continue;
    const BucketStep& bucket = plan.bucket(i);
    const Limit& limit = *checks[i].limit;
    parts.push_back({.cost = bucket.charges() ? bucket.cost : 0,
                     .sums = holds.SumsOf({key.key, *id}),
                     .left = bucket.charges() ? bucket.step.bucket : bucket.present,
                     .limit = *id});
    intervals.push_back({limit.emission().period, limit.emission().denominator});
    has_owned = has_owned || limit.owner() != LimitOwner{};
    registry_.AddBucket(*id);
  }
  if (!has_owned) intervals.clear();
  // A mark of the id has expired, or FindRepeated would have failed.
  if (Hold* const mark = holds.FindMark(key.key, request.id)) ForgetMark(holds, *mark);
  const HoldTerms terms = {.key = key.key,
                           .request = request.words,
                           .granted = request.upto > 0 ? granted : 0,
                           .expiry = now + request.ttl,
                           .user = request.user};
  counts_.AddBytes(holds.Open(terms, request.id, parts, intervals).bytes());
  key.store->HoldsChanged();
}

// --- Looking, loading and forgetting ---

std::vector<LiveHold> HoldKeeper::Inspect(
    const StoredKey& key, Instant now, std::size_t most,
    absl::FunctionRef<std::optional<Limit>(const Limit&)> present) const {
  std::vector<LiveHold> live;
  const HoldTable* const holds = key.store->holds();
  if (!holds) return live;
  const auto add = [&](const Hold& hold, bool settled) {
    if (live.size() == most) return false;
    if (hold.expiry() <= now) return true;
    visits_ += kVisitsPerHold;
    LiveHold shown{std::string(hold.id()), hold.expiry() - now, settled, {}};
    for (const HoldPart& part : hold.parts()) {
      const std::optional<Limit> limit = present(registry_.Get(part.limit));
      if (limit) shown.parts.push_back({*limit, part.cost});
    }
    live.push_back(std::move(shown));
    return true;
  };
  holds->open().ForEachOf(key.key, [&](const Hold& hold) { return add(hold, false); });
  holds->marks().ForEachOf(key.key, [&](const Hold& hold) { return add(hold, true); });
  return live;
}

void HoldKeeper::Restore(HoldTable& holds, std::uint64_t key, std::string_view id,
                         const SavedHold& hold) {
  const HoldTerms terms = {.key = key,
                           .request = hold.request,
                           .granted = hold.granted,
                           .expiry = hold.expiry,
                           .order = hold.order};
  counts_.AddBytes(holds.Restore(terms, id, hold).bytes());
  for (const HoldPart& part : hold.parts) {
    WEIR_CHECK(NumberOf(part.limit) < registry_.used());
    registry_.AddBucket(part.limit);
  }
  if (hold.settled) {
    counts_.AddMark();
  } else {
    counts_.AddRestored();
  }
}

void HoldKeeper::Apply(HoldTable& holds, std::uint64_t key, std::string_view id,
                       const std::optional<SavedHold>& record) {
  const std::vector<HoldTable::SumsOfBucket> sums = holds.SumsOfKey(key);
  if (Hold* const open = holds.FindOpen(key, id)) ForgetOpen(holds, *open);
  if (Hold* const mark = holds.FindMark(key, id)) ForgetMark(holds, *mark);
  if (!record) return;
  Restore(holds, key, id, *record);
  holds.NoteHold(key, id);
  // Those of the key's only hold have gone with it.
  if (!holds.HasOpen(key)) return;
  for (const auto& [bucket, kept] : sums) holds.SetSums(bucket, kept);
}

void HoldKeeper::ForgetAll(HoldTable& holds) {
  while (!holds.open().empty()) ForgetOpen(holds, holds.open().First());
  while (!holds.marks().empty()) ForgetMark(holds, holds.marks().First());
}

void HoldKeeper::ForgetIf(HoldStore& store, absl::FunctionRef<bool(const Hold&)> is_gone) {
  HoldTable* const holds = store.holds();
  if (!holds) return;
  std::vector<Hold*> open;
  std::vector<Hold*> marks;
  const auto collect = [&](std::vector<Hold*>& gone) {
    return [&](Hold& hold) {
      ++visits_;
      if (is_gone(hold)) gone.push_back(&hold);
    };
  };
  holds->open().ForEach(collect(open));
  holds->marks().ForEach(collect(marks));
  for (Hold* const hold : open) DropHold(store, *hold);
  for (Hold* const mark : marks) ForgetMark(*holds, *mark);
  if (!open.empty() || !marks.empty()) store.HoldsChanged();
}

void HoldKeeper::DropHold(HoldStore& store, Hold& hold) {
  for (const HoldPart& part : hold.parts()) {
    const Limit& limit = registry_.Get(part.limit);
    if (!limit.is_held()) continue;
    const SlotKey slot{hold.key(), part.limit};
    const std::optional<Bucket> stored = store.FindBucket(slot);
    if (stored) store.StoreBucket(slot, limit, ReturnHeld(*stored, part.cost), hold.expiry());
  }
  ForgetOpen(*store.holds(), hold);
}

}  // namespace weir
