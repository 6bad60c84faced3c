// A clock that does not advance, with the system's stopwatch.
#pragma once

#include <chrono>

#include "core/base/clock.h"
#include "server/os/system_clock.h"

namespace weir {

class StoppedClock final : public Clock {
 public:
  [[nodiscard]] Instant Now() const override { return Instant{std::chrono::hours{24 * 365 * 50}}; }
  [[nodiscard]] Nanos Stopwatch() const override { return system_.Stopwatch(); }

 private:
  const SystemClock system_;
};

}  // namespace weir
