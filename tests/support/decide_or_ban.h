// A rule's decision as a request takes it: a limit that denies and says ban= is shut.
#pragma once

#include <cstdint>

#include "core/base/instant.h"
#include "core/rules/rule.h"

namespace weir {

[[nodiscard]] inline Step DecideOrBan(const Limit& limit, Bucket bucket, Instant now,
                                      std::uint64_t cost, Nanos max_wait,
                                      Nanos patience = Nanos{0}) {
  const Step step = DecideLimit(limit, bucket, now, cost, max_wait, patience);
  const bool bans =
      limit.shape().ban > Nanos{0} && !step.decision.allowed && step.decision.retry_after != kNever;
  if (!bans) return step;
  return DecideLimit(limit, BanLimit(limit, step.bucket, now, max_wait), now, cost, max_wait);
}

}  // namespace weir
