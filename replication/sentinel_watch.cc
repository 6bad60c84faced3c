#include "replication/sentinel_watch.h"

#include <algorithm>

namespace weir {

SentinelWatch::Meaning SentinelWatch::Observe(std::uint64_t epoch, bool names_us, HostInstant now) {
  if (floor_ && epoch < *floor_) {
    if (!below_ || now - below_->last > 2 * kHelloTime) {
      below_ = Below{.since = now, .last = now, .newest = epoch};
    }
    below_->last = now;
    below_->newest = std::max(below_->newest, epoch);
    if (now - below_->since < kFloorFallTime) return Meaning::kNothing;
    floor_ = newest_ = below_->newest;
    below_.reset();
    confirmed_.reset();
    return Meaning::kNothing;
  }
  below_.reset();
  const bool is_newer = !floor_ || epoch > *floor_;
  newest_ = newest_ ? std::max(*newest_, epoch) : epoch;
  if (names_us) {
    floor_ = epoch;
    if (!confirmed_ || now - confirmed_->last > 2 * kHelloTime) {
      confirmed_ = Confirmed{.first = now, .last = now};
    }
    confirmed_->last = now;
    return Meaning::kConfirms;
  }
  if (now < rests_until_) {
    floor_ = epoch;
    return Meaning::kNothing;
  }
  return is_newer ? Meaning::kDeposes : Meaning::kNothing;
}

}  // namespace weir
