// Settlement: the estimate that a reservation has charged becomes the true cost.
//
// A reservation charges its estimate c at once, as any request. Some time later the true cost a is
// known. If a is above c, the rest is charged as ChargeLimit does. If it is below, d = c - a tokens
// are given back, but never what time, a settlement or a refund has given back already:
//
//     a window    used := used - max(d - g - k, 0)       if the reservation's window is in force
//     a bucket    TAT := max(TAT - r, now)
//                 r = min(d * E, max(min(d * F, max(until - g - now, 0)) - k, 0))
//
//     E, F     the emission interval now, and when the reservation was made: a policy's may have
//              changed since
//     until    the TAT that the reservation left behind
//     g        what others gave back since: for a bucket refunds and settlements, for a window
//              refunds alone, as settlements of others give back their own tokens
//     k        the debt that is missing on top: what bounded charges would have taken since, and
//              did not, because the debt was as great as it may be, and what a trim has cut; as
//              good as infinite after a ban
//
// So whatever the order of reservations and settlements, a bucket never holds more tokens than one
// in which the true costs had been charged at the times of the reservations. It may hold fewer: the
// rule errs on the side of caution where charges overlap. (A fixed window that is not aligned opens
// with the reservation, whatever the true cost.)
//
// A held limit gets all of the estimate back, whatever the true cost.
//
// g and k are differences of two sums, which the keeper of a bucket counts while it has open
// reservations: nanoseconds, rounded up, for a token bucket, tokens for a window. A sum that
// reaches its maximum says that nothing may be given back.
//
// Pure and total: no clock, lock, heap, log or exception. O(1), as a decision. Requirements as in
// rule.h; the functions return a bucket unchanged for a limit that has none. Tested by
// settlement_test.cc and settlement_law_test.cc.
#pragma once

#include <cstdint>

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"

namespace weir {

// The sums of one bucket: of all that was given back to it, and of all that was cut off.
struct SettlementSums {
  std::uint64_t given_back = 0;
  std::uint64_t cut_off = 0;

  friend bool operator==(const SettlementSums&, const SettlementSums&) = default;
};

// The part of a reservation that is about one bucket.
struct Estimate {
  std::uint64_t cost = 0;  // tokens; 0 if the limit is a shadow that denied
  Bucket left;             // the bucket as the reservation left it
  SettlementSums sums;     // of the bucket at that time
  // The emission interval at that time, in lowest terms: `period / denominator` ns. Token bucket
  // only.
  std::int64_t period = 0;
  std::uint32_t denominator = 1;
};

// Makes an estimate of `cost` tokens, charged when the bucket had these sums.
[[nodiscard]] Estimate EstimateOf(const Limit& limit, Bucket left, std::uint64_t cost,
                                  const SettlementSums& sums) noexcept;

// Makes a limit for the settlement of an estimate whose limit no longer has numbers. `before`: that
// limit with its former numbers. For a token bucket, only the burst of `before` counts: the
// interval is that of the estimate, and any debt of the bucket is believed.
[[nodiscard]] Limit LimitOfEstimate(const Limit& before, const Estimate& estimate);

// Returns the bucket after the estimate has become `cost`, and adds to its sums. Bucket{} stands
// for an absent bucket.
[[nodiscard]] Bucket SettleLimit(const Limit& limit, Bucket bucket, Instant now,
                                 const Estimate& estimate, std::uint64_t cost, Nanos max_wait,
                                 SettlementSums& sums) noexcept;

// Add the effect of another change of the bucket to its sums: of a refund, or of a charge of `cost`
// tokens (ChargeLimit).
void CountRefund(const Limit& limit, Bucket before, Bucket after, Instant now, Nanos max_wait,
                 SettlementSums& sums) noexcept;
void CountCharge(const Limit& limit, Bucket before, Bucket after, Instant now, std::uint64_t cost,
                 Nanos max_wait, SettlementSums& sums) noexcept;
// The same for a bucket that TrimLimit has cut: it cuts the top of the debt.
void CountTrim(const Limit& limit, Bucket before, Bucket after, Instant now, Nanos max_wait,
               SettlementSums& sums) noexcept;
// Adds so much that no open reservation may give anything back: after a ban, after an eviction, and
// after a decision that has cut the bucket's time as wrong, which HasLostTime tells.
[[nodiscard]] bool HasLostTime(const Limit& limit, Bucket before, Bucket after) noexcept;
void ForbidGivingBack(const Limit& limit, Nanos max_wait, SettlementSums& sums) noexcept;

}  // namespace weir
