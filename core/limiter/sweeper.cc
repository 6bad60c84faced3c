#include "core/limiter/sweeper.h"

#include <utility>

#include "core/base/check.h"

namespace weir {

bool Sweeper::Step(Instant now) {
  for (std::size_t slot = 0; slot != Partition::kNoMore;) {
    const LimiterUpkeep::Swept part = upkeep_.SweepSome(next_, now, slot, kVisitsPerHold);
    WEIR_CHECK(part.erased <= kVisitsPerHold);
    slot = part.next;
    bool has_due = part.has_due;
    for (std::size_t more = 0; has_due && more < kMoreDue; ++more) {
      has_due = upkeep_.ExpireSome(next_, now, kDueAtOnce);
    }
    leaves_due_ = leaves_due_ || has_due;
    dropped_this_lap_ += part.erased;
    dropped_.fetch_add(part.erased, std::memory_order_relaxed);
  }
  next_ = (next_ + 1) % kPartitionCount;
  if (next_ != 0) return false;
  EndLap();
  return true;
}

void Sweeper::EndLap() {
  upkeep_.FitTable();
  while (upkeep_.ReclaimLimits(kIdleLimitsMin, kReclaimsPerStop) > 0) {
  }
  // Busy if the lap dropped more than an eighth of the buckets that are left, or left holds.
  has_left_due_ = std::exchange(leaves_due_, false);
  const bool busy = has_left_due_ || dropped_this_lap_ > upkeep_.size().buckets / 8;
  lap_time_ = busy ? kBusyLap : kCalmLap;
  dropped_this_lap_ = 0;
  laps_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weir
