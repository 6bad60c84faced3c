// The time that the module decides at: the wall clock's, which the expiry of Redis's keys and the
// replicas go by, too.
//
// It goes back when an operator sets it back; then the rules delay and make no token
// (core/rules/rule.h).
#pragma once

#include "core/base/instant.h"

namespace weir {

[[nodiscard]] Instant WallTime();

}  // namespace weir
