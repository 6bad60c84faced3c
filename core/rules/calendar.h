// Windows of the calendar: the days, weeks, months or years of a time zone, each from an anchor on.
//
//     unit     anchor                       the default   a window begins at
//     day      minutes after 00:00          00:00         that time of day
//     week     days after Monday            Monday        00:00 of that day of the week
//     month    days after the 1st           the 1st       00:00 of that day of the month
//     year     31 * months + days after     January 1     00:00 of that date
//              January 1
//
// A day that a month lacks is its last day: an anchor on the 31st begins a window on April 30, one
// on February 29 on the 28th of most years.
//
// A window begins at the first instant at which the local date and time have reached its anchor. If
// a change of the clocks skips the anchor's time, that is the instant of the change; if the time
// comes twice, the first of the two. So a day can have 23 or 25 hours. A zone that skips a whole
// day, as Samoa skipped December 30, 2011, has no window for it: windows are never empty. With an
// anchor after midnight it has one, from the change until that time of the next day. The windows of
// one calendar follow each other without a gap.
//
// The zones are those of core/base/time_zones.h, whose data decide where a window ends.
//
// Total: no clock, lock, log or exception, and no allocation. Thread-safe. Cost: CalendarWindowAt
// 0.3 to 1 us, PresentWindow about 5 ns if the thread has asked for the same window before. Tested
// by calendar_test.cc, which compares the ends with those of another implementation.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "core/base/instant.h"
#include "core/base/time_zones.h"

namespace weir {

enum class CalendarUnit : std::uint8_t { kNone, kDay, kWeek, kMonth, kYear };

struct Calendar {
  CalendarUnit unit = CalendarUnit::kNone;
  ZoneId zone = kUtc;
  std::uint16_t anchor = 0;  // in the table above; 0 is the default of every unit

  friend bool operator==(const Calendar&, const Calendar&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Calendar& calendar) {
    return H::combine(std::move(h), calendar.unit, calendar.zone, calendar.anchor);
  }
};

inline constexpr int kAnchorMonthDays = 31;  // of a month, in the anchor of a year

// True if the unit has such an anchor, and the zone exists. False for kNone.
[[nodiscard]] bool IsCalendar(const Calendar& calendar) noexcept;

// The window [begin, end) that holds an instant, and the end of the window after it. The window
// that holds Instant{} begins before it.
struct CalendarWindow {
  Instant begin;
  Instant end;
  Instant next_end;

  friend bool operator==(const CalendarWindow&, const CalendarWindow&) = default;
};

// Requires: IsCalendar(calendar), now in [Instant{}, kInstantMax].
[[nodiscard]] CalendarWindow CalendarWindowAt(const Calendar& calendar, Instant now) noexcept;

// The same, from the windows that this thread has asked for last.
[[nodiscard]] CalendarWindow PresentWindow(const Calendar& calendar, Instant now) noexcept;

// Returns the number of windows that PresentWindow has computed on this thread because it did not
// remember them.
[[nodiscard]] std::uint64_t WindowsComputed() noexcept;

// No window of the unit is longer.
[[nodiscard]] Nanos LongestWindow(CalendarUnit unit) noexcept;

}  // namespace weir
