#include "server/os/system_clock.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "core/base/check.h"

namespace weir {
namespace {

constexpr Nanos kNanosMax = kInstantMax.time_since_epoch();

Nanos ReadOs(clockid_t id) {
  timespec time{};
  WEIR_CHECK(clock_gettime(id, &time) == 0);
  const std::chrono::seconds seconds{time.tv_sec};
  const auto seconds_max = std::chrono::floor<std::chrono::seconds>(kNanosMax);
  return std::clamp(seconds, std::chrono::seconds{0}, seconds_max) + Nanos{time.tv_nsec};
}

}  // namespace

SystemClock::SystemClock(PreviousRun previous)
    : SystemClock({.wall = [] { return ReadOs(CLOCK_REALTIME); },
                   .boot = [] { return ReadOs(CLOCK_BOOTTIME); }},
                  previous) {
  ticks_ = TickCounter::Calibrate([] { return ReadOs(CLOCK_BOOTTIME); });
}

SystemClock::SystemClock(Source source, PreviousRun previous)
    : source_(std::move(source)), boot_at_start_(Boot()), wall_at_start_([&] {
        const Nanos wall = Wall();
        const Nanos last_time = previous.last_time.time_since_epoch();
        began_past_wall_clock_ = wall < last_time;
        return began_past_wall_clock_ ? last_time + previous.uncertainty : wall;
      }()) {}

Instant SystemClock::Now() const {
  // Both terms are at most 2^62, so the sum fits.
  const Nanos passed = std::max(Boot() - boot_at_start_, Nanos{0});
  const Nanos::rep now = std::min(wall_at_start_ + passed, kNanosMax).count();
  Nanos::rep latest = latest_.load(std::memory_order_relaxed);
  while (latest < now && !latest_.compare_exchange_weak(latest, now, std::memory_order_relaxed)) {
  }
  return Instant{Nanos{std::max(latest, now)}};
}

Nanos SystemClock::Stopwatch() const { return ticks_ ? ticks_->Elapsed() : Boot(); }

Nanos SystemClock::OffsetToWallClock() const { return Wall() - Now().time_since_epoch(); }

Nanos SystemClock::Wall() const { return std::clamp(source_.wall(), Nanos{0}, kNanosMax); }
Nanos SystemClock::Boot() const { return std::clamp(source_.boot(), Nanos{0}, kNanosMax); }

}  // namespace weir
