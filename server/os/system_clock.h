// The server's clock: CLOCK_BOOTTIME, anchored to the wall clock once, when it is made.
//
//     now = wall clock at the start + boot time passed since
//
// So it is Unix time, but setting or slewing the wall clock does not move it: an hour's step
// neither refills buckets nor empties them. CLOCK_BOOTTIME counts while the machine is suspended,
// as the callers' time does. This file is the only reader of the operating system's clocks.
//
// The stopwatch is the processor's counter of ticks (tick_counter.h) where that is to be trusted,
// at half the cost of a clock or less; else CLOCK_BOOTTIME.
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

  // Begins at the wall clock's time; where that is before the last time of the previous run, at the
  // latest time that the run may have handed out. Takes a millisecond, in which ticks are counted.
  explicit SystemClock(PreviousRun previous);
  SystemClock() : SystemClock(PreviousRun{}) {}
  // Of other clocks, for tests. They may say anything.
  SystemClock(Source source, PreviousRun previous);
  explicit SystemClock(Source source) : SystemClock(std::move(source), PreviousRun{}) {}

  // True if the wall clock was behind the previous run at the start, so the clock began past both.
  [[nodiscard]] bool began_past_wall_clock() const noexcept { return began_past_wall_clock_; }

  // Never decreases, on any thread, whatever the source does.
  [[nodiscard]] Instant Now() const override;
  [[nodiscard]] Nanos Stopwatch() const override;

  // How far the wall clock is ahead of this one now: what has been set and slewed since the start.
  [[nodiscard]] Nanos OffsetToWallClock() const;

 private:
  [[nodiscard]] Nanos Wall() const;
  [[nodiscard]] Nanos Boot() const;

  const Source source_;
  const Nanos boot_at_start_;
  bool began_past_wall_clock_ = false;
  const Nanos wall_at_start_;
  std::optional<TickCounter> ticks_;           // of the operating system's clocks only
  mutable std::atomic<Nanos::rep> latest_{0};  // the highest that was handed out
};

}  // namespace weir
