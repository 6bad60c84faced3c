#include "core/rules/calendar.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"

#include "core/base/check.h"
#include "core/base/id_type.h"

namespace weir {
namespace {

constexpr absl::CivilDay kEpoch(1970, 1, 1);  // a Thursday
constexpr absl::CivilDay kMonday(1970, 1, 5);
constexpr int kLeapYear = 2000;

// The same day of the month, or the last day of a shorter month.
absl::CivilDay DayOf(absl::CivilMonth month, int days_after_the_first) {
  const absl::CivilDay last = absl::CivilDay(month + 1) - 1;
  return std::min(absl::CivilDay(month) + days_after_the_first, last);
}

// The local time at which the window of a number begins. The numbers of a calendar's windows are
// consecutive.
absl::CivilSecond LocalBegin(const Calendar& calendar, absl::civil_diff_t number) {
  const int anchor = calendar.anchor;
  switch (calendar.unit) {
    case CalendarUnit::kDay:
      return absl::CivilMinute(kEpoch + number) + anchor;
    case CalendarUnit::kWeek:
      return kMonday + 7 * number + anchor;
    case CalendarUnit::kMonth:
      return DayOf(absl::CivilMonth(kEpoch) + number, anchor);
    case CalendarUnit::kYear: {
      const absl::CivilMonth january(absl::CivilYear(kEpoch) + number);
      return DayOf(january + anchor / kAnchorMonthDays, anchor % kAnchorMonthDays);
    }
    case CalendarUnit::kNone:
      break;
  }
  WEIR_CHECK(false);
}

// The number of the unit that holds a local time, whatever the anchor: that of the window, or one
// more.
absl::civil_diff_t UnitOf(CalendarUnit unit, absl::CivilSecond local) {
  const absl::CivilDay day(local);
  switch (unit) {
    case CalendarUnit::kDay:
      return day - kEpoch;
    case CalendarUnit::kWeek:
      return (absl::PrevWeekday(day + 1, absl::Weekday::monday) - kMonday) / 7;
    case CalendarUnit::kMonth:
      return absl::CivilMonth(day) - absl::CivilMonth(kEpoch);
    case CalendarUnit::kYear:
      return absl::CivilYear(day) - absl::CivilYear(kEpoch);
    case CalendarUnit::kNone:
      break;
  }
  WEIR_CHECK(false);
}

// The windows of one calendar by their numbers.
class Windows {
 public:
  explicit Windows(const Calendar& calendar)
      : calendar_(calendar), zone_(SystemTimeZones().Zone(calendar.zone)) {}

  // The instant at which the window of a number begins. A window that is skipped as a whole begins
  // with the next one.
  [[nodiscard]] Instant BeginOf(absl::civil_diff_t number) const {
    const absl::TimeZone::TimeInfo begin = zone_.At(LocalBegin(calendar_, number));
    const bool is_skipped = begin.kind == absl::TimeZone::TimeInfo::SKIPPED;
    return Instant{Nanos{absl::ToUnixNanos(is_skipped ? begin.trans : begin.pre)}};
  }

  [[nodiscard]] absl::civil_diff_t NumberAt(Instant now) const {
    const absl::Time time = absl::FromUnixNanos(now.time_since_epoch().count());
    absl::civil_diff_t number = UnitOf(calendar_.unit, zone_.At(time).cs);
    // Clocks that were set back may show the time before an anchor again.
    while (BeginOf(number + 1) <= now) ++number;
    while (BeginOf(number) > now) --number;
    return number;
  }

 private:
  const Calendar& calendar_;
  const absl::TimeZone& zone_;
};

struct KnownWindow {
  Calendar calendar;
  CalendarWindow window;
};

// The windows that a thread has asked for last, each in a place computed from its calendar.
constexpr std::size_t kKnownWindows = 128;
static_assert((kKnownWindows & (kKnownWindows - 1)) == 0);
constinit thread_local std::array<KnownWindow, kKnownWindows> known_windows{};
constinit thread_local std::uint64_t windows_computed = 0;

KnownWindow& PlaceOf(const Calendar& calendar) noexcept {
  const std::size_t zone = NumberOf(calendar.zone);
  const std::size_t place =
      zone * 5 + calendar.anchor * 3 + static_cast<std::size_t>(calendar.unit);
  return known_windows[place % kKnownWindows];
}

}  // namespace

bool IsCalendar(const Calendar& calendar) noexcept {
  const int anchor = calendar.anchor;
  if (NumberOf(calendar.zone) >= SystemTimeZones().size()) return false;
  switch (calendar.unit) {
    case CalendarUnit::kDay:
      return anchor < 24 * 60;
    case CalendarUnit::kWeek:
      return anchor < 7;
    case CalendarUnit::kMonth:
      return anchor < kAnchorMonthDays;
    case CalendarUnit::kYear: {
      const int month = anchor / kAnchorMonthDays + 1;
      const int day = anchor % kAnchorMonthDays + 1;
      return month <= 12 && absl::CivilDay(kLeapYear, month, day).day() == day;
    }
    case CalendarUnit::kNone:
      break;
  }
  return false;
}

CalendarWindow CalendarWindowAt(const Calendar& calendar, Instant now) noexcept {
  WEIR_DCHECK(now >= Instant{});
  WEIR_DCHECK(now <= kInstantMax);
  const Windows windows(calendar);
  absl::civil_diff_t number = windows.NumberAt(now);
  CalendarWindow window;
  window.begin = windows.BeginOf(number);
  window.end = windows.BeginOf(++number);
  do window.next_end = windows.BeginOf(++number);
  while (window.next_end == window.end);  // The window between them is skipped.
  WEIR_CHECK(window.begin <= now);
  WEIR_CHECK(window.end > now);
  WEIR_CHECK(window.next_end > window.end);
  return window;
}

CalendarWindow PresentWindow(const Calendar& calendar, Instant now) noexcept {
  KnownWindow& known = PlaceOf(calendar);
  const bool holds = known.window.begin <= now && now < known.window.end;
  if (!holds || known.calendar != calendar) {
    known = {calendar, CalendarWindowAt(calendar, now)};
    ++windows_computed;
  }
  return known.window;
}

std::uint64_t WindowsComputed() noexcept { return windows_computed; }

// The changes of a zone's clocks are shorter than a day.
Nanos LongestWindow(CalendarUnit unit) noexcept {
  using std::chrono::days;
  switch (unit) {
    case CalendarUnit::kDay:
      return days{2};
    case CalendarUnit::kWeek:
      return days{8};
    case CalendarUnit::kMonth:
      return days{32};
    case CalendarUnit::kYear:
      return days{367};
    case CalendarUnit::kNone:
      break;
  }
  return Nanos{0};
}

}  // namespace weir
