// The difference between a primary's clock and this server's, as far as a replica can know it from
// the times in the frames: never too great, so that a promoted replica refills nothing too early.
//
// A frame of the primary's time f that is received at the own time t says that the primary's clock
// was at least o = f - t ahead of ours when we received it: exactly the difference, less the delay.
// Since then the clocks may have drifted apart, by up to 100 ppm each. The shift is the greatest
//
//     o - (now - t) / 5000
//
// of the frames of the last 10 s, or of the last frame if that is older. So at every moment
//
//     the time of the last frame <= now + shift <= the primary's time
//
// (law R8), whatever the clocks say, while both run at the rate of true time within 100 ppm. A
// clock that does worse, as in a virtual machine that was paused, counts wrongly for 10 s at most.
//
// Not thread-safe. Pure; memory and cost: at most 110 numbers, amortised O(1).
#pragma once

#include <deque>

#include "core/base/instant.h"

namespace weir {

class TimeShift {
 public:
  static constexpr Nanos kWindow = std::chrono::seconds{10};
  // (now - t) / kDriftDivisor: 200 ppm, for two clocks.
  static constexpr std::int64_t kDriftDivisor = 5000;

  // Adds a frame of the primary's time, received at `now` by the own clock. Requires: `now` is not
  // below that of an earlier call.
  void Add(Instant frame_time, HostInstant now);

  // True before the first Add.
  [[nodiscard]] bool empty() const noexcept { return samples_.empty(); }

  // To be added to the own clock. Requires: !empty(), and `now` as for Add.
  [[nodiscard]] Nanos At(HostInstant now) const;

  // Forgets all frames: the next one is of another primary.
  void Clear() noexcept { samples_.clear(); }

 private:
  // Samples that are closer together than this count as one, the better one.
  static constexpr Nanos kStep = std::chrono::milliseconds{100};

  struct Sample {
    Nanos ahead;     // o
    HostInstant at;  // t
  };
  [[nodiscard]] static Nanos ValueAt(const Sample& sample, HostInstant now);

  // By time; each has a lower value than the one before it, at any moment.
  std::deque<Sample> samples_;
};

}  // namespace weir
