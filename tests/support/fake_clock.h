// A clock that stands still until a test moves it.
#pragma once

#include <atomic>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/instant.h"

namespace weir {

// Thread-safe: every thread sees a move at once. A fake clock keeps the promises of a clock: moving
// it back or out of range aborts. Its stopwatch stands still, too, until a test sets the length of
// a lap.
class FakeClock : public Clock {
 public:
  // 2026-01-01 00:00:00 UTC, for tests that need no particular time.
  static constexpr Instant kStart{std::chrono::seconds{1'767'225'600}};

  explicit FakeClock(Instant start = kStart) : nanos_(start.time_since_epoch().count()) {}

  [[nodiscard]] Instant Now() const override { return Instant{Nanos{nanos_.load()}}; }

  // Sets the length of a lap from now on: the time between two readings, such as a session takes
  // around a command.
  [[nodiscard]] Nanos Stopwatch() const override {
    return Nanos{stopwatch_ns_.fetch_add(lap_ns_.load())};
  }
  void set_lap(Nanos lap) { lap_ns_.store(lap.count()); }

  void Advance(Nanos span) {
    WEIR_CHECK(span >= Nanos{0});
    WEIR_CHECK(Instant{Nanos{nanos_.fetch_add(span.count())}} + span <= kInstantMax);
  }

  void Set(Instant now) {
    WEIR_CHECK(now <= kInstantMax);
    WEIR_CHECK(Instant{Nanos{nanos_.exchange(now.time_since_epoch().count())}} <= now);
  }

 private:
  std::atomic<Nanos::rep> nanos_;
  std::atomic<Nanos::rep> lap_ns_{0};
  mutable std::atomic<Nanos::rep> stopwatch_ns_{0};
};

}  // namespace weir
