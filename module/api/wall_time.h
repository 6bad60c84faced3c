// The time at which the module decides: the wall clock's, which Redis uses for the expiry of keys
// and on replicas, too.
//
// It goes back when an operator sets the clock back; the rules then delay callers and create no
// tokens (core/rules/rule.h).
#pragma once

#include "core/base/clock.h"
#include "core/base/instant.h"

namespace weir {

[[nodiscard]] Instant WallTime();

// The same as a Clock, whose stopwatch does not go back.
class WallClock final : public Clock {
 public:
  [[nodiscard]] Instant Now() const override { return WallTime(); }
  [[nodiscard]] Nanos Stopwatch() const override;
};

}  // namespace weir
