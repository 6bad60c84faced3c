#include "core/plans/choice.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/plans/reservation.h"
#include "core/rules/join_decisions.h"
#include "core/rules/rule.h"

namespace weir {

static_assert(kChecksMax <= UINT8_MAX, "Reservation::part_of_check");

bool BanBucket(const Limit& limit, Instant now, Nanos max_wait, BucketStep& bucket) {
  WEIR_DCHECK(!bucket.step.decision.allowed);
  if (bucket.step.decision.retry_after == kNever) return false;
  const Bucket banned = BanLimit(limit, bucket.step.bucket, now, max_wait);
  if (banned == bucket.step.bucket) return false;
  WEIR_CHECK(bucket.stored);  // A full bucket denies only what can never pass.
  bucket.step = DecideLimit(limit, banned, now, bucket.cost, max_wait, Nanos{0}, bucket.keep);
  WEIR_CHECK(!bucket.step.decision.allowed);
  WEIR_CHECK(bucket.step.bucket == banned);
  return true;
}

// Returns how many times the request would pass at once, at most `most`.
template <std::size_t kChecks>
std::int64_t Plan<kChecks>::TimesAffordable(Instant now, std::int64_t most) const {
  for (std::size_t i = 0; i < size(); ++i) {
    const BucketStep& bucket = buckets_[i];
    if (bucket.first != i || bucket.shadow) continue;
    const std::int64_t times =
        TimesThere(*request_[i].limit, bucket.present, now, bucket.cost, bucket.keep, max_wait_);
    most = std::min(most, times);
  }
  return most;
}

// Bans the bucket of a limit that has denied, before the request is decided again.
template <std::size_t kChecks>
void Plan<kChecks>::BanBeforeDecide(std::size_t i, Instant now) {
  BucketStep& bucket = buckets_[i];
  WEIR_CHECK(!bucket.step.decision.allowed);
  Ban(i, now);
  bucket.replaced = bucket.step.bucket != bucket.present;
  bucket.present = bucket.step.bucket;
}

// Bans the shadow limits that deny the request once, although the other limits admit it more often.
template <std::size_t kChecks>
void Plan<kChecks>::BanShadows(Instant now) {
  for (std::size_t i = 0; i < size(); ++i) {
    BucketStep& bucket = buckets_[i];
    if (!IsFirst(i) || !bucket.shadow || !Bans(i)) continue;
    bucket.step = Ask(i, now, Nanos{0});
    if (!bucket.step.decision.allowed) BanBeforeDecide(i, now);
  }
}

// Products of costs saturate as their sums do.
std::uint64_t Product(std::uint64_t cost, std::int64_t times) noexcept {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(cost, static_cast<std::uint64_t>(times), &product)
             ? std::numeric_limits<std::uint64_t>::max()
             : product;
}

template <std::size_t kChecks>
void Plan<kChecks>::Multiply(std::int64_t times) {
  for (std::size_t i = 0; i < size(); ++i) buckets_[i].cost = Product(buckets_[i].cost, times);
}

template <std::size_t kChecks>
std::int64_t Plan<kChecks>::DecideUpTo(std::int64_t upto, Instant now) {
  WEIR_CHECK(upto >= 1);
  const std::int64_t granted = TimesAffordable(now, upto);
  if (granted > 0 && shadows_ > 0) BanShadows(now);
  if (granted > 0) Multiply(granted);
  Decide(now, granted > 0 ? Purpose::kLook : Purpose::kTake);
  WEIR_CHECK(allowed_ == (granted > 0));
  return granted;
}

template <std::size_t kChecks>
SliceGrant Plan<kChecks>::DecideSlice(const SliceWish& wish, Instant now) {
  absl::InlinedVector<SlicedLimit, 4> limits;  // one for each first check
  for (std::size_t i = 0; i < size(); ++i) {
    const BucketStep& bucket = buckets_[i];
    if (!IsFirst(i)) continue;
    limits.push_back({request_[i].limit, bucket.present, bucket.cost, bucket.keep});
  }
  const SliceTerms terms = weir::DecideSlice(limits, wish, now, max_wait_);
  SliceGrant slice{terms.granted, terms.life, {}};
  if (terms.granted > 0) Multiply(terms.granted);
  Decide(now, Purpose::kLook);
  if (terms.granted == 0) allowed_ = any_new_ = false;  // even where one unit would be there
  WEIR_CHECK(allowed_ == (terms.granted > 0));
  JoinSlice(wish, limits, now, slice.verdict);
  slice.verdict.allowed = terms.granted >= wish.need;
  return slice;
}

// Writes the verdict of a slice. `limits`: those of the first checks, before the slice.
template <std::size_t kChecks>
void Plan<kChecks>::JoinSlice(const SliceWish& wish, std::span<const SlicedLimit> limits,
                              Instant now, Verdict& verdict) const {
  verdict.allowed = true;  // if each limit has UNIT more units
  for (std::size_t i = 0; i < size(); ++i) {
    if (!IsFirst(i)) {
      verdict.repeated |= std::uint64_t{1} << i;
      verdict.decisions.push_back(Decision(verdict.decisions[FirstOf(i)]));
      continue;
    }
    const BucketStep& bucket = buckets_[i];
    const SlicedLimit& before = limits.front();
    limits = limits.subspan(1);
    const Bucket after = allowed_ && bucket.charges() ? bucket.step.bucket : bucket.present;
    const Limit& limit = *request_[i].limit;
    Decision decision = DecideLimit(limit, after, now, 0, max_wait_).decision;
    decision.retry_after = DecideLimit(limit, after, now, Product(before.cost, wish.unit),
                                       max_wait_, Nanos{0}, before.keep)
                               .decision.retry_after;
    decision.allowed =
        TimesThere(limit, before.bucket, now, before.cost, before.keep, max_wait_) >= wish.need;
    if (!bucket.shadow && decision.retry_after > Nanos{0}) verdict.allowed = false;
    verdict.decisions.push_back(decision);
  }
  JoinNumbers(verdict);
}

// Charges the bucket of a first check. Returns true if the tokens were not there. Requires: the
// bucket is decided.
template <std::size_t kChecks>
bool Plan<kChecks>::ChargeBucket(std::size_t i, Instant now) {
  BucketStep& bucket = buckets_[i];
  if (!bucket.has_bucket) return false;
  Decision& decision = bucket.step.decision;
  const bool beyond = bucket.cost > static_cast<std::uint64_t>(decision.remaining);
  const bool is_charged = decision.allowed;
  decision.allowed = true;  // so that the change is kept, whatever the limit says
  if (is_charged) return false;
  bucket.step.bucket = ChargeLimit(*request_[i].limit, bucket.present, now, bucket.cost, max_wait_);
  return beyond;
}

template <std::size_t kChecks>
Charged Plan<kChecks>::Charge(Instant now) {
  Charged charged;
  Verdict& verdict = charged.verdict;
  Decide(now, Purpose::kLook);
  Join(now, verdict);
  const std::size_t decider = verdict.limit_index;
  verdict.retry_after = verdict.reset_after = Nanos{0};
  allowed_ = true;
  any_new_ = false;
  for (std::size_t i = 0; i < size(); ++i) {
    const BucketStep& bucket = buckets_[i];
    Decision& decision = verdict.decisions[i];
    if (!IsFirst(i)) {
      decision = Decision(verdict.decisions[FirstOf(i)]);
      continue;
    }
    decision = bucket.step.decision;
    const bool within = decision.allowed;
    if (ChargeBucket(i, now)) {
      charged.beyond |= std::uint64_t{1} << i;
      charged.available_before.push_back(decision.remaining);
    }
    any_new_ = any_new_ || IsNew(i);
    const bool can_retry = within && static_cast<std::uint64_t>(decision.remaining) > bucket.keep;
    if (can_retry) continue;
    // A look that must leave one token beside those that are kept.
    decision = DecideLimit(*request_[i].limit, bucket.step.bucket, now, 0, max_wait_, Nanos{0},
                           bucket.keep + 1)
                   .decision;
    decision.allowed = within;
  }
  JoinNumbers(verdict);
  verdict.limit_index = decider;
  return charged;
}

template <std::size_t kChecks>
Verdict Plan<kChecks>::Refund(Instant now) {
  for (std::size_t i = 0; i < size(); ++i) {
    BucketStep& bucket = buckets_[i];
    if (bucket.stored && bucket.cost > 0) {
      const Bucket given_back =
          RefundLimit(*request_[i].limit, bucket.present, now, bucket.cost, max_wait_);
      bucket.replaced = given_back != bucket.present;
      bucket.present = given_back;
    }
    bucket.cost = 0;
    bucket.keep = 0;
  }
  Decide(now, Purpose::kLook);
  allowed_ = true;  // Nothing can be given back to "none", but that is no denial.
  Verdict verdict;
  Join(now, verdict);
  verdict.retry_after = Nanos{0};
  return verdict;
}

// Decides the shadow limits again, and bans them: their tokens must be there when those of the
// other limits are. Returns the wait until then. Requires: Decide has allowed the request.
template <std::size_t kChecks>
Nanos Plan<kChecks>::DecideShadowsAt(Instant now) {
  WEIR_CHECK(allowed_);
  Nanos wait{0};
  for (std::size_t i = 0; i < size(); ++i) {
    const BucketStep& bucket = buckets_[i];
    if (bucket.first == i && !bucket.shadow)
      wait = std::max(wait, bucket.step.decision.retry_after);
  }
  for (std::size_t i = 0; i < size(); ++i) {
    BucketStep& bucket = buckets_[i];
    if (bucket.first != i || !bucket.shadow) continue;
    bucket.step =
        DecideLimit(*request_[i].limit, bucket.present, now, bucket.cost, max_wait_, wait);
    if (bucket.step.decision.allowed) {
      bucket.step.decision.retry_after = Nanos{0};
    } else if (Bans(i)) {
      Ban(i, now);
    }
  }
  return wait;
}

template <std::size_t kChecks>
Reservation Plan<kChecks>::Reserve(Instant now, Nanos patience) {
  Reservation reservation;
  reservation.ready = now;
  Decide(now, Purpose::kLook, patience);
  if (allowed_) {
    reservation.ready += DecideShadowsAt(now);
    WEIR_CHECK(reservation.ready <= now + patience);
  } else {
    for (std::size_t i = 0; i < size(); ++i) {
      if (IsFirst(i) && !buckets_[i].step.decision.allowed && Bans(i)) BanBeforeDecide(i, now);
    }
    Decide(now, Purpose::kLook);  // A denial answers as if the client did not wait.
  }
  reservation.banned = banned_;
  for (std::size_t i = 0; i < size(); ++i) {
    const BucketStep& bucket = buckets_[i];
    if (bucket.first == i) {
      reservation.part_of_check.push_back(static_cast<std::uint8_t>(reservation.parts.size()));
      reservation.parts.push_back({request_[i].hash, *request_[i].limit, bucket.present,
                                   bucket.charges() ? bucket.step.bucket : bucket.present,
                                   bucket.cost, bucket.step.decision.allowed});
    } else {
      reservation.part_of_check.push_back(reservation.part_of_check[bucket.first]);
    }
  }
  WEIR_CHECK(reservation.part_of_check.size() == size());
  WEIR_CHECK(reservation.parts.size() == size() - shared_);
  return reservation;
}

// --- After the wait for a reservation (reservation.h) ---

Verdict ReservationVerdict(const Reservation& reservation, std::span<const Bucket> buckets,
                           bool allowed, Instant now, Nanos max_wait) {
  WEIR_CHECK(buckets.size() == reservation.parts.size());
  absl::InlinedVector<Decision, 2> looks;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Reservation::Part& part = reservation.parts[i];
    Decision look = DecideLimit(part.limit, buckets[i], now, 0, max_wait).decision;
    if (!part.allowed || !allowed) {
      const Decision decision =
          DecideLimit(part.limit, buckets[i], now, part.cost, max_wait).decision;
      look.allowed = part.allowed && decision.allowed;
      look.retry_after = decision.retry_after;
    }
    looks.push_back(look);
  }
  Verdict verdict;
  verdict.allowed = allowed;
  verdict.banned = reservation.banned;
  std::size_t parts_seen = 0;
  for (std::size_t i = 0; i < reservation.part_of_check.size(); ++i) {
    const std::uint8_t part = reservation.part_of_check[i];
    WEIR_CHECK(part < looks.size());
    WEIR_CHECK(part <= parts_seen);
    if (part < parts_seen) {
      verdict.repeated |= std::uint64_t{1} << i;
    } else {
      ++parts_seen;
    }
    verdict.decisions.push_back(looks[part]);
  }
  WEIR_CHECK(parts_seen == reservation.parts.size());
  const bool all_shadow = std::ranges::all_of(
      reservation.parts, [](const Reservation::Part& part) { return part.limit.shape().shadow; });
  JoinDecisions(
      verdict.decisions.size(), all_shadow,
      [&](std::size_t i) {
        return reservation.parts[reservation.part_of_check[i]].limit.shape().shadow;
      },
      verdict);
  return verdict;
}

// --- Alternatives ---

absl::InlinedVector<Request, 2> AlternativesOf(const Request& request) {
  WEIR_CHECK(request.size() <= kChecksMax);
  absl::InlinedVector<Request, 2> alternatives;
  for (std::size_t i = 0; i < request.size();) {
    const std::size_t end = request.AlternativeWith(i).end;
    Request& alternative = alternatives.emplace_back();
    for (; i < end; ++i) alternative.push_back(request[i]);
  }
  return alternatives;
}

absl::Status Choice::LookAtAll(Decider look) {
  for (std::size_t i = 0; i < alternatives_.size(); ++i) {
    absl::StatusOr<Verdict> verdict = look(alternatives_[i]);
    if (!verdict.ok()) return verdict.status();
    verdict->banned = verdicts_[i].banned;  // by an earlier decision: a look bans nothing
    verdicts_[i] = *std::move(verdict);
  }
  return absl::OkStatus();
}

absl::StatusOr<Verdict> Choice::Take(std::size_t winner, Decider take) {
  absl::StatusOr<Verdict> verdict = take(alternatives_[winner]);
  if (!verdict.ok()) return verdict;
  WEIR_CHECK(verdict->allowed);
  verdicts_[winner] = *std::move(verdict);
  return Joined(winner);
}

// Denies all alternatives in their order. A ban changes the numbers of every alternative that asks
// the same bucket.
absl::Status Choice::Deny(Decider look, Decider take) {
  std::uint64_t banned = 0;
  for (std::size_t i = 0; i < alternatives_.size(); ++i) {
    absl::StatusOr<Verdict> verdict = take(alternatives_[i]);
    if (!verdict.ok()) return verdict.status();
    WEIR_CHECK(!verdict->allowed);
    banned |= verdict->banned;
    verdicts_[i] = *std::move(verdict);
  }
  return banned == 0 ? absl::OkStatus() : LookAtAll(look);
}

// The first alternative that is allowed; of a denial the one that passes first.
std::size_t Choice::First() const {
  const auto allowed = std::ranges::find_if(verdicts_, &Verdict::allowed);
  const auto decides = allowed != verdicts_.end()
                           ? allowed
                           : std::ranges::min_element(verdicts_, {}, &Verdict::retry_after);
  return static_cast<std::size_t>(decides - verdicts_.begin());
}

// The numbers of one alternative, and the decisions of all.
Verdict Choice::Joined(std::size_t alternative) const {
  Verdict joined = verdicts_[alternative];
  joined.decisions.clear();
  joined.repeated = joined.banned = 0;
  for (std::size_t i = 0; i < verdicts_.size(); ++i) {
    const Verdict& verdict = verdicts_[i];
    const std::size_t begin = joined.decisions.size();
    if (i == alternative) joined.limit_index += begin;
    joined.repeated |= verdict.repeated << begin;
    joined.banned |= verdict.banned << begin;
    joined.decisions.insert(joined.decisions.end(), verdict.decisions.begin(),
                            verdict.decisions.end());
  }
  return joined;
}

absl::StatusOr<Verdict> Choice::Look(Decider look) {
  WEIR_RETURN_IF_ERROR(LookAtAll(look));
  return Joined(First());
}

absl::StatusOr<Verdict> Choice::Decide(Decider look, Decider take) {
  WEIR_RETURN_IF_ERROR(LookAtAll(look));
  const std::size_t first = First();
  if (verdicts_[first].allowed) return Take(first, take);
  WEIR_RETURN_IF_ERROR(Deny(look, take));
  return Joined(First());
}

absl::StatusOr<Grant> Choice::Hold(std::optional<std::size_t> repeated, Decider look, Holder hold) {
  Grant grant;
  const auto take = [&](const Request& alternative) -> absl::StatusOr<Verdict> {
    absl::StatusOr<Grant> taken = hold(alternative);
    if (!taken.ok()) return taken.status();
    grant = *std::move(taken);
    return grant.verdict;
  };
  absl::StatusOr<Verdict> verdict;
  if (repeated) {
    WEIR_RETURN_IF_ERROR(LookAtAll(look));
    verdict = Take(*repeated, take);
  } else {
    verdict = Decide(look, take);
  }
  if (!verdict.ok()) return verdict.status();
  grant.verdict = *std::move(verdict);
  return grant;
}

template class Plan<kManyChecks>;
template Charged Plan<kOneCheck>::Charge(Instant now);

}  // namespace weir
