#include "module/api/wall_time.h"

#include <algorithm>
#include <ctime>

namespace weir {

Instant WallTime() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  const Nanos now = std::chrono::seconds{time.tv_sec} + Nanos{time.tv_nsec};
  return std::clamp(Instant{now}, Instant{}, kInstantMax);
}

}  // namespace weir
