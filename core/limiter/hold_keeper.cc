#include "core/limiter/hold_keeper.h"

#include <algorithm>
#include <string>
#include <utility>

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

// Times in visits: for a hold that Inspect returns, for each of its limits (a limit that is settled
// or forgotten takes at most as long), and for the removal of a hold.
constexpr std::size_t kVisitsPerHold = 8;
constexpr std::size_t kVisitsPerPart = 16;
constexpr std::size_t kVisitsPerRemoved = 8;
// The number of expired holds that a request ends in each of its stores if there is no room for its
// own holds.
constexpr std::size_t kDueForRoom = 64;

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
  holds.open().ForEach([&](const Hold& hold) {
    if (hold.expiry() <= now) expired_.fetch_add(1, std::memory_order_relaxed);
  });
}

// Deletes holds that were taken out of their table, and no longer counts them. Neighbors with the
// same limits and the same user, as most have, are counted together.
void HoldKeeper::Discard(Holds holds, bool open) {
  struct Run {
    LimitId limit{};
    std::uint32_t parts = 0;
  };
  absl::InlinedVector<Run, 4> runs;
  Introducer user = kNoIntroducer;
  std::size_t count = 0;
  std::size_t bytes = 0;
  const auto count_user = [&] {
    if (count == 0) return;
    if (open) counts_.Remove(user, count);
    counts_.RemoveBytes(user, bytes);
    count = 0;
    bytes = 0;
  };
  for (std::size_t n = 0; n < holds.size(); ++n) {
    constexpr std::size_t kAhead = 8;
    if (n + kAhead < holds.size()) __builtin_prefetch(holds[n + kAhead]);
    Hold* const hold = holds[n];
    if (hold->terms().user != user) count_user();
    user = hold->terms().user;
    ++count;
    bytes += hold->bytes();
    const std::span<const HoldPart> parts = hold->parts();
    if (runs.size() < parts.size()) runs.resize(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (runs[i].parts > 0 && runs[i].limit != parts[i].limit) {
        registry_.RemoveBucket(runs[i].limit, std::exchange(runs[i].parts, 0));
      }
      runs[i].limit = parts[i].limit;
      ++runs[i].parts;
    }
    Hold::Delete{}(hold);
  }
  count_user();
  for (const Run& run : runs) {
    if (run.parts > 0) registry_.RemoveBucket(run.limit, run.parts);
  }
}

void HoldKeeper::ForgetOpen(HoldTable& holds, Holds open) {
  if (open.empty()) return;
  HoldWork::visits += kVisitsPerRemoved * open.size();
  holds.TakeManyOpen(open.front()->key(), open);
  Discard(open, true);
}

void HoldKeeper::ForgetMarks(HoldTable& holds, Holds marks) {
  if (marks.empty()) return;
  HoldWork::visits += kVisitsPerRemoved * marks.size();
  holds.TakeManyMarks(marks.front()->key(), marks);
  counts_.RemoveMark(marks.size());
  Discard(marks, false);
}

void HoldKeeper::ForgetOpen(HoldTable& holds, Hold& hold) {
  Hold* const one = &hold;
  ForgetOpen(holds, Holds(&one, 1));
}

void HoldKeeper::ForgetMark(HoldTable& holds, Hold& mark) {
  Hold* const one = &mark;
  ForgetMarks(holds, Holds(&one, 1));
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
  if (counts_.TryAdd(user, keys.size())) return absl::OkStatus();
  for (const StoredKey& key : keys) ExpireHolds(*key.store, now, kDueForRoom);
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
    HoldPart& part =
        parts.emplace_back(HoldPart{.cost = bucket.charges() ? bucket.cost : 0,
                                    .sums = holds.SumsOf({key.key, *id}),
                                    .left = bucket.charges() ? bucket.step.bucket : bucket.present,
                                    .limit = *id});
    if (limit.is_held()) part.SetHeld();
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
  counts_.AddBytes(request.user, holds.Open(terms, request.id, parts, intervals).bytes());
  key.store->HoldsChanged();
}

// --- Looking, loading and forgetting ---

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

void HoldKeeper::Restore(HoldTable& holds, std::uint64_t key, std::string_view id, SavedHold hold) {
  const HoldTerms terms = {.key = key,
                           .request = hold.request,
                           .granted = hold.granted,
                           .expiry = hold.expiry,
                           .order = hold.order};
  for (HoldPart& part : hold.parts) {
    WEIR_CHECK(NumberOf(part.limit) < registry_.used());
    registry_.AddBucket(part.limit);
    if (registry_.Get(part.limit).is_held()) part.SetHeld();
  }
  counts_.AddBytes(terms.user, holds.Restore(terms, id, hold).bytes());
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
  holds.LogHold(key, id);
  // Those that only this hold has named may have gone with it.
  for (const auto& [bucket, kept] : sums) {
    if (holds.KeepsSums(bucket)) holds.SetSums(bucket, kept);
  }
}

namespace {

// Returns the holds of a set for which is_gone(hold) is true, in the order of their keys.
template <typename IsGone>
std::vector<Hold*> HoldsOf(const HoldSet& set, IsGone is_gone) {
  std::vector<Hold*> holds;
  set.ForEach([&](Hold& hold) {
    if (is_gone(hold)) holds.push_back(&hold);
  });
  return holds;
}

// Calls visit(std::span<Hold* const>) with the holds of each key.
template <typename Visit>
void ForEachKey(std::span<Hold* const> holds, Visit visit) {
  while (!holds.empty()) {
    const std::uint64_t key = holds.front()->key();
    const auto end = std::ranges::find_if(holds, [&](Hold* hold) { return hold->key() != key; });
    const auto count = static_cast<std::size_t>(end - holds.begin());
    visit(holds.first(count));
    holds = holds.subspan(count);
  }
}

}  // namespace

void HoldKeeper::ForgetAll(HoldTable& holds) {
  const auto all = [](const Hold&) { return true; };
  ForEachKey(HoldsOf(holds.open(), all), [&](Holds open) { ForgetOpen(holds, open); });
  ForEachKey(HoldsOf(holds.marks(), all), [&](Holds marks) { ForgetMarks(holds, marks); });
}

void HoldKeeper::ForgetIf(HoldStore& store, absl::FunctionRef<bool(const Hold&)> is_gone) {
  HoldTable* const holds = store.holds();
  if (!holds) return;
  HoldWork::visits += holds->size();
  const std::vector<Hold*> open = HoldsOf(holds->open(), is_gone);
  const std::vector<Hold*> marks = HoldsOf(holds->marks(), is_gone);
  ForEachKey(open, [&](Holds own) { DropHolds({&store, own.front()->key()}, own); });
  ForEachKey(marks, [&](Holds own) { ForgetMarks(*holds, own); });
  if (!open.empty() || !marks.empty()) store.HoldsChanged();
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
  ForgetMarks(*holds, marks);
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
  ForgetOpen(*key.store->holds(), open);
  for (const auto& [limit, expiry] : held) StoreHeldBucket(*key.store, {key.key, limit}, expiry);
}

}  // namespace weir
