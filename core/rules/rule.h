// Decides a bucket by the rule of its limit, whatever the algorithm.
//
// Each algorithm has a file of its own (token_bucket.h, fixed_window.h, sliding_window.h) with its
// rule and its laws; here is only the choice between them, and the two limits that have no bucket.
// Pure and total, as they are. Requires everywhere: now in [Instant{}, kInstantMax], max_wait in
// [0, kMaxWaitMax].
#pragma once

#include <cstdint>

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/step.h"

namespace weir {

// Decides `cost` tokens and says what the bucket becomes. An absent bucket is Bucket{}; so is that
// of a limit that has none. Patience is for token buckets (RL.WAIT) and 0 elsewhere. The bucket of
// CL.THROTTLE is believed up to kDebtMax from now, whatever max_wait is: a debt lasts, as in
// redis-cell, although the next request may bring smaller numbers. That of a policy is believed up
// to the greatest capacity that its limit has had (Limit::outgrown).
[[nodiscard]] Step DecideLimit(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                               Nanos max_wait, Nanos patience = Nanos{0}) noexcept;

// The bucket after `cost` tokens were given back: never past full.
[[nodiscard]] Bucket RefundLimit(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                                 Nanos max_wait) noexcept;

// True when the bucket is as good as absent. Goes by the limit's identity alone (limit.h).
[[nodiscard]] bool IsFull(const Limit& limit, Bucket bucket, Instant now) noexcept;

// The used share of what the limit holds, in parts of kWholeShare: of a token bucket the time to
// full, of its capacity; of a window the tokens in use, of its count. A debt counts as all. Half
// where the limit is CL.THROTTLE's, whose bucket has no capacity of its own.
inline constexpr std::int64_t kWholeShare = 1 << 30;
[[nodiscard]] std::int64_t UsedShare(const Limit& limit, Bucket bucket, Instant now) noexcept;

// Until IsFull, and 0 when it is; by the limit's identity alone.
[[nodiscard]] Nanos TimeToFull(const Limit& limit, Bucket bucket, Instant now) noexcept;

}  // namespace weir
