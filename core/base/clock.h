// The only source of time: code asks a Clock, never the system. It has two hands:
//
//     clock.Now()        the time of decisions, and of what is kept of them: buckets, holds, marks
//     clock.HostNow()    the time of this host, for its own durations and deadlines
//
// The time of decisions belongs to the history of the buckets. A server that begins to follow a
// primary goes on with that primary's time, so this hand may jump, in both directions
// (server/os/lineage_clock.h). The time of the host never goes back. A duration or a deadline of
// this host is therefore one of HostNow(), or of the Stopwatch().
#pragma once

#include "core/base/instant.h"

namespace weir {

// Tells the time. Thread-safe. Both hands are Unix time in [Instant{}, kInstantMax]. The server's
// are SystemClock (server/os/system_clock.h), and LineageClock over it; the tests' is FakeClock
// (tests/support/fake_clock.h).
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant Now() const = 0;

  // Both hands, as of one moment.
  struct Reading {
    Instant now;
    HostInstant host_now;
  };
  // For the cost of Now(). By default the hands show the same time.
  [[nodiscard]] virtual Reading Read() const {
    const Instant now = Now();
    return {now, HostInstant{now.time_since_epoch()}};
  }
  [[nodiscard]] HostInstant HostNow() const { return Read().host_now; }

  // A time for measuring durations only, as cheap as the machine offers. Its origin is arbitrary,
  // and it may go back a little between threads.
  [[nodiscard]] virtual Nanos Stopwatch() const { return HostNow().time_since_epoch(); }

 protected:
  Clock() = default;
  Clock(const Clock&) = default;
  Clock& operator=(const Clock&) = default;
};

}  // namespace weir
