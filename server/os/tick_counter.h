// The processor's counter of ticks as a stopwatch: 10 ns a reading, where a clock of the operating
// system takes 25.
//
// Only where the counter runs at one rate whatever the processor does ("invariant"); that rate is
// measured against a clock once, to about one part in 10,000. For durations, not for times: it is
// not corrected, and those of two processors may differ by a little.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/instant.h"

namespace weir {

class TickCounter {
 public:
  // Counts ticks for kCalibrationTime of `clock`, without a pause. Nothing: there is no such
  // counter here, or it stands still.
  [[nodiscard]] static std::optional<TickCounter> Calibrate(const std::function<Nanos()>& clock);

  // Time since it was made. Any thread.
  [[nodiscard]] Nanos Elapsed() const noexcept;

 private:
  static constexpr Nanos kCalibrationTime = std::chrono::milliseconds{1};

  TickCounter(std::uint64_t first_tick, std::uint64_t nanos_per_tick_fixed)
      : first_tick_(first_tick), nanos_per_tick_fixed_(nanos_per_tick_fixed) {}

  std::uint64_t first_tick_;
  std::uint64_t nanos_per_tick_fixed_;  // times 2^32
};

}  // namespace weir
