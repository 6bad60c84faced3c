// The rule of any limit: calls the rule of the limit's algorithm.
//
// Each algorithm has its own file (token_bucket.h, fixed_window.h, sliding_window.h) with its rule
// and its laws. This file chooses between them, and answers for the two limits without a bucket.
// Pure and total, like the rules. Requires everywhere: now in [Instant{}, kInstantMax], max_wait in
// [0, kMaxWaitMax].
#pragma once

#include <cstdint>
#include <limits>

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/step.h"

namespace weir {

// Returns the time past its capacity up to which a token bucket is believed: up to now + C + max(C,
// max_wait, D) in all, where C is the greatest capacity that its limit has had (Limit::outgrown),
// and D the longest ban (Limit::greatest_ban). So no debt that a charge leaves is cut, and no ban.
// A bucket of CL.THROTTLE is believed up to kCapacityMax from now: a debt lasts, as in redis-cell,
// although the next request may bring smaller numbers, and a denial changes nothing.
[[nodiscard]] Nanos BelievedDebt(const Limit& limit, Nanos max_wait) noexcept;

// Decides `cost` tokens and returns the bucket after the decision. Bucket{} stands for an absent
// bucket, and for the bucket of a limit that has none.
[[nodiscard]] Step DecideLimit(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                               Nanos max_wait) noexcept;

// The same with two more arguments: tokens to `keep`, which must be left after the request, and
// patience, which is for token buckets (RL.WAIT) and 0 elsewhere.
[[nodiscard]] Step DecideLimit(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                               Nanos max_wait, Nanos patience, std::uint64_t keep = 0) noexcept;

// How many times a cost passes at once beside the tokens to keep; kTimesMax if the limit does not
// bound that number.
inline constexpr std::int64_t kTimesMax = std::numeric_limits<std::int64_t>::max();
[[nodiscard]] std::int64_t TimesThere(const Limit& limit, Bucket bucket, Instant now,
                                      std::uint64_t cost, std::uint64_t keep,
                                      Nanos max_wait) noexcept;

// Returns the bucket after `cost` tokens were given back: never more than full. The tokens of a
// held limit come back with their holds only, so its bucket is returned unchanged; ChargeLimit does
// so, too.
[[nodiscard]] Bucket RefundLimit(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                                 Nanos max_wait) noexcept;

// Returns the bucket after `cost` tokens were charged, whether they are there or not. A token
// bucket is left at most max(capacity, max_wait) beyond empty, a window at most its count beyond
// used up; what is beyond is not charged.
[[nodiscard]] Bucket ChargeLimit(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                                 Nanos max_wait) noexcept;

// The tokens that the bucket is charged with, rounded up: more than the limit holds if the bucket
// is in debt, all that it holds during a ban.
[[nodiscard]] std::int64_t UsedTokens(const Limit& limit, Bucket bucket, Instant now,
                                      Nanos max_wait) noexcept;

// Returns the bucket after a ban of limit.shape().ban, or unchanged if a ban is running, or if
// nothing would pass before its end. Requires: the limit says ban= and has just denied a cost that
// it can ever admit; the bucket of that denial.
[[nodiscard]] Bucket BanLimit(const Limit& limit, Bucket bucket, Instant now,
                              Nanos max_wait) noexcept;

// The time until the bucket's ban ends, rounded up to whole ns: until then its limit denies every
// cost above 0. 0 if none is running.
[[nodiscard]] Nanos BanLeft(const Limit& limit, Bucket bucket, Instant now,
                            Nanos max_wait) noexcept;

// The time until the bucket is out of debt (it uses no more tokens than its limit has) and no ban
// runs, rounded up to whole ns; 0 if it is at `now`. "none" is in debt forever (kNever);
// "unlimited" and held limits never are.
[[nodiscard]] Nanos DebtLeft(const Limit& limit, Bucket bucket, Instant now,
                             Nanos max_wait) noexcept;

// Returns the bucket with at most the debt of a bucket of `limit` that was just used up. After
// that, no cost passes later than in the used up bucket, nor later than before. A ban that runs by
// the numbers of `before` stays: it ends at the announced time, or sooner. The bucket of a held
// limit is returned unchanged. Trimming twice is the same as once. Requires: limits that share the
// bucket.
[[nodiscard]] Bucket TrimLimit(const Limit& before, const Limit& limit, Bucket bucket, Instant now,
                               Nanos max_wait) noexcept;

// True when the bucket is as good as absent. Depends on the limit's identity alone (limit.h).
[[nodiscard]] bool IsFull(const Limit& limit, Bucket bucket, Instant now) noexcept;

// False for a bucket with a spare bit that no rule of the limit sets (bucket.h): damaged bytes.
[[nodiscard]] bool HasFormOf(const Limit& limit, Bucket bucket) noexcept;

// The used share of a limit, as a fraction of kWholeShare: for a token bucket its time to full
// divided by its capacity, for a window its tokens in use divided by its count. A debt or a ban is
// the whole. A bucket of CL.THROTTLE has no fixed capacity, so it counts as half unless it is full.
inline constexpr std::int64_t kWholeShare = 1 << 30;
[[nodiscard]] std::int64_t UsedShare(const Limit& limit, Bucket bucket, Instant now) noexcept;

// The time until IsFull; 0 if the bucket is full. Depends on the limit's identity alone.
[[nodiscard]] Nanos TimeToFull(const Limit& limit, Bucket bucket, Instant now) noexcept;

}  // namespace weir
