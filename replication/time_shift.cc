#include "replication/time_shift.h"

#include "core/base/check.h"

namespace weir {

void TimeShift::Add(Instant frame_time, HostInstant now) {
  const Sample sample = {.ahead = frame_time.time_since_epoch() - now.time_since_epoch(),
                         .at = now};
  WEIR_CHECK(samples_.empty() || samples_.back().at <= now);
  while (!samples_.empty() && ValueAt(samples_.back(), now) <= sample.ahead) samples_.pop_back();
  // The better of two that are close together stays, unless it is the only one: then this one must
  // be there when that leaves.
  const bool is_close = samples_.size() > 1 && now - samples_.back().at < kStep;
  if (!is_close) samples_.push_back(sample);
  while (samples_.size() > 1 && samples_.front().at < now - kWindow) samples_.pop_front();
}

Nanos TimeShift::At(HostInstant now) const {
  WEIR_CHECK(!samples_.empty());
  // Samples may have left the window since the last Add.
  std::size_t first = 0;
  while (first + 1 < samples_.size() && samples_[first].at < now - kWindow) ++first;
  return ValueAt(samples_[first], now);
}

Nanos TimeShift::ValueAt(const Sample& sample, HostInstant now) {
  WEIR_CHECK(now >= sample.at);
  const Nanos age = now - sample.at;
  // Rounded up, so that the value is never too great.
  return sample.ahead - (age + Nanos{kDriftDivisor - 1}) / kDriftDivisor;
}

}  // namespace weir
