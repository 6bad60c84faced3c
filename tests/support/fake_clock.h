// A clock that stands still until a test moves it.
#pragma once

#include <atomic>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/instant.h"

namespace weir {

// Thread-safe: every thread sees a move at once. It keeps a clock's promises: moving it back or out
// of range aborts. Its stopwatch stands still, too, until a test says how long a lap takes.
class FakeClock : public Clock {
 public:
  // 2026-01-01 00:00:00 UTC, where a test does not care.
  static constexpr Instant kStart{std::chrono::seconds{1'767'225'600}};

  explicit FakeClock(Instant start = kStart) : nanos_(start.time_since_epoch().count()) {}

  [[nodiscard]] Instant Now() const override { return Instant{Nanos{nanos_.load()}}; }

  // From now on a lap: what lies between two readings, such as a command of a session.
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
