// The only source of time: code asks a Clock, never the system.
#pragma once

#include "core/base/instant.h"

namespace weir {

// Tells the time. Thread-safe. The result never decreases and lies in [Instant{}, kInstantMax].
// The server's is SystemClock (server/os/system_clock.h), the tests' FakeClock
// (tests/support/fake_clock.h).
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant Now() const = 0;
  // A time for measuring durations only, as cheap as the machine offers. Its origin is arbitrary,
  // and it may go back a little between threads.
  [[nodiscard]] virtual Nanos Stopwatch() const { return Now().time_since_epoch(); }

 protected:
  Clock() = default;
  Clock(const Clock&) = default;
  Clock& operator=(const Clock&) = default;
};

}  // namespace weir
