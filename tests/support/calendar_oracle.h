// A calendar window by its number, found without looking for an end: the number follows from the
// local time that the clocks show, and the clocks are only ever asked what they show at an instant.
//
// A window begins when the local time reaches its anchor. So the number of the window that holds an
// instant is the greatest that any local time up to then has reached. Clocks that are set back show
// smaller numbers again for some hours, so the times just before such changes count, too.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/base/time_zones.h"
#include "core/rules/calendar.h"

namespace weir {

// The number of the window whose anchor a local time has reached last.
[[nodiscard]] inline std::int64_t NumberReached(const Calendar& calendar, absl::CivilSecond local) {
  const int anchor = calendar.anchor;
  const absl::CivilDay day(local);
  const auto last_day = [&](int month) {
    return (absl::CivilDay(absl::CivilMonth(day.year(), month) + 1) - 1).day();
  };
  switch (calendar.unit) {
    case CalendarUnit::kDay:
      return absl::CivilDay(local - 60 * anchor) - absl::CivilDay();
    case CalendarUnit::kWeek: {
      absl::CivilDay begin = day;
      while (static_cast<int>(absl::GetWeekday(begin)) != anchor) --begin;
      return (begin - absl::CivilDay(1900, 1, 1 + anchor)) / 7;  // a Monday, and the days after it
    }
    case CalendarUnit::kMonth: {
      const bool reached = day.day() >= std::min(anchor + 1, last_day(day.month()));
      return day.year() * 12 + day.month() - (reached ? 0 : 1);
    }
    case CalendarUnit::kYear: {
      const int month = anchor / kAnchorMonthDays + 1;
      const int month_day = std::min(anchor % kAnchorMonthDays + 1, last_day(month));
      return day.year() - (day < absl::CivilDay(day.year(), month, month_day) ? 1 : 0);
    }
    case CalendarUnit::kNone:
      break;
  }
  WEIR_CHECK(false);
}

// The number of the window that holds an instant; the numbers of a calendar's windows ascend.
[[nodiscard]] inline std::int64_t CalendarNumberAt(const Calendar& calendar, Instant at) {
  const absl::TimeZone& zone = SystemTimeZones().Zone(calendar.zone);
  const absl::Time time = absl::FromUnixNanos(at.time_since_epoch().count());
  std::int64_t number = NumberReached(calendar, zone.At(time).cs);
  absl::TimeZone::CivilTransition change;
  absl::Time later = time + absl::Seconds(1);  // PrevTransition compares whole seconds.
  while (zone.PrevTransition(later, &change)) {
    later = zone.At(change.to).trans;
    if (time - later > absl::Hours(48)) break;
    number = std::max(number, NumberReached(calendar, change.from - 1));
  }
  return number;
}

}  // namespace weir
