#include "module/api/wall_time.h"

#include <algorithm>
#include <ctime>

namespace weir {

namespace {

Nanos TimeOf(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds{time.tv_sec} + Nanos{time.tv_nsec};
}

}  // namespace

Instant WallTime() { return std::clamp(Instant{TimeOf(CLOCK_REALTIME)}, Instant{}, kInstantMax); }

Nanos WallClock::Stopwatch() const { return TimeOf(CLOCK_MONOTONIC); }

}  // namespace weir
