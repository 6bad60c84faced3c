// Random calendars, and instants that lie near the changes of their clocks.
#pragma once

#include <rapidcheck.h>

#include "core/base/instant.h"
#include "core/rules/calendar.h"
#include "tests/random/generators.h"

namespace weir {

[[nodiscard]] rc::Gen<Calendar> AnyCalendar();

// A time that no two windows after another fit into: 20 hours. Where a zone has skipped a whole day
// of local time, the window of that day is what its anchor has left of it.
[[nodiscard]] Nanos ShortestWindow(const Calendar& calendar);

// An instant with `room` after it, often within hours of a change of the clocks or within a
// nanosecond of an end.
[[nodiscard]] rc::Gen<Instant> AnyCalendarInstant(const Calendar& calendar, Nanos room = Nanos{0});

}  // namespace weir
