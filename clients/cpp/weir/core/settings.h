// Settings: the options of a Limiter, checked.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "weir/core/address.h"
#include "weir/options.h"

namespace weir::client {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The time for connecting, also if its call has ended; and the least time of Verify().
inline constexpr milliseconds kConnectTime = std::chrono::seconds(1);

struct Settings {
  Address address;
  Tls tls;  // of address.uses_tls
  milliseconds deadline{50};
  Fail fail = Fail::kOpen;
  std::function<void(std::string_view cause)> on_unavailable;
  std::function<Clock::time_point()> clock;
  Every every;  // empty: Timers
};

// Throws Mistake.
[[nodiscard]] Settings Check(const Options& options);

}  // namespace weir::client
