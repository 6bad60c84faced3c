#include "core/limiter/limiter.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/utility/utility.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/limiter/hold_sums.h"
#include "core/limiter/limiter_table.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/limiter/locked_request.h"
#include "core/plans/choice.h"
#include "core/rules/rule.h"
#include "core/table/key_bound.h"

namespace weir {

Limiter::Limiter(const LimiterOptions& options) : table_(options) {
  LimiterUpkeep(table_).set_memory_max(options.memory_max);
}

// True if it is known, without a count of any key's buckets, that the new buckets of a request may
// be inserted: their keys have room, their limits have ids.
template <std::size_t kChecks>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool Limiter::IsRoomKnown(
    const LockedRequest<kChecks>& locked) {
  const Plan<kChecks>& plan = locked.plan;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan.IsNew(i)) continue;
    if (!locked.found[i].id) return false;
    if (!table_.KnownRoom(locked.checks[i].hash, plan.size(), locked.now).value_or(false))
      return false;
  }
  return true;
}

// Makes sure of it. All that can fail is here, before the first write. If a key has no room, no ids
// are given out.
template <std::size_t kChecks>
absl::Status Limiter::EnsureRoom(LockedRequest<kChecks>& locked, Introducer introducer) {
  const Plan<kChecks>& plan = locked.plan;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan.IsNew(i)) continue;
    std::size_t added = 1;
    for (std::size_t j = 0; j < i; ++j) {
      if (plan.IsNew(j) && locked.checks[j].hash == locked.checks[i].hash) ++added;
    }
    if (!table_.HasRoom(locked.checks[i].hash, added, locked.now, locked.found.first(plan.size())))
      return TooManyBucketsOfKey();
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    std::optional<LimitId>& id = locked.found[i].id;
    if (id || !plan.IsNew(i)) continue;
    const Check& check = locked.checks[i];
    LimitHint no_hint;
    const absl::StatusOr<LimitId> interned =
        table_.registry.Intern(*check.limit, check.hint ? *check.hint : no_hint, introducer);
    if (!interned.ok()) return interned.status();
    id = *interned;
  }
  return absl::OkStatus();
}

// Stores the buckets that are present. Those that are new come later: to insert one may move the
// others, or drop some.
template <std::size_t kChecks>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Limiter::StorePresent(
    const LockedRequest<kChecks>& locked) {
  const Plan<kChecks>& plan = locked.plan;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!locked.found[i].slot) continue;
    WEIR_DCHECK(!plan.IsNew(i));
    if (const std::optional<Bucket> bucket = plan.Change(i)) {
      table_.Store(locked.checks[i].hash, locked.found[i], *locked.checks[i].limit, *bucket);
    }
  }
}

template <std::size_t kChecks>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Limiter::StoreNew(const LockedRequest<kChecks>& locked) {
  const Plan<kChecks>& plan = locked.plan;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan.IsNew(i)) table_.MakeRoomFor(plan.size(), locked.checks[i].hash.partition, locked.now);
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan.IsNew(i)) continue;
    WEIR_CHECK(locked.found[i].id.has_value());
    table_.Store(locked.checks[i].hash, {locked.found[i].id, nullptr}, *locked.checks[i].limit,
                 plan.bucket(i).step.bucket);
  }
}

// --- Changes that holds must know of (settlement.h) ---

template <std::size_t kChecks>
std::uint64_t Limiter::ChecksToForbid(const LockedRequest<kChecks>& locked) {
  return HoldSums::ChecksToForbid(locked.plan, locked.checks, [&](std::size_t i) {
    const Bucket* const slot = locked.found[i].slot;
    return slot ? std::optional(*slot) : std::nullopt;
  });
}

template <std::size_t kChecks>
void Limiter::ForbidGivingBack(const LockedRequest<kChecks>& locked, std::uint64_t checks) {
  for (std::size_t i = 0; i < locked.plan.size(); ++i) {
    if ((checks >> i & 1U) == 0 || !locked.found[i].id) continue;
    const KeyHash& key = locked.checks[i].hash;
    PartitionStore store(table_, key.partition);
    HoldSums(store, table_.max_wait)
        .Forbid({key.hash, *locked.found[i].id}, *locked.checks[i].limit);
  }
}

template <std::size_t kChecks>
void Limiter::CountCharges(const LockedRequest<kChecks>& locked) {
  for (std::size_t i = 0; i < locked.plan.size(); ++i) {
    if (!locked.plan.AsksBucket(i) || !locked.found[i].id) continue;
    const KeyHash& key = locked.checks[i].hash;
    PartitionStore store(table_, key.partition);
    HoldSums(store, table_.max_wait)
        .CountCharged({key.hash, *locked.found[i].id}, *locked.checks[i].limit,
                      locked.plan.bucket(i), locked.now);
  }
}

// Requires: the refunded buckets are not stored yet.
void Limiter::CountRefunds(const LockedRequest<kManyChecks>& locked) {
  for (std::size_t i = 0; i < locked.plan.size(); ++i) {
    if (!locked.plan.AsksBucket(i) || !locked.found[i].slot) continue;
    const KeyHash& key = locked.checks[i].hash;
    PartitionStore store(table_, key.partition);
    HoldSums(store, table_.max_wait)
        .CountRefunded({key.hash, *locked.found[i].id}, *locked.checks[i].limit,
                       *locked.found[i].slot, locked.plan.bucket(i).present, locked.now);
  }
}

// The second half of a request, after the decision: the writes, and the verdict.
template <std::size_t kChecks>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status Limiter::Conclude(LockedRequest<kChecks>& locked,
                                                                   Introducer introducer,
                                                                   Verdict& verdict) {
  if (ABSL_PREDICT_FALSE(locked.has_open_holds)) {
    return ConcludeBesideHolds(locked, introducer, verdict);
  }
  return StoreAndJoin(locked, introducer, verdict);
}

template <std::size_t kChecks>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status Limiter::StoreAndJoin(
    LockedRequest<kChecks>& locked, Introducer introducer, Verdict& verdict) {
  if (locked.plan.any_new() && !IsRoomKnown(locked)) {
    WEIR_RETURN_IF_ERROR(EnsureRoom(locked, introducer));
  }
  StorePresent(locked);
  if (locked.plan.any_new()) StoreNew(locked);
  AdvanceDecisionTime(locked.lock, locked.now);
  locked.plan.Join(locked.now, verdict);
  return absl::OkStatus();
}

template <std::size_t kChecks>
ABSL_ATTRIBUTE_NOINLINE absl::Status Limiter::ConcludeBesideHolds(LockedRequest<kChecks>& locked,
                                                                  Introducer introducer,
                                                                  Verdict& verdict) {
  const std::uint64_t to_forbid = ChecksToForbid(locked);
  WEIR_RETURN_IF_ERROR(StoreAndJoin(locked, introducer, verdict));
  if (to_forbid != 0) ForbidGivingBack(locked, to_forbid);
  return absl::OkStatus();
}

absl::Status Limiter::ConcludeMany(LockedRequest<kManyChecks>& locked, Introducer introducer,
                                   Verdict& verdict) {
  return Conclude(locked, introducer, verdict);
}

// Stores what the plan has changed, for those who do not join its decisions.
absl::Status Limiter::StoreMany(LockedRequest<kManyChecks>& locked, Introducer introducer) {
  if (!IsRoomKnown(locked)) WEIR_RETURN_IF_ERROR(EnsureRoom(locked, introducer));
  StorePresent(locked);
  StoreNew(locked);
  AdvanceDecisionTime(locked.lock, locked.now);
  return absl::OkStatus();
}

// Returns the status of attempt(). If that is refused for a new limit, takes back ids of idle
// limits and tries again, until fewer than LimiterTable::kReclaimsAtOnce were idle (an attempt
// itself leaves fewer idle limits than that) and nothing is left that Clear() has forgotten. Does
// not try again inside an Isolation, whose locks are in the way.
template <typename Try>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status Limiter::WithRoomForLimits(Try attempt) {
  absl::Status status = attempt();
  if (ABSL_PREDICT_TRUE(status.ok())) return status;
  return TryWithRoom(std::move(status), attempt);
}

absl::Status Limiter::TryWithRoom(absl::Status status, absl::FunctionRef<absl::Status()> attempt) {
  const auto is_refused = [&] {
    return absl::IsResourceExhausted(status) && !TableIsolation::IsHeldByThisThread(table_.buckets);
  };
  LimiterUpkeep upkeep(table_);
  for (bool has_more = is_refused(); has_more;) {
    const std::size_t taken = upkeep.ReclaimLimits(1, LimiterTable::kReclaimsAtOnce);
    if (taken > 0) status = attempt();
    has_more = is_refused() && (taken == LimiterTable::kReclaimsAtOnce || upkeep.FreeDiscarded());
  }
  return status;
}

template <std::size_t kChecks>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status Limiter::DecideChecks(const Request& request,
                                                                       Instant now,
                                                                       Introducer introducer,
                                                                       Verdict& verdict) {
  LockedRequest<kChecks> locked(*this, request, now);
  locked.plan.Decide(locked.now, Purpose::kTake);
  return Conclude(locked, introducer, verdict);
}

absl::Status Limiter::DecideMany(const Request& request, Instant now, Introducer introducer,
                                 Verdict& verdict) {
  return DecideChecks<kManyChecks>(request, now, introducer, verdict);
}

// The usual request has one check: its own instance, without loops, takes a third of the
// instructions.
absl::StatusOr<Verdict> Limiter::Decide(const Request& request, Instant now,
                                        Introducer introducer) {
  absl::StatusOr<Verdict> verdict(absl::in_place);
  if (ABSL_PREDICT_FALSE(request.has_alternatives())) {
    verdict = DecideAlternatives(request, now, introducer);
    return verdict;  // the one variable that is returned, so that it is made in its place
  }
  absl::Status status = request.size() == 1
                            ? DecideChecks<kOneCheck>(request, now, introducer, *verdict)
                            : DecideMany(request, now, introducer, *verdict);
  if (ABSL_PREDICT_FALSE(!status.ok())) {
    status = TryWithRoom(std::move(status),
                         [&] { return DecideMany(request, now, introducer, *verdict); });
    if (!status.ok()) verdict = std::move(status);
  }
  return verdict;
}

ABSL_ATTRIBUTE_NOINLINE absl::StatusOr<Verdict> Limiter::DecideAlternatives(const Request& request,
                                                                            Instant now,
                                                                            Introducer introducer) {
  absl::StatusOr<Verdict> verdict;
  const absl::Status status = WithRoomForLimits([&] {
    const AlternativesLock lock(*this, request, now);
    verdict = Choice(request).Decide(
        [&](const Request& one) { return Peek(one, lock.now()); },
        [&](const Request& one) { return Decide(one, lock.now(), introducer); });
    return verdict.status();
  });
  WEIR_DCHECK(status == verdict.status());
  return verdict;
}

ABSL_ATTRIBUTE_NOINLINE Verdict Limiter::PeekAlternatives(const Request& request, Instant now) {
  const AlternativesLock lock(*this, request, now);
  return *Choice(request).Look([&](const Request& one) { return Peek(one, lock.now()); });
}

Verdict Limiter::Peek(const Request& request, Instant now) {
  if (ABSL_PREDICT_FALSE(request.has_alternatives())) return PeekAlternatives(request, now);
  LockedRequest<kManyChecks> locked(*this, request, now);
  locked.plan.Decide(locked.now, Purpose::kLook);
  Verdict verdict;
  locked.plan.Join(locked.now, verdict);
  return verdict;
}

bool Limiter::WouldChange(const Request& request, Instant now) {
  if (ABSL_PREDICT_FALSE(request.has_alternatives())) {
    return std::ranges::any_of(AlternativesOf(request),
                               [&](const Request& one) { return WouldChange(one, now); });
  }
  LockedRequest<kManyChecks> locked(*this, request, now);
  locked.plan.Decide(locked.now, Purpose::kTake);
  return locked.plan.allowed() || locked.plan.banned() != 0;
}

absl::StatusOr<Grant> Limiter::Take(const Request& request, std::int64_t upto, Instant now,
                                    Introducer introducer) {
  WEIR_DCHECK(!request.has_alternatives());
  Grant grant;
  absl::Status status = WithRoomForLimits([&] {
    LockedRequest<kManyChecks> locked(*this, request, now);
    grant.granted = locked.plan.DecideUpTo(upto, locked.now);
    return Conclude(locked, introducer, grant.verdict);
  });
  if (!status.ok()) return status;
  return grant;
}

template <std::size_t kChecks>
absl::Status Limiter::ChargeChecks(const Request& request, Instant now, Introducer introducer,
                                   Charged& charged) {
  LockedRequest<kChecks> locked(*this, request, now);
  charged = locked.plan.Charge(locked.now);
  if (locked.plan.any_new() && !IsRoomKnown(locked)) {
    WEIR_RETURN_IF_ERROR(EnsureRoom(locked, introducer));
  }
  StorePresent(locked);
  if (locked.plan.any_new()) StoreNew(locked);
  if (ABSL_PREDICT_FALSE(locked.has_open_holds)) CountCharges(locked);
  AdvanceDecisionTime(locked.lock, locked.now);
  return absl::OkStatus();
}

absl::StatusOr<Charged> Limiter::Charge(const Request& request, Instant now,
                                        Introducer introducer) {
  WEIR_DCHECK(!request.has_alternatives());
  absl::StatusOr<Charged> charged(absl::in_place);
  absl::Status status = WithRoomForLimits([&] {
    return request.size() == 1 ? ChargeChecks<kOneCheck>(request, now, introducer, *charged)
                               : ChargeChecks<kManyChecks>(request, now, introducer, *charged);
  });
  if (!status.ok()) charged = std::move(status);
  return charged;
}

Verdict Limiter::Refund(const Request& request, Instant now) {
  WEIR_DCHECK(!request.has_alternatives());
  LockedRequest<kManyChecks> locked(*this, request, now);
  Verdict verdict = locked.plan.Refund(locked.now);
  if (ABSL_PREDICT_FALSE(locked.has_open_holds)) CountRefunds(locked);
  WEIR_CHECK(!locked.plan.any_new());
  StorePresent(locked);
  AdvanceDecisionTime(locked.lock, locked.now);
  return verdict;
}

absl::StatusOr<Admission> Limiter::Reserve(const Request& request, Nanos patience, Instant now,
                                           Introducer introducer) {
  WEIR_DCHECK(!request.has_alternatives());
  Admission admission;
  absl::Status status = WithRoomForLimits([&] {
    LockedRequest<kManyChecks> locked(*this, request, now);
    Reservation reservation = locked.plan.Reserve(locked.now, patience);
    reservation.number = table_.reservations.fetch_add(1, std::memory_order_relaxed);
    absl::Status concluded = Conclude(locked, introducer, admission.verdict);
    if (admission.verdict.allowed && reservation.ready > locked.now) {
      admission.reservation = std::move(reservation);
    }
    return concluded;
  });
  if (!status.ok()) return status;
  return admission;
}

// --- After a Reserve that must wait ---

// Returns the bucket, or null. Sets `id` if the limit is interned.
Bucket* Limiter::FindBucket(const KeyHash& key, const Limit& limit, LimitId& id) {
  LimitHint no_hint;
  const std::optional<LimitId> found = table_.registry.Find(limit, no_hint);
  if (!found) return nullptr;
  id = *found;
  return table_.buckets.partition(key.partition).Find({key.hash, id});
}

// Locks the partitions of all keys.
Limiter::ReservationLock Limiter::Lock(const Reservation& reservation) {
  return {table_.buckets, reservation.parts.size(),
          [&](std::size_t i) { return reservation.parts[i].key.partition; }};
}

Verdict Limiter::VerdictNow(const Reservation& reservation, bool allowed, Instant now) {
  const ReservationLock lock = Lock(reservation);
  lock.ForEach([&](const Partition& partition) { now = std::max(now, partition.decision_time()); });
  for (const Reservation::Part& part : reservation.parts) table_.ExpireHolds(part.key, now);
  absl::InlinedVector<Bucket, 2> buckets;
  for (const Reservation::Part& part : reservation.parts) {
    LimitId id{};
    const Bucket* found = FindBucket(part.key, part.limit, id);
    buckets.push_back(found ? *found : Bucket{});
  }
  return weir::ReservationVerdict(reservation, buckets, allowed, now, table_.max_wait);
}

Verdict Limiter::VerdictAfterWait(const Reservation& reservation, Instant now) {
  return VerdictNow(reservation, true, now);
}

Verdict Limiter::Withdraw(const Reservation& reservation, Instant now) {
  return VerdictNow(reservation, false, now);
}

void Limiter::ReturnTokens(const Reservation& reservation) {
  const ReservationLock lock = Lock(reservation);
  for (const Reservation::Part& part : reservation.parts) {
    LimitId id{};
    Bucket* const bucket = FindBucket(part.key, part.limit, id);
    if (!bucket) continue;
    const Bucket present = *bucket;
    const Bucket given_back = part.GivenBack(present);
    if (given_back != present) table_.Store(part.key, {id, bucket}, part.limit, given_back);
  }
}

}  // namespace weir
