// The common verdict of all limits of a request.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/rules/decision.h"

namespace weir {

// Joins the decisions that count: those of shadow limits only where there are no others. Requires:
// verdict.decisions is complete, verdict.allowed is set.
template <typename IsShadow>
void JoinDecisions(IsShadow is_shadow, Verdict& verdict) {
  const std::size_t count = verdict.decisions.size();
  bool all_shadow = true;
  for (std::size_t i = 0; i < count; ++i) all_shadow = all_shadow && is_shadow(i);
  bool first = true;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_shadow(i) && !all_shadow) continue;
    const Decision& decision = verdict.decisions[i];
    const bool decides = verdict.allowed ? decision.remaining < verdict.remaining
                                         : decision.retry_after > verdict.retry_after;
    if (first || decides) verdict.limit_index = i;
    verdict.remaining =
        first ? decision.remaining : std::min(verdict.remaining, decision.remaining);
    if (!all_shadow) verdict.retry_after = std::max(verdict.retry_after, decision.retry_after);
    verdict.reset_after = std::max(verdict.reset_after, decision.reset_after);
    first = false;
  }
}

}  // namespace weir
