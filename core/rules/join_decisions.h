// Joins the decisions of all limits of a request into one verdict.
#pragma once

#include <algorithm>
#include <cstddef>

#include "absl/base/attributes.h"

#include "core/base/check.h"
#include "core/rules/decision.h"

namespace weir {

// Decisions of shadow limits count only if all limits are shadow limits. Requires:
// verdict.decisions has `count` elements, `all_shadow` is true if is_shadow(i) is for each of them,
// and verdict.allowed is set.
template <typename IsShadow>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void JoinDecisions(std::size_t count, bool all_shadow,
                                                       IsShadow is_shadow, Verdict& verdict) {
  bool first = true;
  for (std::size_t i = 0; i < count; ++i) {
    if (!all_shadow && is_shadow(i)) continue;
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
  WEIR_DCHECK(!first);
}

}  // namespace weir
