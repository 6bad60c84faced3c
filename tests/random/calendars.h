// Random calendars, and instants that lie near the changes of their clocks.
#pragma once

#include <rapidcheck.h>

#include "core/base/instant.h"
#include "core/rules/calendar.h"
#include "tests/random/generators.h"

namespace weir {

[[nodiscard]] rc::Gen<Calendar> AnyCalendar();

// An instant with `room` after it, often within hours of a change of the clocks or within a
// nanosecond of an end.
[[nodiscard]] rc::Gen<Instant> AnyCalendarInstant(const Calendar& calendar, Nanos room = Nanos{0});

}  // namespace weir
