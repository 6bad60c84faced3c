// A stopwatch on the processor's tick counter. A reading takes 10 ns; a reading of an operating
// system's clock takes 25 ns.
//
// It needs a counter whose rate does not depend on what the processor does ("invariant"). The rate
// is measured once against a clock, to about one part in 10,000. It measures durations and tells no
// time: it is never corrected, and the counters of two processors may differ slightly.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/instant.h"

namespace weir {

class TickCounter {
 public:
  // Counts ticks for kCalibrationTime of `clock`, spinning. Returns nothing if the processor has no
  // such counter or the counter does not advance.
  [[nodiscard]] static std::optional<TickCounter> Calibrate(const std::function<Nanos()>& clock);

  // The time since the counter was made. Thread-safe.
  [[nodiscard]] Nanos Elapsed() const noexcept;

 private:
  static constexpr Nanos kCalibrationTime = std::chrono::milliseconds{1};

  TickCounter(std::uint64_t first_tick, std::uint64_t nanos_per_tick_fixed)
      : first_tick_(first_tick), nanos_per_tick_fixed_(nanos_per_tick_fixed) {}

  std::uint64_t first_tick_;
  std::uint64_t nanos_per_tick_fixed_;  // times 2^32
};

}  // namespace weir
