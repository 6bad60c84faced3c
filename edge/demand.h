// The demand for a form: the units that clients ask for, denied ones included.
//
// It is counted in slots of max(PACE, RTT), and is that of the present slot or the last one,
// whichever is more.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/base/instant.h"

namespace weir {

// The shortest time between two asks ahead, which an exhausted key waits for.
inline constexpr Nanos kPace = std::chrono::milliseconds{50};

// Units, or the sum of many; far from overflow in what is computed with them.
inline constexpr std::int64_t kUnitsMax = std::int64_t{1} << 40;

class Demand {
 public:
  void Count(std::int64_t units, HostInstant now, Nanos rtt) noexcept {
    if (now >= slot_ + length_) {
      before_ = now < slot_ + 2 * length_ ? present_ : 0;
      present_ = 0;
      slot_ = now;
      length_ = std::max(kPace, rtt);
    }
    present_ = std::min(present_ + units, kUnitsMax);
  }

  // The units that are asked for in that time, rounded up; at most kUnitsMax.
  [[nodiscard]] std::int64_t In(Nanos time) const noexcept {
    const double exact = static_cast<double>(a_slot()) * static_cast<double>(time.count()) /
                         static_cast<double>(length_.count());
    const double bounded = std::min(exact, static_cast<double>(kUnitsMax));
    const auto whole = static_cast<std::int64_t>(bounded);
    return whole + (static_cast<double>(whole) < bounded ? 1 : 0);
  }
  [[nodiscard]] Nanos mean_gap() const noexcept {
    return length_ / std::max<std::int64_t>(a_slot(), 1);
  }

 private:
  [[nodiscard]] std::int64_t a_slot() const noexcept { return std::max(present_, before_); }

  HostInstant slot_{};  // its beginning
  Nanos length_ = kPace;
  std::int64_t present_ = 0;
  std::int64_t before_ = 0;
};

}  // namespace weir
