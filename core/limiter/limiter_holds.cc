// The limiter's holds: it opens, renews and settles them, and knows when they expire.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/limiter/limiter.h"
#include "core/limiter/locked_request.h"
#include "core/rules/fixed_window.h"
#include "core/rules/held_limit.h"
#include "core/rules/rule.h"

namespace weir {
namespace {

// A hold that Inspect returns takes as long as this many visits.
constexpr std::size_t kSlotsPerHold = 8;

using Keys = absl::InlinedVector<KeyHash, 2>;

// The keys of a request, each once.
Keys KeysOf(std::span<const Check> checks) {
  Keys keys;
  for (const Check& check : checks) {
    if (std::ranges::find(keys, check.hash) == keys.end()) keys.push_back(check.hash);
  }
  return keys;
}

}  // namespace

// --- Buckets beside open holds ---

// Changes the sums of a bucket, if its key has open holds. Requires: the partition is locked.
void Limiter::CountInSums(const KeyHash& key, std::optional<LimitId> id,
                          absl::FunctionRef<void(SettlementSums&)> count) {
  HoldTable* const holds = table_.holds(key.partition);
  if (!id || !holds || !holds->HasOpen(key.hash)) return;
  const SlotKey slot{key.hash, *id};
  SettlementSums sums = holds->SumsOf(slot);
  count(sums);
  holds->SetSums(slot, sums);
  NoteHolds(key.partition);
}

// The bucket is lost: no open hold may give anything back to another one in its place.
void Limiter::CountLoss(const KeyHash& key, LimitId id) {
  CountInSums(key, id, [&](SettlementSums& sums) {
    weir::ForbidGivingBack(registry_.Get(id), max_wait_, sums);
  });
}

// Returns the bucket of a held limit that is not stored (evicted, or lost in a crash): the sum of
// the key's open holds. Bucket{} for other limits. Requires: the partition is locked.
Bucket Limiter::CountHeld(const Check& check, std::optional<LimitId> id) {
  const HoldTable* const holds = table_.holds(check.hash.partition);
  if (!check.limit->is_held() || !id || !holds) return {};
  Bucket held;
  holds->open().ForEachOf(check.hash.hash, [&](const Hold& hold) {
    ++slots_visited_;
    for (const HoldPart& part : hold.parts()) {
      if (part.limit != *id || part.cost == 0) continue;
      held = AddHeld(held, part.cost, hold.expiry());
    }
    return true;
  });
  return held;
}

// Tells the next save that holds of the partition may have changed. Requires: the partition is
// locked.
void Limiter::NoteHolds(std::size_t partition) {
  const HoldTable* const holds = table_.holds(partition);
  if (!holds || (holds->changes().size() == 0 && !holds->changes().overflowed())) return;
  if (holds->changes().overflowed()) {
    table_.partition(partition).NoteEverything();
    table_.ShowSize(partition);
  }
  NoteChanged(partition);
}

// To be called after holds were opened or removed. Requires: the partition is locked.
void Limiter::ShowHolds(std::size_t partition) {
  NoteHolds(partition);
  table_.ShowHolds(partition);
}

// --- Expiry ---

void Limiter::SettleDue(std::span<const Check> checks, Instant now) {
  for (const Check& check : checks) SettleDue(check.hash.partition, now);
}

// Cancels the holds that have expired, each as of its expiry, and forgets old marks. Requires: the
// partition is locked.
void Limiter::SettleDue(std::size_t partition, Instant now) {
  HoldTable* const holds = table_.holds(partition);
  if (!holds) return;
  while (!holds->open().empty() && holds->open().First().expiry() <= now) {
    Hold& hold = holds->open().First();
    const Instant due = hold.expiry();
    for (std::size_t i = 0; i < hold.parts().size(); ++i) {
      SettlePart(partition, hold, i, PresentNumbers(registry_.Get(hold.parts()[i].limit)), 0, due);
    }
    // A thread that decides late must not decide as of before.
    if (time_is_ordered_) table_.partition(partition).AdvanceDecisionTime(due);
    ForgetOpen(*holds, hold);
    expired_holds_.fetch_add(1, std::memory_order_relaxed);
    ++found_expired_;
  }
  while (!holds->marks().empty() && holds->marks().First().expiry() <= now) {
    ForgetMark(*holds, holds->marks().First());
  }
  ShowHolds(partition);
}

// The present numbers of an interned limit; nothing if it is gone.
std::optional<Limit> Limiter::PresentNumbers(const Limit& interned) const {
  if (!present_ || interned.owner() == LimitOwner{}) return interned;
  return present_(interned);
}

// Settles one part of an open hold. `present`: the limit with its present numbers; nothing if it is
// gone, and then only a held limit gets its tokens back.
// Requires: the partition is locked.
void Limiter::SettlePart(std::size_t partition, const Hold& hold, std::size_t part,
                         const std::optional<Limit>& present, std::uint64_t cost, Instant now) {
  ++slots_visited_;
  const LimitId id = hold.parts()[part].limit;
  const Limit& interned = registry_.Get(id);
  if (!present && !interned.is_held()) return;
  const Limit& limit = present ? *present : interned;
  HoldTable& holds = *table_.holds(partition);
  const KeyHash key{hold.key(), static_cast<std::uint16_t>(partition)};
  const SlotKey slot{key.hash, id};
  Bucket* const stored = table_.partition(partition).Find(slot);
  const Bucket before = stored ? Unmarked(*stored) : Bucket{};
  SettlementSums sums = holds.SumsOf(slot);
  const Bucket after =
      SettleLimit(limit, before, now, hold.EstimateOf(part, limit), cost, max_wait_, sums);
  if (after != before) {
    if (stored) {
      Replace(key, id, limit, *stored, after);
    } else {
      InsertSettled(key, id, limit, after, now);
    }
  }
  holds.SetSums(slot, sums);
}

// Removes an open hold, which is settled or whose buckets are gone.
void Limiter::ForgetOpen(HoldTable& holds, Hold& hold) {
  for (const HoldPart& part : hold.parts()) registry_.RemoveBucket(part.limit);
  hold_counts_.Remove(hold.terms().user);
  hold_counts_.RemoveBytes(hold.bytes());
  holds.RemoveOpen(hold);
}

void Limiter::ForgetMark(HoldTable& holds, Hold& mark) {
  for (const HoldPart& part : mark.parts()) registry_.RemoveBucket(part.limit);
  hold_counts_.RemoveBytes(mark.bytes());
  holds.RemoveMark(mark);
  hold_marks_.fetch_sub(1, std::memory_order_relaxed);
}

// --- Reserving ---

absl::StatusOr<Grant> Limiter::DecideAndHold(const Request& request, const HoldRequest& hold,
                                             Instant now, Introducer introducer) {
  WEIR_CHECK(hold.ttl > Nanos{0});
  WEIR_CHECK(hold.ttl <= kHoldMax);
  Grant grant;
  const auto attempt = [&] {
    LockedRequest<kManyChecks> locked(*this, request, now);
    return HoldLocked(locked, hold, introducer, grant);
  };
  const absl::Status status = TryWithRoom(attempt(), attempt);
  if (!status.ok()) return status;
  return grant;
}

absl::Status Limiter::HoldLocked(LockedRequest<kManyChecks>& locked, const HoldRequest& request,
                                 Introducer introducer, Grant& grant) {
  const Keys keys = KeysOf(locked.checks);
  absl::InlinedVector<Hold*, 2> open;
  bool has_mark = false;
  bool is_other = false;
  for (const KeyHash& key : keys) {
    HoldTable* const holds = table_.holds(key.partition);
    Hold* const found = holds ? holds->FindOpen(key.hash, request.id) : nullptr;
    if (found) open.push_back(found);
    is_other = is_other || (found && found->terms().request != request.words);
    const Hold* const mark = holds ? holds->FindMark(key.hash, request.id) : nullptr;
    has_mark = has_mark || (mark && mark->expiry() > locked.now);
  }
  if (has_mark) {
    return absl::FailedPreconditionError(absl::StrCat("hold ", Quote(request.id), " is settled"));
  }
  if (is_other || (!open.empty() && open.size() < keys.size())) {
    return absl::AlreadyExistsError(
        absl::StrCat("hold ", Quote(request.id), " is another request"));
  }
  const Instant expiry = locked.now + request.ttl;
  if (open.empty()) return OpenHolds(locked, request, keys, introducer, grant);
  for (std::size_t i = 0; i < keys.size(); ++i) RenewHold(keys[i].partition, *open[i], expiry);
  AdvanceDecisionTime(locked.lock, locked.now);
  grant.granted = std::max<std::int64_t>(open.front()->terms().granted, 1);
  grant.renewed = true;
  // The numbers of now, as a refund of nothing has them.
  for (std::size_t i = 0; i < locked.plan.size(); ++i) {
    BucketStep& bucket = locked.plan.bucket(i);
    bucket.cost = 0;
    if (locked.found[i].slot) bucket.present = Unmarked(*locked.found[i].slot);
  }
  grant.verdict = locked.plan.Refund(locked.now);
  return absl::OkStatus();
}

// Begins the TTL of a hold again.
void Limiter::RenewHold(std::size_t partition, Hold& hold, Instant expiry) {
  table_.holds(partition)->Renew(hold, expiry);
  NoteHolds(partition);
  const KeyHash key{hold.key(), static_cast<std::uint16_t>(partition)};
  for (const HoldPart& part : hold.parts()) {
    const Limit& limit = registry_.Get(part.limit);
    if (!limit.is_held() || part.cost == 0) continue;
    Bucket* const stored = table_.partition(partition).Find({key.hash, part.limit});
    if (stored) Replace(key, part.limit, limit, *stored, ExtendHeld(Unmarked(*stored), expiry));
  }
}

// Decides the request and holds it if it is admitted.
absl::Status Limiter::OpenHolds(LockedRequest<kManyChecks>& locked, const HoldRequest& request,
                                std::span<const KeyHash> keys, Introducer introducer,
                                Grant& grant) {
  auto& plan = locked.plan;
  if (request.upto > 0) {
    grant.granted = plan.DecideUpTo(request.upto, locked.now);
  } else {
    plan.Decide(locked.now, Purpose::kTake);
    grant.granted = plan.allowed() ? 1 : 0;
  }
  if (grant.granted == 0) return ConcludeMany(locked, introducer, grant.verdict);
  const Instant expiry = locked.now + request.ttl;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    BucketStep& bucket = plan.bucket(i);
    if (!plan.AsksBucket(i) || !locked.checks[i].limit->is_held() || !bucket.charges()) continue;
    bucket.step.bucket = ExtendHeld(bucket.step.bucket, expiry);
    bucket.step.decision =
        DecideHeld(*locked.checks[i].limit, bucket.step.bucket, locked.now, 0).decision;
  }
  WEIR_RETURN_IF_ERROR(InternAll(locked, introducer));
  WEIR_RETURN_IF_ERROR(CountNewHolds(keys, request.user));
  absl::Status concluded = ConcludeMany(locked, introducer, grant.verdict);
  if (!concluded.ok()) {
    hold_counts_.Remove(request.user, keys.size());
    return concluded;
  }
  for (const KeyHash& key : keys) {
    OpenHold(locked, key,
             {.key = key.hash,
              .request = request.words,
              .granted = request.upto > 0 ? grant.granted : 0,
              .expiry = expiry,
              .user = request.user},
             request.id);
  }
  return absl::OkStatus();
}

// Gives ids to all limits of the request: a hold needs that of a limit that was not charged, too.
absl::Status Limiter::InternAll(LockedRequest<kManyChecks>& locked, Introducer introducer) {
  for (std::size_t i = 0; i < locked.plan.size(); ++i) {
    if (!locked.plan.AsksBucket(i) || locked.found[i].id) continue;
    LimitHint no_hint;
    const absl::StatusOr<LimitId> id =
        registry_.Intern(*locked.checks[i].limit, no_hint, introducer);
    if (!id.ok()) return id.status();
    locked.found[i].id = *id;
  }
  return absl::OkStatus();
}

// Counts one more open hold for each key, or fails.
absl::Status Limiter::CountNewHolds(std::span<const KeyHash> keys, Introducer user) {
  for (const KeyHash& key : keys) {
    const HoldTable* const holds = table_.holds(key.partition);
    // A key has no more holds than its partition.
    if (!holds || holds->open().size() < kKeyHoldsMax) continue;
    slots_visited_ += holds->open().size();
    if (holds->CountOpen(key.hash) >= kKeyHoldsMax) return TooManyHolds();
  }
  return hold_counts_.TryAdd(user, keys.size()) ? absl::OkStatus() : TooManyHolds();
}

// Opens the hold of one key of an admitted request, whose buckets are stored.
void Limiter::OpenHold(const LockedRequest<kManyChecks>& locked, const KeyHash& key,
                       const HoldTerms& terms, std::string_view id) {
  HoldTable& holds = table_.MakeHolds(key.partition, notes_changes_);
  absl::InlinedVector<HoldPart, 4> parts;
  absl::InlinedVector<HoldInterval, 4> intervals;
  bool has_owned = false;
  for (std::size_t i = 0; i < locked.plan.size(); ++i) {
    if (!locked.plan.AsksBucket(i) || locked.checks[i].hash != key) continue;
    const BucketStep& bucket = locked.plan.bucket(i);
    const Limit& limit = *locked.checks[i].limit;
    const LimitId limit_id = *locked.found[i].id;
    parts.push_back({.cost = bucket.charges() ? bucket.cost : 0,
                     .sums = holds.SumsOf({key.hash, limit_id}),
                     .left = bucket.charges() ? bucket.step.bucket : bucket.present,
                     .limit = limit_id});
    intervals.push_back({limit.emission().period, limit.emission().denominator});
    has_owned = has_owned || limit.owner() != LimitOwner{};
    registry_.AddBucket(limit_id);
  }
  if (!has_owned) intervals.clear();
  // A mark of the id has expired, or DecideAndHold would have failed.
  if (Hold* const mark = holds.FindMark(key.hash, id)) ForgetMark(holds, *mark);
  hold_counts_.AddBytes(holds.Open(terms, id, parts, intervals).bytes());
  ShowHolds(key.partition);
}

// --- Looking, and forgetting ---

std::vector<LiveHold> Limiter::InspectHolds(std::string_view key, Instant now,
                                            PresentLimit present) {
  const KeyHash hash = hasher_(key);
  PartitionLock lock(table_, hash.partition);
  SettleDue(hash.partition, now);
  std::vector<LiveHold> live;
  const HoldTable* const holds = table_.holds(hash.partition);
  if (!holds) return live;
  const auto add = [&](const Hold& hold, bool settled) {
    if (live.size() == kInspectedMax) return false;
    slots_visited_ += kSlotsPerHold;
    LiveHold shown{std::string(hold.id()), hold.expiry() - now, settled, {}};
    for (const HoldPart& part : hold.parts()) {
      const std::optional<Limit> limit = present(registry_.Get(part.limit));
      if (limit) shown.parts.push_back({*limit, part.cost});
    }
    live.push_back(std::move(shown));
    return true;
  };
  holds->open().ForEachOf(hash.hash, [&](const Hold& hold) { return add(hold, false); });
  holds->marks().ForEachOf(hash.hash, [&](const Hold& hold) { return add(hold, true); });
  return live;
}

// Drops the holds and marks of a partition for which is_gone(hold) is true. Nothing is settled,
// except that held limits get their tokens back. To be followed by ShowHolds. Requires: the
// partition is locked.
void Limiter::ForgetHolds(std::size_t partition, absl::FunctionRef<bool(const Hold&)> is_gone) {
  HoldTable* const holds = table_.holds(partition);
  if (!holds) return;
  std::vector<Hold*> open;
  std::vector<Hold*> marks;
  const auto collect = [&](std::vector<Hold*>& gone) {
    return [&](Hold& hold) {
      ++slots_visited_;
      if (is_gone(hold)) gone.push_back(&hold);
    };
  };
  holds->open().ForEach(collect(open));
  holds->marks().ForEach(collect(marks));
  for (Hold* const hold : open) DropHold(partition, *hold);
  for (Hold* const mark : marks) ForgetMark(*holds, *mark);
}

void Limiter::DropHold(std::size_t partition, Hold& hold) {
  for (const HoldPart& part : hold.parts()) {
    const Limit& limit = registry_.Get(part.limit);
    if (!limit.is_held()) continue;
    Bucket* const stored = table_.partition(partition).Find({hold.key(), part.limit});
    if (!stored) continue;
    Replace({hold.key(), static_cast<std::uint16_t>(partition)}, part.limit, limit, *stored,
            ReturnHeld(Unmarked(*stored), part.cost));
  }
  ForgetOpen(*table_.holds(partition), hold);
}

}  // namespace weir
