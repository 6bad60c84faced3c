// A clock that is stopped until a test moves it.
#pragma once

#include <atomic>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/instant.h"

namespace weir {

// Thread-safe: every thread sees a move at once. A fake clock keeps the promises of a clock: moving
// its host's time back, or a time out of range, aborts. Its stopwatch does not advance, either,
// until a test sets the length of a lap.
class FakeClock : public Clock {
 public:
  // 2026-01-01 00:00:00 UTC, for tests that need no particular time.
  static constexpr Instant kStart{std::chrono::seconds{1'767'225'600}};

  static constexpr HostInstant kHostStart{kStart.time_since_epoch()};

  explicit FakeClock(Instant start = kStart) : nanos_(start.time_since_epoch().count()) {}

  [[nodiscard]] Instant Now() const override { return Read().now; }
  [[nodiscard]] Reading Read() const override {
    const Nanos host{nanos_.load()};
    return {Instant{host} + Nanos{shift_.load()}, HostInstant{host}};
  }

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

  // Sets both hands. Requires: no Jump() came before.
  void Set(Instant now) {
    WEIR_CHECK(now <= kInstantMax && shift_.load() == 0);
    WEIR_CHECK(Instant{Nanos{nanos_.exchange(now.time_since_epoch().count())}} <= now);
  }

  // Moves the time of decisions alone, in either direction, as when the server begins to follow a
  // primary.
  void Jump(Nanos span) {
    shift_.fetch_add(span.count());
    WEIR_CHECK(Now() >= Instant{} && Now() <= kInstantMax);
  }

 private:
  std::atomic<Nanos::rep> nanos_;
  std::atomic<Nanos::rep> shift_{0};  // of the time of decisions
  std::atomic<Nanos::rep> lap_ns_{0};
  mutable std::atomic<Nanos::rep> stopwatch_ns_{0};
};

}  // namespace weir
