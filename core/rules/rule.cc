#include "core/rules/rule.h"

#include <algorithm>
#include <limits>

#include "absl/base/attributes.h"

#include "core/base/check.h"
#include "core/base/wide.h"
#include "core/rules/fixed_window.h"
#include "core/rules/held_limit.h"
#include "core/rules/sliding_window.h"
#include "core/rules/token_bucket.h"

namespace weir {

Nanos BelievedDebt(const Limit& limit, Nanos max_wait) noexcept {
  const Nanos capacity = limit.capacity();
  if (limit.owner() == kThrottleOwner) return kCapacityMax - capacity;
  // A bucket in a ban is full at a whole nanosecond: at most 1 ns later.
  const Nanos ban = limit.greatest_ban() + Nanos{1};
  return limit.outgrown() + std::max({capacity + limit.outgrown(), max_wait, ban});
}

namespace {

// The answer of a limit without a bucket: "unlimited" always has tokens, "none" never has any.
Step Always(bool allowed) noexcept {
  Step step;
  step.decision.allowed = allowed;
  step.decision.remaining = allowed ? std::numeric_limits<std::int64_t>::max() : 0;
  step.decision.retry_after = allowed ? Nanos{0} : kNever;
  return step;
}

// True if the bucket is charged up to a time that each limit believes, however little it does.
bool IsWithinCapacity(const Limit& limit, Bucket bucket, Instant now) noexcept {
  const Nanos tat{TatOf(bucket, kDenominatorMax).whole};
  return tat < now.time_since_epoch() + Nanos{limit.emission().capacity.whole};
}

// Inline, so that a decision without patience and without `keep` does not pay for them.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Step DecideByRule(const Limit& limit, Bucket bucket,
                                                      Instant now, std::uint64_t cost,
                                                      Nanos max_wait, Nanos patience,
                                                      std::uint64_t keep) noexcept {
  WEIR_DCHECK(patience == Nanos{0} || limit.shape().algorithm == Algorithm::kTokenBucket ||
              !limit.has_bucket());
  switch (limit.shape().algorithm) {
    case Algorithm::kTokenBucket: {
      const bool is_plain = patience == Nanos{0} && keep == 0;
      if (is_plain && IsWithinCapacity(limit, bucket, now)) {
        return DecideTokenBucket(limit, bucket, now, cost, Nanos{0});
      }
      const Nanos debt_max = BelievedDebt(limit, max_wait);
      if (is_plain) return DecideTokenBucket(limit, bucket, now, cost, debt_max);
      return DecideTokenBucket(limit, bucket, now, cost, debt_max, patience, keep);
    }
    case Algorithm::kFixedWindow:
      return DecideFixedWindow(limit, bucket, now, cost, keep);
    case Algorithm::kSlidingWindow:
      return DecideSlidingWindow(limit, bucket, now, cost, keep);
    case Algorithm::kHeld:
      return DecideHeld(limit, bucket, now, cost, keep);
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return Always(limit.shape().algorithm == Algorithm::kUnlimited);
}

}  // namespace

Step DecideLimit(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                 Nanos max_wait) noexcept {
  return DecideByRule(limit, bucket, now, cost, max_wait, Nanos{0}, 0);
}

Step DecideLimit(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost, Nanos max_wait,
                 Nanos patience, std::uint64_t keep) noexcept {
  return DecideByRule(limit, bucket, now, cost, max_wait, patience, keep);
}

std::int64_t TimesThere(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                        std::uint64_t keep, Nanos max_wait) noexcept {
  const Decision look = DecideLimit(limit, bucket, now, 0, max_wait).decision;
  if (!look.allowed) return 0;  // "none"
  if (!limit.has_bucket()) return kTimesMax;
  WEIR_CHECK(look.remaining >= 0);
  const auto remaining = static_cast<std::uint64_t>(look.remaining);
  if (keep > remaining) return 0;
  return cost == 0 ? kTimesMax : static_cast<std::int64_t>((remaining - keep) / cost);
}

Bucket RefundLimit(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                   Nanos max_wait) noexcept {
  switch (limit.shape().algorithm) {
    case Algorithm::kTokenBucket:
      return RefundTokenBucket(limit, bucket, now, cost, BelievedDebt(limit, max_wait));
    case Algorithm::kFixedWindow:
      return RefundFixedWindow(limit, bucket, now, cost);
    case Algorithm::kSlidingWindow:
      return RefundSlidingWindow(limit, bucket, now, cost);
    case Algorithm::kHeld:
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return bucket;
}

Bucket ChargeLimit(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                   Nanos max_wait) noexcept {
  switch (limit.shape().algorithm) {
    case Algorithm::kTokenBucket:
      return ChargeTokenBucket(limit, bucket, now, cost, BelievedDebt(limit, max_wait), max_wait);
    case Algorithm::kFixedWindow:
      return ChargeFixedWindow(limit, bucket, now, cost);
    case Algorithm::kSlidingWindow:
      return ChargeSlidingWindow(limit, bucket, now, cost);
    case Algorithm::kHeld:
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return bucket;
}

std::int64_t UsedTokens(const Limit& limit, Bucket bucket, Instant now, Nanos max_wait) noexcept {
  if (BanLeft(limit, bucket, now, max_wait) > Nanos{0}) return limit.capacity_tokens();
  switch (limit.shape().algorithm) {
    case Algorithm::kTokenBucket:
      return UsedInTokenBucket(limit, bucket, now, BelievedDebt(limit, max_wait));
    case Algorithm::kFixedWindow:
      return UsedInFixedWindow(limit, bucket, now);
    case Algorithm::kSlidingWindow:
      return UsedInSlidingWindow(limit, bucket, now);
    case Algorithm::kHeld:
      return UsedInHeld(bucket, now);
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return 0;
}

Bucket BanLimit(const Limit& limit, Bucket bucket, Instant now, Nanos max_wait) noexcept {
  WEIR_CHECK(limit.shape().ban > Nanos{0});
  if (limit.shape().algorithm == Algorithm::kFixedWindow) return BanFixedWindow(limit, bucket, now);
  return BanTokenBucket(limit, bucket, now, BelievedDebt(limit, max_wait));
}

Nanos BanLeft(const Limit& limit, Bucket bucket, Instant now, Nanos max_wait) noexcept {
  switch (limit.shape().algorithm) {
    case Algorithm::kTokenBucket:
      return TokenBucketBanLeft(limit, bucket, now, BelievedDebt(limit, max_wait));
    case Algorithm::kFixedWindow:
      return FixedWindowBanLeft(limit, bucket, now);
    case Algorithm::kSlidingWindow:
    case Algorithm::kHeld:
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return Nanos{0};
}

Nanos DebtLeft(const Limit& limit, Bucket bucket, Instant now, Nanos max_wait) noexcept {
  switch (limit.shape().algorithm) {
    case Algorithm::kTokenBucket:
      return TokenBucketDebtLeft(limit, bucket, now, BelievedDebt(limit, max_wait));
    case Algorithm::kFixedWindow:
      return FixedWindowDebtLeft(limit, bucket, now);
    case Algorithm::kSlidingWindow:
      return SlidingWindowDebtLeft(limit, bucket, now);
    case Algorithm::kHeld:
    case Algorithm::kUnlimited:
      return Nanos{0};
    case Algorithm::kNone:
      break;
  }
  return kNever;
}

Bucket TrimLimit(const Limit& before, const Limit& limit, Bucket bucket, Instant now,
                 Nanos max_wait) noexcept {
  switch (limit.shape().algorithm) {
    case Algorithm::kTokenBucket:
      return TrimTokenBucket(limit, bucket, now, BanLeft(before, bucket, now, max_wait));
    case Algorithm::kFixedWindow:
      return TrimFixedWindow(limit, bucket, now);
    case Algorithm::kSlidingWindow:
      return TrimSlidingWindow(limit, bucket, now);
    case Algorithm::kHeld:
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return bucket;
}

bool IsFull(const Limit& limit, Bucket bucket, Instant now) noexcept {
  switch (limit.shape().algorithm) {
    case Algorithm::kTokenBucket:
      return IsTokenBucketFull(bucket, now);
    case Algorithm::kFixedWindow:
      return IsFixedWindowFull(bucket, now);
    case Algorithm::kSlidingWindow:
      return IsSlidingWindowFull(limit, bucket, now);
    case Algorithm::kHeld:
      return IsHeldFull(bucket, now);
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return true;
}

bool HasFormOf(const Limit& limit, Bucket bucket) noexcept {
  if (!HasSpareBit(bucket)) return true;
  return limit.shape().algorithm == Algorithm::kFixedWindow &&
         BucketOf(FixedWindowOf(bucket)) == bucket;
}

std::int64_t UsedShare(const Limit& limit, Bucket bucket, Instant now) noexcept {
  if (IsFull(limit, bucket, now)) return 0;
  if (limit.owner() == kThrottleOwner) return kWholeShare / 2;
  if (BanLeft(limit, bucket, now, Nanos{0}) > Nanos{0}) return kWholeShare;
  const bool is_window = limit.shape().algorithm != Algorithm::kTokenBucket;
  const std::int64_t whole = is_window ? limit.shape().count : limit.emission().capacity.whole;
  const std::int64_t used =
      is_window ? whole - DecideLimit(limit, bucket, now, 0, Nanos{0}).decision.remaining
                : TimeToFull(limit, bucket, now).count();
  WEIR_CHECK(used > 0);  // It is not full.
  if (used >= whole) return kWholeShare;
  return static_cast<std::int64_t>(Wide{static_cast<std::uint64_t>(used)} * kWholeShare /
                                   static_cast<std::uint64_t>(whole));
}

Nanos TimeToFull(const Limit& limit, Bucket bucket, Instant now) noexcept {
  if (limit.shape().algorithm == Algorithm::kTokenBucket) {
    const Nanos full_at{Ceil(TatOf(bucket, kDenominatorMax))};
    return std::max(full_at - now.time_since_epoch(), Nanos{0});
  }
  // A ban's end is believed even if this limit is from before its policy had a ban that long.
  const FixedWindow window = FixedWindowOf(bucket);
  if (limit.shape().algorithm == Algorithm::kFixedWindow && window.used == kBannedUsed) {
    return std::max(window.end - now, Nanos{0});
  }
  const Nanos wait = DecideLimit(limit, bucket, now, 0, Nanos{0}).decision.reset_after;
  WEIR_DCHECK(IsFull(limit, bucket, now) == (wait == Nanos{0}));
  return wait;
}

}  // namespace weir
