#include "core/limiter/hold_keeper.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/limiter/hold_sums.h"
#include "core/rules/held_limit.h"

namespace weir {
namespace {

static_assert(kHoldPartsMax == kChecksMax);

// Times in visits: for a hold that Inspect returns, and for each of its limits (a limit that is
// settled or forgotten takes at most as long).
constexpr std::size_t kVisitsPerHold = 8;
constexpr std::size_t kVisitsPerPart = 16;
// The number of expired holds that a request ends in each of its stores if there is no room for its
// own holds.
constexpr std::size_t kDueForRoom = 64;

absl::Status AnotherRequest(const HoldRequest& request) {
  return absl::AlreadyExistsError(absl::StrCat("hold ", Quote(request.id), " is another request"));
}

}  // namespace

// --- Buckets of held limits ---

// Makes the bucket, if it is stored, what HoldSums::HeldBucket returns: after a change of the key's
// open holds that have tokens of the limit.
void HoldKeeper::StoreHeldBucket(HoldStore& store, const SlotKey& slot, Instant now) const {
  const std::optional<Bucket> stored = store.FindBucket(slot);
  if (!stored) return;
  const Bucket held = HoldSums(store, max_wait_).HeldBucket(slot);
  if (held != *stored) store.StoreBucket(slot, registry_.Get(slot.limit), held, now);
}

// The same for all held limits of a hold, which may have become a mark.
void HoldKeeper::StoreHeldBuckets(HoldStore& store, const Hold& hold, Instant now) const {
  for (const HoldPart& part : hold.parts()) {
    if (part.held_tokens() > 0) StoreHeldBucket(store, SlotKey{hold.key(), part.limit}, now);
  }
}

std::size_t HoldKeeper::CountVisits(const StoredKey& key, Instant now, KeyWork work) {
  const HoldTable* const holds = key.store->holds();
  if (!holds) return 0;
  const std::size_t due = kVisitsPerPart * CountDue(key, now, kKeyHoldsMax);
  if (work == KeyWork::kLook) return due;
  const std::size_t all =
      holds->WeightOf(key.key) + holds->marks().CountOf(key.key, kStoreMarksMax);
  return due +
         kVisitsPerPart * (work == KeyWork::kForget ? all : std::min(all, kInspectedPartsMax));
}

// --- Numbers of limits ---

std::optional<Limit> HoldKeeper::PresentNumbers(const Limit& interned) const {
  if (!present_ || interned.owner() == LimitOwner{}) return interned;
  return present_(interned);
}

// Returns the limit by which a part is settled if the key itself has no numbers for it: the
// policy's own limit or, if there is none, a limit with the numbers of the estimate.
Limit HoldKeeper::LimitToSettle(const Hold& hold, std::size_t part) const {
  const Limit& interned = registry_.Get(hold.parts()[part].limit);
  if (const std::optional<Limit> present = PresentNumbers(interned)) return *present;
  return LimitOfEstimate(interned, hold.EstimateOf(part, interned));
}

void HoldKeeper::CountExpired(const HoldTable& holds, Instant now) noexcept {
  std::uint64_t expired = 0;
  std::uint64_t lapsed = 0;
  holds.open().ForEach([&](const Hold& hold) {
    if (hold.expiry() <= now) ++(hold.lapses() ? lapsed : expired);
  });
  CountEnded(expired, lapsed);
}

// --- Reserving ---

// Finds the open hold of each key, null where there is none.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status HoldKeeper::FindOpen(
    std::span<const StoredKey> keys, const HoldRequest& request, Instant now, Repeated& open) {
  bool has_mark = false;
  bool is_other = false;
  for (const StoredKey& key : keys) {
    const HoldTable* const holds = key.store->holds();
    Hold* const found = holds ? holds->FindOpen(key.key, request.id) : nullptr;
    open.push_back(found);
    is_other = is_other || (found && (found->lapses() || found->terms().request != request.words));
    const Hold* const mark = holds ? holds->FindMark(key.key, request.id) : nullptr;
    has_mark = has_mark || (mark && mark->expiry() > now);
  }
  if (has_mark) {
    return absl::FailedPreconditionError(absl::StrCat("hold ", Quote(request.id), " is settled"));
  }
  return is_other ? AnotherRequest(request) : absl::OkStatus();
}

absl::StatusOr<HoldKeeper::Repeated> HoldKeeper::FindRepeated(std::span<const StoredKey> keys,
                                                              const HoldRequest& request,
                                                              Instant now) {
  Repeated open;
  WEIR_RETURN_IF_ERROR(FindOpen(keys, request, now, open));
  const auto absent = static_cast<std::size_t>(std::ranges::count(open, nullptr));
  if (absent == open.size()) {
    open.clear();
  } else if (absent > 0) {
    return AnotherRequest(request);
  }
  return open;
}

absl::StatusOr<std::optional<std::size_t>> HoldKeeper::FindRepeatedAlternative(
    const Request& request, std::span<const StoredKey> keys,
    std::span<const std::size_t> key_of_check, const HoldRequest& hold, Instant now) const {
  Repeated open;
  WEIR_RETURN_IF_ERROR(FindOpen(keys, hold, now, open));
  std::uint64_t held = 0;  // a bit for each key
  for (std::size_t k = 0; k < keys.size(); ++k) {
    if (open[k]) held |= std::uint64_t{1} << k;
  }
  std::optional<std::size_t> found;
  if (held == 0) return found;
  for (std::size_t i = 0; i < request.size();) {
    const Request::Range checks = request.AlternativeWith(i);
    const std::size_t alternative = request.AlternativeOf(i);
    std::uint64_t asked = 0;
    for (; i < checks.end; ++i) asked |= std::uint64_t{1} << key_of_check[i];
    if (asked != held) continue;
    if (HoldsAlternative(request, checks, key_of_check, open)) return alternative;
    if (!found) found = alternative;
  }
  if (!found) return AnotherRequest(hold);
  return found;
}

// True if the holds, one for each key, have the limits of these checks with their costs (a shadow
// limit that denied has a cost of 0), and no other limit forbids that.
bool HoldKeeper::HoldsAlternative(const Request& request, Request::Range checks,
                                  std::span<const std::size_t> key_of_check,
                                  std::span<Hold* const> holds) const {
  std::size_t parts = 0;
  for (std::size_t i = checks.begin; i < checks.end; ++i) {
    const LimitShape& shape = request[i].limit->shape();
    if (shape.algorithm == Algorithm::kNone && !shape.shadow) return false;
    if (!request[i].limit->has_bucket()) continue;
    LimitHint no_hint;
    const std::optional<LimitId> id = registry_.Find(*request[i].limit, no_hint);
    std::uint64_t cost = 0;
    bool is_first = true;
    for (std::size_t j = checks.begin; j < checks.end; ++j) {
      if (!AskOneBucket(request[i], request[j])) continue;
      is_first = is_first && j >= i;
      cost += static_cast<std::uint64_t>(request[j].cost);
    }
    if (!is_first) continue;
    ++parts;
    const auto is_its = [&](const HoldPart& part) {
      return part.limit == id && (part.cost == cost || (part.cost == 0 && shape.shadow));
    };
    if (std::ranges::none_of(holds[key_of_check[i]]->parts(), is_its)) return false;
  }
  for (const Hold* const hold : holds) parts -= hold ? hold->parts().size() : 0;
  return parts == 0;
}

absl::Status HoldKeeper::CheckUnused(const StoredKey& key, const SliceRequest& request,
                                     Instant now) {
  Repeated open;
  absl::Status found = FindOpen({&key, 1}, {.id = request.id}, now, open);
  if (!open.front()) return found;
  return absl::AlreadyExistsError(absl::StrCat("hold ", Quote(request.id), " is open"));
}

void HoldKeeper::Renew(HoldStore& store, Hold& hold, Instant expiry) {
  store.holds()->Renew(hold, expiry);
  StoreHeldBuckets(store, hold, expiry);
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

absl::Status HoldKeeper::CountNew(std::span<const StoredKey> keys, std::size_t parts,
                                  Introducer user, Instant now) {
  for (const StoredKey& key : keys) {
    const HoldTable* const holds = key.store->holds();
    if (holds && holds->WeightOf(key.key) + parts > kKeyHoldsMax) return TooManyHolds();
  }
  HoldCounts& counts = records_.counts();
  if (counts.TryAdd(user, keys.size())) return absl::OkStatus();
  for (const StoredKey& key : keys) ExpireHolds(*key.store, now, kDueForRoom);
  return counts.TryAdd(user, keys.size()) ? absl::OkStatus() : TooManyHolds();
}

void HoldKeeper::Open(const StoredKey& key, const HoldRequest& request, std::int64_t granted,
                      Instant now, const Plan<kManyChecks>& plan, std::span<const Check> checks,
                      absl::FunctionRef<std::optional<LimitId>(std::size_t)> id_of, HoldEnd end) {
  HoldTable& holds = key.store->MakeHolds();
  absl::InlinedVector<HoldPart, 4> parts;
  absl::InlinedVector<HoldInterval, 4> intervals;
  bool has_owned = false;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::optional<LimitId> id = plan.AsksBucket(i) ? id_of(i) : std::nullopt;
    if (!id) continue;
    const BucketStep& bucket = plan.bucket(i);
    const Limit& limit = *checks[i].limit;
    HoldPart& part =
        parts.emplace_back(HoldPart{.cost = bucket.charges() ? bucket.cost : 0,
                                    .sums = holds.SumsOf({key.key, *id}),
                                    .left = bucket.charges() ? bucket.step.bucket : bucket.present,
                                    .limit = *id});
    if (limit.is_held()) part.SetHeld();
    intervals.push_back({limit.emission().period, limit.emission().denominator});
    has_owned = has_owned || limit.owner() != LimitOwner{};
  }
  if (!has_owned) intervals.clear();
  // A mark of the id has expired, or FindRepeated would have failed.
  if (Hold* const mark = holds.FindMark(key.key, request.id)) records_.ForgetMark(holds, *mark);
  const HoldTerms terms = {.key = key.key,
                           .request = request.words,
                           .granted = request.upto > 0 ? granted : 0,
                           .expiry = now + request.ttl,
                           .user = request.user};
  records_.Open(holds, terms, request.id, parts, intervals, end);
  if (end == HoldEnd::kLapses) granted_slices_.fetch_add(1, std::memory_order_relaxed);
  key.store->HoldsChanged();
}

// --- Looking and forgetting ---

std::vector<LiveHold> HoldKeeper::Inspect(
    const StoredKey& key, Instant now, std::size_t most,
    absl::FunctionRef<std::optional<Limit>(const Limit&)> present) const {
  std::vector<LiveHold> live;
  const HoldTable* const holds = key.store->holds();
  if (!holds) return live;
  std::size_t parts = 0;
  const auto add = [&](const Hold& hold, bool settled) {
    ++HoldWork::visits;
    if (hold.expiry() <= now) return true;
    parts += hold.parts().size();
    if (live.size() == most || parts > kInspectedPartsMax) return false;
    HoldWork::visits += kVisitsPerHold + kVisitsPerPart * hold.parts().size();
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

void HoldKeeper::ForgetIf(HoldStore& store, absl::FunctionRef<bool(const Hold&)> is_gone) {
  const HoldTable* const holds = store.holds();
  if (!holds) return;
  HoldWork::visits += holds->size();
  absl::btree_set<std::uint64_t> keys;
  for (const HoldSet* const set : {&holds->open(), &holds->marks()}) {
    set->ForEach([&](const Hold& hold) {
      if (is_gone(hold)) keys.insert(hold.key());
    });
  }
  for (const std::uint64_t key : keys) ForgetIf({&store, key}, is_gone);
}

void HoldKeeper::ForgetIf(const StoredKey& key, absl::FunctionRef<bool(const Hold&)> is_gone) {
  HoldTable* const holds = key.store->holds();
  if (!holds) return;
  std::vector<Hold*> marks;
  std::vector<Hold*> open = holds->ExpiredOf(key.key, Instant::max());
  HoldWork::visits += open.size();
  std::erase_if(open, [&](const Hold* hold) { return !is_gone(*hold); });
  holds->marks().ForEachOf(key.key, [&](Hold& mark) {
    ++HoldWork::visits;
    if (is_gone(mark)) marks.push_back(&mark);
    return true;
  });
  DropHolds(key, open);
  records_.ForgetMarks(*holds, marks);
  if (!open.empty() || !marks.empty()) key.store->HoldsChanged();
}

void HoldKeeper::DropHolds(const StoredKey& key, Holds open) {
  absl::flat_hash_map<LimitId, Instant> held;
  LimitId known{};
  for (const Hold* const hold : open) {
    for (const HoldPart& part : hold->parts()) {
      if (part.held_tokens() == 0 || (part.limit == known && !held.empty())) continue;
      known = part.limit;
      held[part.limit] = hold->expiry();
    }
  }
  records_.ForgetOpen(*key.store->holds(), open);
  for (const auto& [limit, expiry] : held) StoreHeldBucket(*key.store, {key.key, limit}, expiry);
}

}  // namespace weir
