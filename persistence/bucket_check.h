// A check of a saved bucket, or of a part of a hold, against its limit.
//
// A bucket that fails the check is damaged in a way that no checksum shows, or was written by
// another program. Buckets that the rules (core/rules/) leave pass, since they have
//
//     token bucket     TAT <= kInstantMax + capacity + max(capacity, kMaxWaitMax)
//                      its fraction < denominator
//       in a ban       TAT <= kInstantMax + capacity + max(capacity, kMaxWaitMax, ban)
//     fixed window     end <= kInstantMax + period, in whole milliseconds for a great count;
//                      aligned: a multiple of the period; with a calendar: end <= kInstantMax +
//                      the longest window
//                      used <= 2 * count
//       in a ban       end <= kInstantMax + max(ban, period)
//     sliding window   number <= kInstantMax / period
//                      used <= 2 * count, before <= 2 * count; both < 2^31
//
// and the spare bit only as HasFormOf has it.
//
// A bucket of a policy or of CL.THROTTLE stays when the numbers of its limit change. So its
// capacity, denominator, count and ban are taken to be the greatest that a limit can have. (A
// sliding window keeps its number modulo 2^32, so the numbers for periods below 1.1 s are not
// checked. The end of a calendar window may be one of an earlier zone database.)
//
// The bucket that a reservation left behind passes, too. The tokens that a hold has of a held limit
// are at most its count.
//
// Pure and thread-safe. Cost: a few comparisons and at most one division.
#pragma once

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/table/hold.h"
#include "core/words/request.h"

namespace weir {

// The latest time in a bucket: that of one which owes as much again as it holds at the last
// instant.
inline constexpr Instant kTimeMax = kInstantMax + 2 * kCapacityMax;
static_assert(kTimeMax > kInstantMax + kPeriodMax);

// False for a bucket that the rule of `limit` cannot have left. Requires: a limit with a bucket.
[[nodiscard]] bool CanHaveLeft(const Limit& limit, const Bucket& bucket) noexcept;

// False for a part of an open hold that no reservation can have made. Requires: as above.
[[nodiscard]] bool CanHaveReserved(const Limit& limit, const HoldPart& part) noexcept;

}  // namespace weir
