#include "core/rules/token_bucket.h"

#include <algorithm>

#include "absl/base/attributes.h"

#include "core/base/check.h"
#include "core/base/wide.h"

namespace weir {
namespace {

// The time up to which a bucket is charged, clamped. `horizon` is now + capacity.
ExactNanos ClampedTat(ExactNanos tat, std::uint32_t denominator, ExactNanos horizon,
                      Nanos debt_max) noexcept {
  return std::min(tat, Add(horizon, {debt_max.count(), 0}, denominator));
}

// cost * E. Requires: cost <= burst, so that the product is at most the capacity.
ExactNanos CostInTime(const Emission& emission, std::uint64_t cost) noexcept {
  WEIR_DCHECK(cost > 0);
  if (cost == 1) return emission.interval;
  const auto period = static_cast<std::uint64_t>(emission.period);
  if (emission.denominator == 1) return {static_cast<std::int64_t>(cost * period), 0};
  return TimeOfParts(Wide{cost} * period, emission.denominator);
}

// The bucket of a ban. Requires: a whole number of ns.
Bucket BannedUntil(ExactNanos tat) noexcept {
  WEIR_CHECK(tat.numerator == 0);
  Bucket bucket = BucketOfTat(tat);
  bucket.extra = kBannedExtra;
  return bucket;
}

// floor(room / E): the whole tokens in a span of time.
std::int64_t TokensIn(const Emission& emission, ExactNanos room) noexcept {
  const auto period = static_cast<std::uint64_t>(emission.period);
  const auto whole = static_cast<std::uint64_t>(room.whole);
  std::uint64_t parts = 0;  // of 1/denominator ns
  if (!__builtin_mul_overflow(whole, std::uint64_t{emission.denominator}, &parts) &&
      !__builtin_add_overflow(parts, std::uint64_t{room.numerator}, &parts)) {
    return static_cast<std::int64_t>(parts / period);
  }
  return static_cast<std::int64_t>((Wide{whole} * emission.denominator + room.numerator) / period);
}

// Inline, so that a decision without patience and without `keep` does not pay for them.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Step DecideBucket(const Limit& limit, Bucket bucket,
                                                      Instant now, std::uint64_t cost,
                                                      Nanos debt_max, Nanos patience,
                                                      std::uint64_t keep) noexcept {
  WEIR_DCHECK(limit.shape().algorithm == Algorithm::kTokenBucket);
  WEIR_DCHECK(now >= Instant{});
  WEIR_DCHECK(now <= kInstantMax);
  WEIR_DCHECK(debt_max >= Nanos{0});
  WEIR_DCHECK(Nanos{limit.emission().capacity.whole} + debt_max <= 2 * kCapacityMax);
  WEIR_DCHECK(patience >= Nanos{0});
  WEIR_DCHECK(patience <= debt_max);
  const Emission& emission = limit.emission();
  const std::uint32_t denominator = emission.denominator;
  const ExactNanos present{now.time_since_epoch().count(), 0};
  const ExactNanos horizon = Add(present, emission.capacity, denominator);

  const ExactNanos as_kept = TatOf(bucket, denominator);
  const ExactNanos tat =
      as_kept <= horizon ? as_kept : ClampedTat(as_kept, denominator, horizon, debt_max);
  const bool as_it_came = cost == 0 || tat == as_kept;
  Step step{{}, as_it_came ? bucket : BucketOfTat(tat)};
  ExactNanos base = std::max(tat, present);  // after the decision: when the bucket is full

  const auto burst = static_cast<std::uint64_t>(limit.shape().burst);
  if (keep > burst || cost > burst - keep) {
    step.decision.retry_after = kNever;
  } else if (cost == 0 && keep == 0) {
    step.decision.allowed = true;
  } else {
    ExactNanos next = cost == 0 ? base : Add(base, CostInTime(emission, cost), denominator);
    const ExactNanos last =
        keep == 0 ? horizon : Subtract(horizon, CostInTime(emission, keep), denominator);
    bool still_banned = false;
    bool is_soon = next <= last;
    if (!is_soon) {
      const ExactNanos wait = Subtract(next, last, denominator);
      step.decision.retry_after = Nanos{Ceil(wait)};
      WEIR_CHECK(step.decision.retry_after > Nanos{0});
      is_soon = wait <= ExactNanos{patience.count(), 0};
      still_banned = patience > Nanos{0} && step.bucket.extra == kBannedExtra &&
                     Add(tat, emission.interval, denominator) > horizon;
    }
    if (is_soon) {
      if (still_banned) next = {Ceil(next), 0};
      WEIR_CHECK(next.whole >= base.whole);  // No admission makes a bucket fuller.
      step.decision.allowed = true;
      if (cost > 0) step.bucket = still_banned ? BannedUntil(next) : BucketOfTat(next);
      base = next;
    }
  }
  if (base <= horizon) {
    step.decision.remaining = TokensIn(emission, Subtract(horizon, base, denominator));
  }
  // Only in debug builds: these two would cost 0.3 % of a request with three limits.
  WEIR_DCHECK(step.decision.remaining <= limit.shape().burst);
  WEIR_DCHECK(step.decision.remaining >= 0);
  step.decision.reset_after = Nanos{Ceil(Subtract(base, present, denominator))};
  return step;
}

}  // namespace

Bucket BucketOfTat(ExactNanos tat) noexcept {
  WEIR_DCHECK(tat.whole >= 0);
  const auto whole = static_cast<std::uint64_t>(tat.whole);
  return {static_cast<std::uint32_t>(whole), static_cast<std::uint32_t>(whole >> 32),
          tat.numerator};
}

bool IsTokenBucketFull(Bucket bucket, Instant now) noexcept {
  const ExactNanos tat = TatOf(bucket, kDenominatorMax);
  return tat <= ExactNanos{now.time_since_epoch().count(), 0};
}

Step DecideTokenBucket(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                       Nanos debt_max) noexcept {
  return DecideBucket(limit, bucket, now, cost, debt_max, Nanos{0}, 0);
}

Step DecideTokenBucket(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                       Nanos debt_max, Nanos patience, std::uint64_t keep) noexcept {
  return DecideBucket(limit, bucket, now, cost, debt_max, patience, keep);
}

Bucket BanTokenBucket(const Limit& limit, Bucket bucket, Instant now, Nanos debt_max) noexcept {
  WEIR_DCHECK(limit.shape().ban > Nanos{0});
  if (TokenBucketBanLeft(limit, bucket, now, debt_max) > Nanos{0}) return bucket;
  const Emission& emission = limit.emission();
  const std::uint32_t denominator = emission.denominator;
  const ExactNanos end{(now + limit.shape().ban).time_since_epoch().count(), 0};
  const ExactNanos rest = Subtract(emission.capacity, emission.interval, denominator);
  const ExactNanos tat{Ceil(Add(end, rest, denominator)), 0};
  if (tat <= TatOf(bucket, denominator)) return bucket;
  return BannedUntil(tat);
}

Bucket TrimTokenBucket(const Limit& limit, Bucket bucket, Instant now, Nanos ban_left) noexcept {
  const Emission& emission = limit.emission();
  const std::uint32_t denominator = emission.denominator;
  const ExactNanos present{now.time_since_epoch().count(), 0};
  const ExactNanos tat = TatOf(bucket, denominator);
  ExactNanos last = Add(present, emission.capacity, denominator);
  if (ban_left == Nanos{0}) return tat > last ? BucketOfTat(last) : bucket;
  // The first token is there at the end of the ban: a TAT has no fraction beside the mark.
  last = Add(Subtract(last, emission.interval, denominator), {ban_left.count(), 0}, denominator);
  return tat.whole > last.whole ? BannedUntil({last.whole, 0}) : bucket;
}

Nanos TokenBucketBanLeft(const Limit& limit, Bucket bucket, Instant now, Nanos debt_max) noexcept {
  if (bucket.extra != kBannedExtra) return Nanos{0};
  const Emission& emission = limit.emission();
  const std::uint32_t denominator = emission.denominator;
  const ExactNanos present{now.time_since_epoch().count(), 0};
  const ExactNanos horizon = Add(present, emission.capacity, denominator);
  const ExactNanos tat = TatOf(bucket, denominator);
  if (tat > ClampedTat(tat, denominator, horizon, debt_max)) return Nanos{0};
  const ExactNanos first_token = Add(tat, emission.interval, denominator);
  if (first_token <= horizon) return Nanos{0};
  return Nanos{Ceil(Subtract(first_token, horizon, denominator))};
}

Nanos TokenBucketDebtLeft(const Limit& limit, Bucket bucket, Instant now, Nanos debt_max) noexcept {
  const Emission& emission = limit.emission();
  const std::uint32_t denominator = emission.denominator;
  const ExactNanos present{now.time_since_epoch().count(), 0};
  const ExactNanos horizon = Add(present, emission.capacity, denominator);
  const ExactNanos tat = ClampedTat(TatOf(bucket, denominator), denominator, horizon, debt_max);
  const Nanos ban_left = TokenBucketBanLeft(limit, bucket, now, debt_max);
  if (tat <= horizon) return ban_left;
  return std::max(ban_left, Nanos{Ceil(Subtract(tat, horizon, denominator))});
}

Bucket RefundTokenBucket(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                         Nanos debt_max) noexcept {
  const Emission& emission = limit.emission();
  const std::uint32_t denominator = emission.denominator;
  const ExactNanos present{now.time_since_epoch().count(), 0};
  const ExactNanos horizon = Add(present, emission.capacity, denominator);
  const ExactNanos tat = ClampedTat(TatOf(bucket, denominator), denominator, horizon, debt_max);
  if (cost == 0 || tat <= present) return bucket;

  const Wide owed = Wide{cost} * static_cast<std::uint64_t>(emission.period);
  const Wide charged_parts = PartsOf(Subtract(tat, present, denominator), denominator);
  if (owed >= charged_parts) return BucketOfTat(present);
  const ExactNanos left = TimeOfParts(charged_parts - owed, denominator);
  const ExactNanos given_back = Add(present, left, denominator);
  WEIR_CHECK(given_back <= tat);
  return BucketOfTat(given_back);
}

Bucket ChargeTokenBucket(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                         Nanos debt_max, Nanos max_wait) noexcept {
  WEIR_DCHECK(max_wait <= debt_max);
  const Emission& emission = limit.emission();
  const std::uint32_t denominator = emission.denominator;
  const ExactNanos present{now.time_since_epoch().count(), 0};
  const ExactNanos horizon = Add(present, emission.capacity, denominator);
  const ExactNanos tat = ClampedTat(TatOf(bucket, denominator), denominator, horizon, debt_max);
  const ExactNanos base = std::max(tat, present);
  const ExactNanos debt = std::max(emission.capacity, ExactNanos{max_wait.count(), 0});
  const ExactNanos last = Add(horizon, debt, denominator);
  if (cost == 0) return bucket;
  if (base >= last) return BucketOfTat(tat);
  const Wide charged = Wide{cost} * static_cast<std::uint64_t>(emission.period);
  if (charged >= PartsOf(Subtract(last, base, denominator), denominator)) return BucketOfTat(last);
  return BucketOfTat(Add(base, TimeOfParts(charged, denominator), denominator));
}

std::int64_t UsedInTokenBucket(const Limit& limit, Bucket bucket, Instant now,
                               Nanos debt_max) noexcept {
  const Emission& emission = limit.emission();
  const std::uint32_t denominator = emission.denominator;
  const ExactNanos present{now.time_since_epoch().count(), 0};
  const ExactNanos horizon = Add(present, emission.capacity, denominator);
  const ExactNanos tat = ClampedTat(TatOf(bucket, denominator), denominator, horizon, debt_max);
  if (tat <= present) return 0;
  const auto period = static_cast<std::uint64_t>(emission.period);
  const Wide parts = PartsOf(Subtract(tat, present, denominator), denominator);
  return static_cast<std::int64_t>(std::min<Wide>((parts + period - 1) / period, INT64_MAX));
}

}  // namespace weir
