// The hint for a count that a limit's algorithm cannot have: the limits that can.
//
//     CountHint({10'000'000'000, std::chrono::days{30}})
//         // ": 10G/30d is a bucket that can, 10G/month a window"
//
// Pure and thread-safe. Cost: as of two parsed limits; for errors only.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/instant.h"
#include "core/rules/calendar.h"

namespace weir {

struct CountOver {
  std::int64_t count = 0;
  Nanos period{0};                          // 0 for a calendar's unit
  CalendarUnit unit = CalendarUnit::kNone;  // of the calendar
};

// Returns a hint that begins with a colon; "" if no limit has such a count.
[[nodiscard]] std::string CountHint(const CountOver& over);

}  // namespace weir
