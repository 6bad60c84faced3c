// A clock of a simulated server.
#pragma once

#include <cstdint>

#include "core/base/instant.h"

namespace weir {

// Runs at (1 + ppm / 10^6) of the true rate, from a time of its own on. |ppm| <= 1000.
struct DriftingClock {
  Instant at_start;
  std::int64_t ppm;

  [[nodiscard]] Instant At(Nanos elapsed) const {
    return at_start + elapsed + elapsed * ppm / 1'000'000;
  }
  // The first true time at which it shows `time`, or a few ns later.
  [[nodiscard]] Nanos ElapsedAt(Instant time) const {
    const Nanos own = time - at_start;
    return own - own * ppm / 1'000'000 + own / 10'000'000 + Nanos{2};
  }
};

}  // namespace weir
