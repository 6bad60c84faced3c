// A clock that stands still until a test moves it.
#pragma once

#include <atomic>

#include "core/check.h"
#include "core/clock.h"
#include "core/instant.h"

namespace weir {

// Thread-safe: every thread sees a move at once. It keeps a clock's promises: moving it back or out
// of range aborts.
class FakeClock : public Clock {
 public:
  // 2026-01-01 00:00:00 UTC, where a test does not care.
  static constexpr Instant kStart{std::chrono::seconds{1'767'225'600}};

  explicit FakeClock(Instant start = kStart) : nanos_(start.time_since_epoch().count()) {}

  [[nodiscard]] Instant Now() const override { return Instant{Nanos{nanos_.load()}}; }

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
};

}  // namespace weir
