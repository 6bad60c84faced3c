// The words of a calendar window in a limit: its unit, its time zone and its anchor.
//
//     unit   = "day" | "week" | "month" | "year"    stands for the period of a limit: 100/month
//     zone   = a name of the zone database           "Europe/Berlin"; by default UTC
//     anchor = HH:MM                                 day: 00:00 to 23:59; by default 00:00
//            | "mon" | "tue" | ... | "sun"           week; by default mon
//            | 1 to 31                               month; by default 1
//            | MM-DD                                 year: 01-01 to 12-31; by default 01-01
//
// Pure but for the first look at the time zones, which loads them; thread-safe. Tested by
// calendar_text_test.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "core/rules/calendar.h"

namespace weir {

// The names of the units, for errors.
inline constexpr char kCalendarUnits[] = "day, week, month, year";

// kNone if no unit has the name.
[[nodiscard]] CalendarUnit CalendarUnitNamed(std::string_view name) noexcept;

// Reads the zone and the anchor of a calendar. Fails with kNotFound if the zone is unknown, and
// with kInvalidArgument if the unit has no such anchor. Requires: unit != kNone.
[[nodiscard]] absl::StatusOr<Calendar> ReadCalendar(CalendarUnit unit,
                                                    std::optional<std::string_view> zone,
                                                    std::optional<std::string_view> anchor);

// The canonical words, without the defaults: "month,tz=Europe/Berlin,from=15".
[[nodiscard]] std::string CalendarText(const Calendar& calendar);

}  // namespace weir
