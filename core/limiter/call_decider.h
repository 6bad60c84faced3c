// Decides calls (core/plans/call_plan.h) on the buckets of a limiter.
//
//     Limiter::CallDecider decider(limiter);
//     absl::StatusOr<CallVerdict> verdict = decider.Decide(call, clock.Now());
//
// Thread-safe, as the limiter is. Cost: as Limiter::Decide for the same checks, and up to one more
// decision of a rule for each bucket; no allocation up to 4 checks.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "core/limiter/limiter.h"
#include "core/plans/call_plan.h"
#include "core/table/limit_registry.h"

namespace weir {

class Limiter::CallDecider {
 public:
  // The limiter must outlive the object.
  explicit CallDecider(Limiter& limiter) noexcept : limiter_(limiter) {}

  // Decides all rules on one state, at one execution time, and keeps what the verdict changes. What
  // Limiter::Decide says about that time and about errors holds here, too: nothing has changed
  // after one. A call without checks is over if `is_over` says so.
  [[nodiscard]] absl::StatusOr<CallVerdict> Decide(const CallRequest& call, Instant now,
                                                   Introducer introducer = kNoIntroducer);

 private:
  void CountForHolds(const LockedRequest<kManyChecks>& locked, const CallPlan& plan,
                     const CallVerdict& verdict);

  Limiter& limiter_;
};

}  // namespace weir
