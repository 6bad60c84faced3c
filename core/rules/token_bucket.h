// Token bucket, stored as one time (GCRA, virtual scheduling): no counter, no refill, no timer.
//
// The bucket is its theoretical arrival time (TAT), the instant at which it is full again. A
// request of `cost` tokens moves the TAT `cost` emission intervals later, and passes if the result
// is at most `capacity` after now:
//
//     base = max(TAT, now)       next = base + cost * E       admit  iff  next <= now + capacity
//
//     now ------ TAT ------------------ next ------- now + capacity          admitted: TAT := next
//                 |<--- cost * E ----->|<- room: what remains ->|
//
// Everything is exact: times carry their fraction of a nanosecond (exact_nanos.h), so in any time t
// a bucket admits at most burst + floor(t * count / period) tokens, and a greedy caller gets
// exactly that.
//
// A charge moves the TAT whether the tokens are there or not, so that the bucket is in debt: up to
// `debt_max` beyond now + capacity, where it is empty. A reservation (patience) does so, too.
//
// The clamp: a stored time later than now + capacity + debt_max can only be foreign, damaged or
// older than a lowered limit. It is cut to that time, so that the bucket delays callers and never
// locks them out. rule.h has the debt_max of a limit.
//
// A ban of d shuts the bucket: its first token is back after d, and the others follow at the rate.
//
//     TAT := max(TAT, now + d + capacity - E), rounded up to whole ns    ends at TAT - capacity + E
//
// If that moves the TAT, kBannedExtra takes the place of the fraction, which reads as 0. This mark
// distinguishes a ban from a wait for tokens, so that a denial during a ban does not start the next
// one. The next charge, refund or clamp drops it; but tokens of the future that are reserved during
// the ban move its end as they move the TAT, rounded up again.
//
// Pure and total: no clock, lock, heap, log or exception. O(1): one division, 64-bit where the
// numbers fit. Source: ITU-T I.371, virtual scheduling algorithm. Tested by token_bucket_test.cc,
// token_bucket_law_test.cc and token_bucket_model_test.cc.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/exact_nanos.h"
#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/step.h"

namespace weir {

// Decides `cost` tokens against `bucket` (default-constructed: full). The decision's remaining and
// reset_after are those of the returned bucket. A cost of 0 only looks: it is always admitted, and
// the bucket is returned unchanged. A cost may be the sum of several checks' costs; a sum that
// saturates at 2^64-1 is above every burst, so it is always denied. Requires: a token bucket limit,
// now in [Instant{}, kInstantMax], debt_max such that capacity + debt_max is at most twice
// kCapacityMax.
[[nodiscard]] Step DecideTokenBucket(const Limit& limit, Bucket bucket, Instant now,
                                     std::uint64_t cost, Nanos debt_max) noexcept;

// The same with patience and `keep`. Requires: patience in [0, debt_max].
//
// With patience a request may reserve future tokens: admit iff next <= now + capacity + patience.
// An admission whose retry_after is above 0 is such a reservation; its tokens are there after that
// time.
//
// With `keep` a request passes only if that many tokens are left after it:
//
//     admit  iff  next + keep * E <= now + capacity + patience
//
// The cost alone is charged, and retry_after is that of cost + keep tokens. So a cost of 0 may be
// denied; the bucket is returned unchanged.
[[nodiscard]] Step DecideTokenBucket(const Limit& limit, Bucket bucket, Instant now,
                                     std::uint64_t cost, Nanos debt_max, Nanos patience,
                                     std::uint64_t keep) noexcept;

// Gives `cost` tokens back: moves the TAT earlier by the time that they had added, but not before
// now, and drops the mark of a ban. A full bucket, and any bucket at a cost of 0, is returned
// unchanged. Requirements as above.
[[nodiscard]] Bucket RefundTokenBucket(const Limit& limit, Bucket bucket, Instant now,
                                       std::uint64_t cost, Nanos debt_max) noexcept;

// Charges `cost` tokens, whether they are there or not. The charge itself leaves at most a debt of
// the capacity or of `max_wait`, whichever is longer; what is beyond that is not charged. It drops
// the mark of a ban. Requirements as above, max_wait in [0, debt_max].
[[nodiscard]] Bucket ChargeTokenBucket(const Limit& limit, Bucket bucket, Instant now,
                                       std::uint64_t cost, Nanos debt_max, Nanos max_wait) noexcept;

// The tokens that the bucket is charged with, rounded up: above the burst if it is in debt, at most
// INT64_MAX. Requirements as above.
[[nodiscard]] std::int64_t UsedInTokenBucket(const Limit& limit, Bucket bucket, Instant now,
                                             Nanos debt_max) noexcept;

// Returns the bucket with a ban of limit.shape().ban, or unchanged if a ban is running, or if no
// token would come back before its end. Requires: as above; a limit that says ban=.
[[nodiscard]] Bucket BanTokenBucket(const Limit& limit, Bucket bucket, Instant now,
                                    Nanos debt_max) noexcept;

// Returns the bucket with its debt cut, so that it is full at most one capacity from now, as a
// bucket that was just used up. A ban that still runs for `ban_left` keeps its mark, and ends then
// or earlier. Requirements as above, but for any limit.
[[nodiscard]] Bucket TrimTokenBucket(const Limit& limit, Bucket bucket, Instant now,
                                     Nanos ban_left) noexcept;

// The time until the bucket's ban ends, rounded up; 0 if none is running. Requirements as above,
// but any limit.
[[nodiscard]] Nanos TokenBucketBanLeft(const Limit& limit, Bucket bucket, Instant now,
                                       Nanos debt_max) noexcept;

// The time until TAT <= now + capacity and no ban runs, rounded up. Requirements as above.
[[nodiscard]] Nanos TokenBucketDebtLeft(const Limit& limit, Bucket bucket, Instant now,
                                        Nanos debt_max) noexcept;

// True when the bucket is as good as absent. The limit is not needed: the bucket holds its TAT.
[[nodiscard]] bool IsTokenBucketFull(Bucket bucket, Instant now) noexcept;

// The TAT in a bucket, and the bucket of a TAT. A stored numerator that is not below the
// denominator (the limit has changed since) is read as denominator - 1: an error below 1 ns, once.
// kBannedExtra is read as 0.
[[nodiscard]] inline ExactNanos TatOf(Bucket bucket, std::uint32_t denominator) noexcept {
  const std::uint64_t high = bucket.high & ~kBucketSpareBit;
  return {static_cast<std::int64_t>(high << 32 | bucket.low),
          bucket.extra == kBannedExtra ? 0 : std::min(bucket.extra, denominator - 1)};
}
[[nodiscard]] Bucket BucketOfTat(ExactNanos tat) noexcept;

}  // namespace weir
