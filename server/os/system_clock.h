// The server's clock: CLOCK_BOOTTIME, anchored to the wall clock once, when it is made.
//
//     now = wall clock at the start + boot time passed since
//
// The result is Unix time that setting or slewing the wall clock does not move: a step of one hour
// neither refills buckets nor empties them. CLOCK_BOOTTIME continues while the machine is
// suspended, as the time of the clients does. No other file reads the operating system's clocks.
//
// The stopwatch is the processor's tick counter (tick_counter.h) if it can be trusted, for at most
// half the cost of a clock, and CLOCK_BOOTTIME otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "server/os/tick_counter.h"

namespace weir {

// Thread-safe; a reading costs one clock_gettime() and one shared atomic.
class SystemClock final : public Clock {
 public:
  // The clock's sources: nanoseconds since the Unix epoch, and since the machine started.
  struct Source {
    std::function<Nanos()> wall;
    std::function<Nanos()> boot;
  };

  // The times that the previous run's clock has handed out: up to `last_time`, and perhaps up to
  // `uncertainty` more.
  struct PreviousRun {
    Instant last_time{};
    Nanos uncertainty{0};
  };

  // Begins at the wall clock's time. If that is before the last time of the previous run, begins at
  // the latest time that the previous run may have handed out. Takes a millisecond to calibrate the
  // tick counter.
  explicit SystemClock(PreviousRun previous);
  SystemClock() : SystemClock(PreviousRun{}) {}
  // Reads other clocks, for tests. They may return any time.
  SystemClock(Source source, PreviousRun previous);
  explicit SystemClock(Source source) : SystemClock(std::move(source), PreviousRun{}) {}

  // True if the wall clock was behind the previous run at the start, so the clock began past both.
  [[nodiscard]] bool began_past_wall_clock() const noexcept { return began_past_wall_clock_; }

  // Never decreases, on any thread, even if the source does.
  [[nodiscard]] Instant Now() const override;
  [[nodiscard]] Nanos Stopwatch() const override;

  // The time by which the wall clock is ahead of this clock: the sum of all steps and slews since
  // the start.
  [[nodiscard]] Nanos OffsetToWallClock() const;

 private:
  [[nodiscard]] Nanos Wall() const;
  [[nodiscard]] Nanos Boot() const;

  const Source source_;
  const Nanos boot_at_start_;
  bool began_past_wall_clock_ = false;
  const Nanos wall_at_start_;
  std::optional<TickCounter> ticks_;           // only with the operating system's clocks
  mutable std::atomic<Nanos::rep> latest_{0};  // the highest time handed out
};

}  // namespace weir
