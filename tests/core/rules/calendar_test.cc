// Goal: a calendar window begins when the local time reaches its anchor, in every zone. Method:
// examples that a reader can check with a calendar; the windows around every change of every zone's
// clocks, and random ones, compared with the numbers that the clocks show (calendar_oracle.h).
#include "core/rules/calendar.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include <rapidcheck.h>

#include "core/base/id_type.h"
#include "core/base/status.h"
#include "tests/random/calendars.h"
#include "tests/random/property.h"
#include "tests/support/calendar_oracle.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::hours;

Calendar Of(CalendarUnit unit, std::string_view zone, int anchor = 0) {
  return {unit, SystemTimeZones().Find(zone).value(), static_cast<std::uint16_t>(anchor)};
}

// The instant of an RFC 3339 time, as "2026-03-29T00:00:00+01:00".
Instant At(std::string_view text) {
  absl::Time time;
  WEIR_CHECK(absl::ParseTime(absl::RFC3339_full, AbslView(text), &time, nullptr));
  return Instant{Nanos{absl::ToUnixNanos(time)}};
}

void ExpectWindow(const Calendar& calendar, std::string_view now, std::string_view begin,
                  std::string_view end, std::string_view next_end) {
  const CalendarWindow want{At(begin), At(end), At(next_end)};
  EXPECT_EQ(CalendarWindowAt(calendar, At(now)), want) << now;
  EXPECT_EQ(CalendarWindowAt(calendar, want.begin), want) << begin;
  EXPECT_EQ(CalendarWindowAt(calendar, want.end - Nanos{1}), want) << end;
  EXPECT_EQ(PresentWindow(calendar, At(now)), want) << now;
}

TEST(CalendarTest, UnitsOfUtcBeginAtMidnight) {
  ExpectWindow(Of(CalendarUnit::kDay, "UTC"), "2026-11-25T12:34:56.789Z", "2026-11-25T00:00:00Z",
               "2026-11-26T00:00:00Z", "2026-11-27T00:00:00Z");
  ExpectWindow(Of(CalendarUnit::kWeek, "UTC"), "2026-11-25T12:34:56.789Z", "2026-11-23T00:00:00Z",
               "2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z");
  ExpectWindow(Of(CalendarUnit::kMonth, "UTC"), "2026-11-25T12:34:56.789Z", "2026-11-01T00:00:00Z",
               "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z");
  ExpectWindow(Of(CalendarUnit::kYear, "UTC"), "2026-11-25T12:34:56.789Z", "2026-01-01T00:00:00Z",
               "2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z");
}

TEST(CalendarTest, AnchorsMoveTheBegin) {
  ExpectWindow(Of(CalendarUnit::kDay, "UTC", 23 * 60 + 59), "2026-11-25T12:00:00Z",
               "2026-11-24T23:59:00Z", "2026-11-25T23:59:00Z", "2026-11-26T23:59:00Z");
  ExpectWindow(Of(CalendarUnit::kWeek, "UTC", 6), "2026-11-25T12:00:00Z", "2026-11-22T00:00:00Z",
               "2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z");  // Sunday
  ExpectWindow(Of(CalendarUnit::kMonth, "UTC", 25), "2026-11-25T12:00:00Z", "2026-10-26T00:00:00Z",
               "2026-11-26T00:00:00Z", "2026-12-26T00:00:00Z");
  ExpectWindow(Of(CalendarUnit::kYear, "UTC", 31 * 3 + 5), "2026-11-25T12:00:00Z",
               "2026-04-06T00:00:00Z", "2027-04-06T00:00:00Z", "2028-04-06T00:00:00Z");
}

TEST(CalendarTest, DayThatAMonthLacksIsItsLast) {
  const Calendar thirty_first = Of(CalendarUnit::kMonth, "UTC", 30);
  ExpectWindow(thirty_first, "2026-03-15T00:00:00Z", "2026-02-28T00:00:00Z", "2026-03-31T00:00:00Z",
               "2026-04-30T00:00:00Z");
  ExpectWindow(thirty_first, "2028-03-15T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z",
               "2028-04-30T00:00:00Z");
  ExpectWindow(Of(CalendarUnit::kMonth, "UTC", 28), "2026-03-15T00:00:00Z", "2026-02-28T00:00:00Z",
               "2026-03-29T00:00:00Z", "2026-04-29T00:00:00Z");
  const Calendar leap_day = Of(CalendarUnit::kYear, "UTC", 31 + 28);
  ExpectWindow(leap_day, "2027-06-01T00:00:00Z", "2027-02-28T00:00:00Z", "2028-02-29T00:00:00Z",
               "2029-02-28T00:00:00Z");
  ExpectWindow(leap_day, "2099-06-01T00:00:00Z", "2099-02-28T00:00:00Z", "2100-02-28T00:00:00Z",
               "2101-02-28T00:00:00Z");
}

TEST(CalendarTest, DaysHave23To25HoursWhereClocksChange) {
  const Calendar berlin = Of(CalendarUnit::kDay, "Europe/Berlin");
  ExpectWindow(berlin, "2026-03-29T12:00:00+02:00", "2026-03-29T00:00:00+01:00",
               "2026-03-30T00:00:00+02:00", "2026-03-31T00:00:00+02:00");
  ExpectWindow(berlin, "2026-10-25T12:00:00+01:00", "2026-10-25T00:00:00+02:00",
               "2026-10-26T00:00:00+01:00", "2026-10-27T00:00:00+01:00");
  // Half an hour.
  ExpectWindow(Of(CalendarUnit::kDay, "Australia/Lord_Howe"), "2026-04-05T12:00:00+10:30",
               "2026-04-05T00:00:00+11:00", "2026-04-06T00:00:00+10:30",
               "2026-04-07T00:00:00+10:30");
}

TEST(CalendarTest, SkippedAnchorIsTheInstantOfTheChange) {
  // From 24:00 to 01:00.
  ExpectWindow(Of(CalendarUnit::kDay, "Africa/Cairo"), "2026-04-24T12:00:00+03:00",
               "2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00",
               "2026-04-26T00:00:00+03:00");
  // From 02:00 to 03:00.
  ExpectWindow(Of(CalendarUnit::kDay, "Europe/Berlin", 150), "2026-03-29T12:00:00+02:00",
               "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00",
               "2026-03-31T02:30:00+02:00");
}

TEST(CalendarTest, RepeatedAnchorCountsTheFirstTime) {
  // From 03:00 to 02:00.
  const Calendar berlin = Of(CalendarUnit::kDay, "Europe/Berlin", 150);
  ExpectWindow(berlin, "2026-10-25T02:40:00+01:00", "2026-10-25T02:30:00+02:00",
               "2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00");
  ExpectWindow(berlin, "2026-10-25T02:10:00+01:00", "2026-10-25T02:30:00+02:00",
               "2026-10-26T02:30:00+01:00", "2026-10-27T02:30:00+01:00");
  // Havana's clocks go from 01:00 to midnight, which had come an hour before.
  ExpectWindow(Of(CalendarUnit::kDay, "America/Havana"), "2025-11-02T12:00:00-05:00",
               "2025-11-02T00:00:00-04:00", "2025-11-03T00:00:00-05:00",
               "2025-11-04T00:00:00-05:00");
  // Cairo's go from midnight to 23:00, so the first midnight is the one after that.
  ExpectWindow(Of(CalendarUnit::kDay, "Africa/Cairo"), "2025-10-31T12:00:00+02:00",
               "2025-10-31T00:00:00+02:00", "2025-11-01T00:00:00+02:00",
               "2025-11-02T00:00:00+02:00");
}

TEST(CalendarTest, SkippedDayHasNoWindow) {
  // Samoa went from December 29, 24:00, to December 31, 2011.
  ExpectWindow(Of(CalendarUnit::kDay, "Pacific/Apia"), "2011-12-29T12:00:00-10:00",
               "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00",
               "2012-01-01T00:00:00+14:00");
  ExpectWindow(Of(CalendarUnit::kDay, "Pacific/Apia"), "2011-12-28T12:00:00-10:00",
               "2011-12-28T00:00:00-10:00", "2011-12-29T00:00:00-10:00",
               "2011-12-30T00:00:00-10:00");
}

TEST(CalendarTest, SkippedDayWithALaterAnchorHasTheRestOfIt) {
  const Calendar from_6 = Of(CalendarUnit::kDay, "Pacific/Apia", 6 * 60);
  ExpectWindow(from_6, "2011-12-29T12:00:00-10:00", "2011-12-29T06:00:00-10:00",
               "2011-12-31T00:00:00+14:00", "2011-12-31T06:00:00+14:00");
  ExpectWindow(from_6, "2011-12-31T01:00:00+14:00", "2011-12-31T00:00:00+14:00",
               "2011-12-31T06:00:00+14:00", "2012-01-01T06:00:00+14:00");
}

TEST(CalendarTest, BothEndsOfTime) {
  const Calendar new_york = Of(CalendarUnit::kYear, "America/New_York");
  EXPECT_EQ(CalendarWindowAt(new_york, Instant{}),
            (CalendarWindow{At("1969-01-01T00:00:00-05:00"), At("1970-01-01T00:00:00-05:00"),
                            At("1971-01-01T00:00:00-05:00")}));
  const CalendarWindow last = CalendarWindowAt(Of(CalendarUnit::kYear, "UTC"), kInstantMax);
  EXPECT_EQ(last.begin, At("2116-01-01T00:00:00Z"));
  EXPECT_EQ(last.next_end, At("2118-01-01T00:00:00Z"));
}

TEST(CalendarTest, AnchorsAreThoseOfTheUnit) {
  const auto last_anchor = [](CalendarUnit unit) {
    int anchor = UINT16_MAX;
    while (anchor >= 0 && !IsCalendar(Of(unit, "UTC", anchor))) --anchor;
    return anchor;
  };
  EXPECT_EQ(last_anchor(CalendarUnit::kDay), 1439);
  EXPECT_EQ(last_anchor(CalendarUnit::kWeek), 6);
  EXPECT_EQ(last_anchor(CalendarUnit::kMonth), 30);
  EXPECT_EQ(last_anchor(CalendarUnit::kYear), 31 * 11 + 30);
  EXPECT_EQ(last_anchor(CalendarUnit::kNone), -1);
  std::int64_t dates = 0;
  for (int anchor = 0; anchor < 31 * 12; ++anchor) {
    dates += IsCalendar(Of(CalendarUnit::kYear, "UTC", anchor)) ? 1 : 0;
  }
  EXPECT_EQ(dates, 366);
  EXPECT_FALSE(IsCalendar({CalendarUnit::kDay, ZoneId{UINT16_MAX}, 0}));
}

// --- Laws ---------------------------------------------------------------------------------------

// Describes the first mistake in the window that holds `now`; empty if there is none.
std::string ComplaintAbout(const Calendar& calendar, Instant now) {
  const CalendarWindow window = CalendarWindowAt(calendar, now);
  const std::int64_t number = CalendarNumberAt(calendar, now);
  const auto complain = [&](std::string_view what) {
    const std::string_view zone = SystemTimeZones().NameOf(calendar.zone);
    return absl::StrCat(AbslView(what), ": unit ", static_cast<int>(calendar.unit), ", anchor ",
                        calendar.anchor, ", ", AbslView(zone), ", now ",
                        now.time_since_epoch().count(), " ns");
  };
  if (window.begin > now || window.end <= now) return complain("does not hold the instant");
  if (window.begin >= Instant{}) {
    if (CalendarNumberAt(calendar, window.begin) != number) return complain("begins too early");
    if (CalendarNumberAt(calendar, window.begin - Nanos{1}) >= number)
      return complain("begins too late");
  }
  if (CalendarNumberAt(calendar, window.end - Nanos{1}) != number) return complain("ends too late");
  const std::int64_t next = CalendarNumberAt(calendar, window.end);
  if (next <= number) return complain("ends too early");
  if (CalendarNumberAt(calendar, window.next_end - Nanos{1}) != next)
    return complain("the next ends too late");
  if (CalendarNumberAt(calendar, window.next_end) <= next)
    return complain("the next ends too early");
  if (window.end - window.begin > LongestWindow(calendar.unit)) return complain("is too long");
  if (PresentWindow(calendar, now) != window) return complain("is remembered wrongly");
  return "";
}

TEST(CalendarLawTest, RandomWindowsAreThoseThatTheClocksShow) {
  CheckLaw(50'000, [] {
    const Calendar calendar = *AnyCalendar();
    RC_ASSERT(ComplaintAbout(calendar, *AnyCalendarInstant(calendar)) == "");
  });
}

// The instants of the changes of a zone's clocks from 1970 to 2037; from then on they recur.
std::vector<Instant> ChangesOf(const absl::TimeZone& zone) {
  std::vector<Instant> changes;
  absl::TimeZone::CivilTransition change;
  absl::Time time = absl::UnixEpoch();
  while (zone.NextTransition(time, &change)) {
    time = zone.At(change.to).trans;
    changes.emplace_back(Nanos{absl::ToUnixNanos(time)});
    if (changes.back() > At("2037-12-31T00:00:00Z")) break;
  }
  return changes;
}

TEST(CalendarLawTest, WindowsAroundEveryChangeOfClocksAreThoseThatTheClocksShow) {
  const auto stride = static_cast<std::size_t>(10 / std::clamp<std::int64_t>(Scaled(10), 1, 10));
  std::int64_t windows = 0;
  for (std::size_t zone = 0; zone < SystemTimeZones().size(); zone += stride) {
    const ZoneId id{static_cast<std::uint16_t>(zone)};
    for (const Instant change : ChangesOf(SystemTimeZones().Zone(id))) {
      const std::uint16_t minute = static_cast<std::uint16_t>(windows * 37 % 1440);
      for (const Nanos beside : {Nanos{hours{-24}}, Nanos{-1}, Nanos{0}, Nanos{hours{2}}}) {
        for (const std::uint16_t anchor : {std::uint16_t{0}, std::uint16_t{150}, minute}) {
          const Calendar day{CalendarUnit::kDay, id, anchor};
          ASSERT_EQ(ComplaintAbout(day, std::max(Instant{}, change + beside)), "");
          ++windows;
        }
      }
    }
  }
  EXPECT_GT(windows, 20'000);
}

}  // namespace
}  // namespace weir
