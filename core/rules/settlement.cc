#include "core/rules/settlement.h"

#include <algorithm>
#include <limits>

#include "absl/status/statusor.h"

#include "core/base/check.h"
#include "core/base/exact_nanos.h"
#include "core/base/wide.h"
#include "core/rules/fixed_window.h"
#include "core/rules/held_limit.h"
#include "core/rules/rule.h"
#include "core/rules/sliding_window.h"
#include "core/rules/token_bucket.h"

namespace weir {
namespace {

constexpr std::uint64_t kSumMax = std::numeric_limits<std::uint64_t>::max();

bool HasTokenBucket(const Limit& limit) noexcept {
  return limit.shape().algorithm == Algorithm::kTokenBucket;
}

// The most that one reservation may give back: a change that counts more than that is cut to it, so
// that a sum has room for thousands of them. One that has reached its maximum gives nothing back.
std::uint64_t GivenBackMax(const Limit& limit, Nanos max_wait) noexcept {
  // A window's charge without its debt: the greatest count.
  if (!HasTokenBucket(limit)) return static_cast<std::uint64_t>(limit.window_used_max() / 2);
  return static_cast<std::uint64_t>((limit.capacity() + BelievedDebt(limit, max_wait)).count());
}

void AddTo(std::uint64_t& sum, std::uint64_t amount) noexcept {
  if (__builtin_add_overflow(sum, amount, &sum)) sum = kSumMax;
}

// The growth of a sum since the reservation. A sum that has shrunk is damaged, as one of the
// maximum.
std::uint64_t Since(std::uint64_t sum, std::uint64_t then) noexcept {
  return sum == kSumMax || sum < then ? kSumMax : sum - then;
}

// a - b, or 0.
Wide Less(Wide a, Wide b) noexcept { return a > b ? a - b : 0; }

std::uint64_t CeilOf(Wide parts, std::uint32_t denominator) noexcept {
  return static_cast<std::uint64_t>((parts + denominator - 1) / denominator);
}

// A token bucket's TAT at an instant, in parts of a nanosecond after it; 0 if the bucket is full.
struct Charge {
  Wide parts = 0;
  bool is_cut = false;  // by the clamp
};

Charge ChargeIn(const Limit& limit, Bucket bucket, Instant now, Nanos max_wait) noexcept {
  const Emission& emission = limit.emission();
  const std::uint32_t denominator = emission.denominator;
  const ExactNanos present{now.time_since_epoch().count(), 0};
  const ExactNanos tat = TatOf(bucket, denominator);
  if (tat <= present) return {};
  const ExactNanos debt{BelievedDebt(limit, max_wait).count(), 0};
  const ExactNanos most = Add(emission.capacity, debt, denominator);
  const ExactNanos charge = Subtract(tat, present, denominator);
  return {PartsOf(std::min(charge, most), denominator), charge > most};
}

// What `tokens` of the estimate have charged, in parts of a nanosecond.
Wide ChargedFor(std::uint64_t tokens, const Estimate& estimate, const Emission& emission,
                bool same_interval) noexcept {
  const Wide charged = Wide{tokens} * static_cast<std::uint64_t>(estimate.period);
  return same_interval ? charged : charged / estimate.denominator * emission.denominator;
}

Bucket GiveBackToBucket(const Limit& limit, Bucket bucket, Instant now, const Estimate& estimate,
                        std::uint64_t tokens, Nanos max_wait, SettlementSums& sums) noexcept {
  const Emission& emission = limit.emission();
  const std::uint32_t denominator = emission.denominator;
  const ExactNanos present{now.time_since_epoch().count(), 0};
  const Charge charge = ChargeIn(limit, bucket, now, max_wait);
  const bool same_interval =
      estimate.period == emission.period && estimate.denominator == denominator;
  ExactNanos until = TatOf(estimate.left, denominator);
  if (!same_interval) until.numerator = 0;  // It was a part of something else.
  if (charge.is_cut || until <= present) return bucket;
  const Wide still_charged =
      Less(PartsOf(Subtract(until, present, denominator), denominator),
           Wide{Since(sums.given_back, estimate.sums.given_back)} * denominator);
  const Wide charged = ChargedFor(tokens, estimate, emission, same_interval);
  const Wide cut_off = Wide{Since(sums.cut_off, estimate.sums.cut_off)} * denominator;
  const Wide left = Less(std::min(charged, still_charged), cut_off);
  const Wide worth = Wide{tokens} * static_cast<std::uint64_t>(emission.period);
  const Wide given_back = std::min({left, worth, charge.parts});
  if (given_back == 0) return bucket;
  AddTo(sums.given_back, CeilOf(given_back, denominator));
  return BucketOfTat(
      Add(present, TimeOfParts(charge.parts - given_back, denominator), denominator));
}

// The end of a window as it is in its widest bucket. A bucket that was wide keeps that end when it
// is narrow again, and when the count has been lowered.
Instant EndOfWidest(const LimitShape& shape, Bucket bucket) noexcept {
  LimitShape widest = shape;
  widest.count = CountMaxOf(shape);
  return WrittenEnd(widest, FixedWindowOf(bucket).end);
}

Bucket GiveBackToWindow(const Limit& limit, Bucket bucket, Instant now, const Estimate& estimate,
                        std::uint64_t tokens, const SettlementSums& sums) noexcept {
  tokens -= std::min(tokens, Since(sums.given_back, estimate.sums.given_back));
  tokens -= std::min(tokens, Since(sums.cut_off, estimate.sums.cut_off));
  if (limit.shape().algorithm == Algorithm::kSlidingWindow) {
    return ReturnToSlidingWindow(limit, bucket, now, SlidingWindowOf(estimate.left).number, tokens);
  }
  const Instant end = FixedWindowOf(bucket).end;
  // Two windows may end in one millisecond: `sums` has what was given back between them.
  const bool is_same =
      EndOfWidest(limit.shape(), bucket) == EndOfWidest(limit.shape(), estimate.left);
  // The clamp would put another end in its place.
  const bool is_in_force = TimeToFull(limit, bucket, now) == end - now;
  return is_same && is_in_force ? RefundFixedWindow(limit, bucket, now, tokens) : bucket;
}

}  // namespace

Estimate EstimateOf(const Limit& limit, Bucket left, std::uint64_t cost,
                    const SettlementSums& sums) noexcept {
  return {cost, left, sums, limit.emission().period, limit.emission().denominator};
}

Limit LimitOfEstimate(const Limit& before, const Estimate& estimate) {
  if (!HasTokenBucket(before) || estimate.period <= 0) return before;
  LimitShape shape = before.shape();
  // In lowest terms the interval may belong to a period that is too short to be written.
  const std::int64_t times = (kPeriodMin.count() - 1) / estimate.period + 1;
  shape.count = std::int64_t{estimate.denominator} * times;
  shape.period = Nanos{estimate.period * times};
  const absl::StatusOr<Limit> limit = Limit::Create(shape);
  if (!limit.ok()) return before;
  return limit->OwnedBy(before.owner(), {kCapacityMax, before.greatest_ban()});
}

Bucket SettleLimit(const Limit& limit, Bucket bucket, Instant now, const Estimate& estimate,
                   std::uint64_t cost, Nanos max_wait, SettlementSums& sums) noexcept {
  if (limit.shape().algorithm == Algorithm::kHeld) return ReturnHeld(bucket, estimate.cost);
  if (!limit.has_bucket() || cost == estimate.cost) return bucket;
  if (cost > estimate.cost) {
    const std::uint64_t rest = cost - estimate.cost;
    const Bucket charged = ChargeLimit(limit, bucket, now, rest, max_wait);
    CountCharge(limit, bucket, charged, now, rest, max_wait, sums);
    return charged;
  }
  const std::uint64_t tokens = estimate.cost - cost;
  return HasTokenBucket(limit)
             ? GiveBackToBucket(limit, bucket, now, estimate, tokens, max_wait, sums)
             : GiveBackToWindow(limit, bucket, now, estimate, tokens, sums);
}

void CountRefund(const Limit& limit, Bucket before, Bucket after, Instant now, Nanos max_wait,
                 SettlementSums& sums) noexcept {
  if (!limit.has_bucket()) return;
  if (HasTokenBucket(limit)) {
    const Wide given_back = Less(ChargeIn(limit, before, now, max_wait).parts,
                                 ChargeIn(limit, after, now, max_wait).parts);
    AddTo(sums.given_back, CeilOf(given_back, limit.emission().denominator));
    return;
  }
  const std::int64_t tokens =
      UsedTokens(limit, before, now, max_wait) - UsedTokens(limit, after, now, max_wait);
  WEIR_CHECK(tokens >= 0);
  AddTo(sums.given_back, static_cast<std::uint64_t>(tokens));
}

void CountTrim(const Limit& limit, Bucket before, Bucket after, Instant now, Nanos max_wait,
               SettlementSums& sums) noexcept {
  if (HasTokenBucket(limit) && ChargeIn(limit, before, now, max_wait).is_cut) {
    return ForbidGivingBack(limit, max_wait, sums);  // `before` does not tell the debt.
  }
  SettlementSums cut;
  if (limit.shape().algorithm != Algorithm::kSlidingWindow) {
    CountRefund(limit, before, after, now, max_wait, cut);
  } else {
    const std::int64_t tokens =
        TokensInSlidingWindow(limit, before, now) - TokensInSlidingWindow(limit, after, now);
    WEIR_CHECK(tokens >= 0);
    cut.given_back = static_cast<std::uint64_t>(tokens);
  }
  AddTo(sums.cut_off, cut.given_back);
}

void CountCharge(const Limit& limit, Bucket before, Bucket after, Instant now, std::uint64_t cost,
                 Nanos max_wait, SettlementSums& sums) noexcept {
  if (!limit.has_bucket()) return;
  std::uint64_t most = GivenBackMax(limit, max_wait);
  if (HasTokenBucket(limit)) {
    const std::uint32_t denominator = limit.emission().denominator;
    const Wide asked = Wide{cost} * static_cast<std::uint64_t>(limit.emission().period);
    const Wide charged = Less(ChargeIn(limit, after, now, max_wait).parts,
                              ChargeIn(limit, before, now, max_wait).parts);
    const Wide cut_off = std::min(Less(asked, charged), Wide{most} * denominator);
    AddTo(sums.cut_off, CeilOf(cut_off, denominator));
    return;
  }
  const std::int64_t charged =
      UsedTokens(limit, after, now, max_wait) - UsedTokens(limit, before, now, max_wait);
  WEIR_CHECK(charged >= 0);
  if (limit.shape().algorithm == Algorithm::kFixedWindow) {
    // No reservation has more in the window than all that is used in it.
    most = std::min(most, static_cast<std::uint64_t>(UsedTokens(limit, after, now, max_wait)));
  }
  AddTo(sums.cut_off, std::min(most, cost - static_cast<std::uint64_t>(charged)));
}

bool HasLostTime(const Limit& limit, Bucket before, Bucket after) noexcept {
  if (!limit.has_bucket() || limit.shape().algorithm == Algorithm::kHeld) return false;
  if (limit.shape().algorithm == Algorithm::kSlidingWindow) {
    const SlidingWindow window = SlidingWindowOf(before);
    const bool is_empty = window.used == 0 && window.before == 0;
    return !is_empty &&
           static_cast<std::int32_t>(SlidingWindowOf(after).number - window.number) < 0;
  }
  // A token bucket begins with a time, too.
  return FixedWindowOf(after).end < FixedWindowOf(before).end;
}

void ForbidGivingBack(const Limit& limit, Nanos max_wait, SettlementSums& sums) noexcept {
  AddTo(sums.cut_off, GivenBackMax(limit, max_wait));
}

}  // namespace weir
