// The parts of a limit as a test writes them down, not yet validated by Limit::Create.
#pragma once

#include <cstdint>

#include "core/base/instant.h"
#include "core/rules/calendar.h"
#include "core/rules/limit.h"

namespace weir {

[[nodiscard]] inline LimitShape BucketShape(std::int64_t count, Nanos period, std::int64_t burst) {
  return {.count = count, .period = period, .burst = burst};
}
[[nodiscard]] inline LimitShape BucketShape(std::int64_t count, Nanos period) {
  return BucketShape(count, period, count);
}
[[nodiscard]] inline LimitShape FixedShape(std::int64_t count, Nanos period) {
  return {.algorithm = Algorithm::kFixedWindow, .count = count, .period = period};
}
[[nodiscard]] inline LimitShape SlidingShape(std::int64_t count, Nanos period) {
  return {.algorithm = Algorithm::kSlidingWindow, .count = count, .period = period};
}
[[nodiscard]] inline LimitShape HeldShape(std::int64_t count) {
  return {.algorithm = Algorithm::kHeld, .count = count};
}
[[nodiscard]] inline LimitShape CalendarShape(std::int64_t count, const Calendar& calendar) {
  return {.algorithm = Algorithm::kFixedWindow, .calendar = calendar, .count = count};
}

}  // namespace weir
