#include "core/limiter/call_decider.h"

#include <utility>

#include "absl/base/optimization.h"
#include "absl/utility/utility.h"

#include "core/base/status.h"
#include "core/limiter/hold_sums.h"
#include "core/limiter/limiter_table.h"
#include "core/limiter/locked_request.h"
#include "core/plans/choice.h"

namespace weir {

absl::StatusOr<CallVerdict> Limiter::CallDecider::Decide(const CallRequest& call, Instant now,
                                                         Introducer introducer) {
  absl::StatusOr<CallVerdict> verdict(absl::in_place);
  verdict->over = call.is_over;
  verdict->now = now;
  if (call.checks.empty()) return verdict;
  const auto attempt = [&]() -> absl::Status {
    LockedRequest<kManyChecks> locked(limiter_, call.checks, now);
    CallPlan plan(call, limiter_.table_.max_wait, locked.plan);
    *verdict = plan.Decide(locked.now);
    WEIR_RETURN_IF_ERROR(limiter_.StoreMany(locked, introducer));
    if (ABSL_PREDICT_FALSE(locked.has_open_holds)) CountForHolds(locked, plan, *verdict);
    return absl::OkStatus();
  };
  absl::Status status = limiter_.TryWithRoom(attempt(), attempt);
  if (!status.ok()) verdict = std::move(status);
  return verdict;
}

// Tells the open holds of the keys what has changed.
void Limiter::CallDecider::CountForHolds(const LockedRequest<kManyChecks>& locked,
                                         const CallPlan& plan, const CallVerdict& verdict) {
  LimiterTable& table = limiter_.table_;
  for (std::size_t i = 0; i < locked.plan.size(); ++i) {
    if (!locked.plan.AsksBucket(i) || !locked.found[i].id) continue;
    const KeyHash& key = locked.checks[i].hash;
    const SlotKey slot = {key.hash, *locked.found[i].id};
    const BucketStep& bucket = locked.plan.bucket(i);
    const Limit& limit = plan.LimitOf(i);
    PartitionStore store(table, key.partition);
    HoldSums sums(store, table.max_wait);
    if (plan.WayOf(i) == Way::kRefund) {
      sums.CountRefunded(slot, limit, bucket.present, bucket.step.bucket, locked.now);
    } else if ((verdict.taken >> i & 1) != 0) {
      sums.CountCharged(slot, limit, bucket, locked.now);
    } else if ((verdict.banned >> i & 1) != 0 ||
               HasLostTime(limit, bucket.present, bucket.step.bucket)) {
      sums.Forbid(slot, limit);
    }
  }
}

}  // namespace weir
