// Random limits and policies' limits that have records: those that a word can spell.
#pragma once

#include <rapidcheck.h>

#include "core/policies/policy.h"
#include "core/rules/limit.h"
#include "tests/random/generators.h"
#include "tests/random/windows.h"

namespace weir {

// Any limit with a bucket that a word can spell: periods of whole microseconds.
[[nodiscard]] rc::Gen<Limit> AnyKeptLimit();

// Any limit that CL.THROTTLE can have.
[[nodiscard]] rc::Gen<Limit> AnyThrottleLimit();

[[nodiscard]] rc::Gen<PolicyLimits> AnyPolicyLimits();

}  // namespace weir
