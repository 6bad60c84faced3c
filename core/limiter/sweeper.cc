#include "core/limiter/sweeper.h"

namespace weir {

bool Sweeper::Step(Instant now) {
  std::size_t dropped = 0;
  do {
    dropped = limiter_.Sweep(next_, now, kDropsPerHold);
    dropped_this_lap_ += dropped;
    dropped_.fetch_add(dropped, std::memory_order_relaxed);
  } while (dropped == kDropsPerHold);
  next_ = (next_ + 1) % kPartitionCount;
  if (next_ != 0) return false;
  EndLap();
  return true;
}

void Sweeper::EndLap() {
  while (limiter_.ReclaimLimits(kIdleLimitsMin, kReclaimsPerStop) > 0) {
  }
  // Busy while a lap drops more than an eighth of what it leaves.
  const bool busy = dropped_this_lap_ > limiter_.size().buckets / 8;
  lap_time_ = busy ? kBusyLap : kCalmLap;
  dropped_this_lap_ = 0;
  laps_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weir
