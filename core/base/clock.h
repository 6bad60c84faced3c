// The only source of time: code asks a Clock, never the system. It has two hands:
//
//     clock.Now()        the time of decisions and of their records: buckets, holds, marks
//     clock.HostNow()    the time of this host, for its own durations and deadlines
//
// The time of decisions belongs to the history of the buckets. A server that begins to follow a
// primary continues with the primary's time, so Now() may jump in both directions
// (server/os/followed_clock.h). The time of the host never goes back. So durations and deadlines of
// this host use HostNow() or Stopwatch().
#pragma once

#include "core/base/instant.h"

namespace weir {

// Tells the time. Thread-safe. Both hands are Unix time in [Instant{}, kInstantMax]. The server
// uses SystemClock (server/os/system_clock.h) with a FollowedClock over it; tests use FakeClock
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
  // Returns both hands. Cost: that of Now(). By default both show the same time.
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
