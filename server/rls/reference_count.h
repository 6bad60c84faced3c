// Counts what a call has decided under the names of envoyproxy/ratelimit, weighted by hits.
//
// A descriptor that is within its limit counts its hits as within, whether or not the call charges
// them; an ask that is over counts them as over. A report that crosses the limit counts what is
// beyond as over, and nothing as within. Those above four fifths of the limit, up to it, count as
// near. Looks and refunds count nothing. A limit that a descriptor brings counts under the
// descriptor. Descriptors of one bucket, which are decided together, count together.
//
// Cost: for a rule some additions; for one whose metrics tell values apart, a limit of the call and
// an unknown domain a lock and a look-up, too.
#pragma once

#include "core/plans/call_plan.h"
#include "rls/call.h"
#include "rls/matched_call.h"
#include "server/rls/rls_rules.h"
#include "server/state/reference_counters.h"

namespace weir {

// `request` has a part for each of `matched`, in their order. `is_shadow`: rls-shadow.
void CountForReference(const RlsRules::Set& rules, const RateLimitCall& call,
                       const MatchedCall& matched, const CallRequest& request,
                       const CallVerdict& verdict, bool is_shadow, ReferenceCounters& counters);

}  // namespace weir
