#include "tests/random/calendars.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "absl/time/time.h"

#include "core/base/time_zones.h"

namespace weir {

rc::Gen<Calendar> AnyCalendar() {
  return rc::gen::suchThat(
      rc::gen::exec([] {
        const auto last_zone = static_cast<std::uint16_t>(SystemTimeZones().size() - 1);
        const auto anchor = *rc::gen::oneOf(
            rc::gen::just<std::uint16_t>(0), Between<std::uint16_t>(0, 31),
            Between<std::uint16_t>(0, 12 * kAnchorMonthDays), Between<std::uint16_t>(0, 1440));
        return Calendar{*rc::gen::element(CalendarUnit::kDay, CalendarUnit::kWeek,
                                          CalendarUnit::kMonth, CalendarUnit::kYear),
                        ZoneId{*Between<std::uint16_t>(0, last_zone)}, anchor};
      }),
      IsCalendar);
}

Nanos ShortestWindow(const Calendar& calendar) {
  constexpr std::chrono::hours kShort{20};
  const std::chrono::minutes left{calendar.anchor};
  if (calendar.unit != CalendarUnit::kDay || calendar.anchor == 0 || left >= kShort) return kShort;
  const absl::TimeZone& zone = SystemTimeZones().Zone(calendar.zone);
  const absl::Time end = absl::FromUnixSeconds(INT32_MAX);  // What comes later are yearly changes.
  absl::TimeZone::CivilTransition change;
  for (absl::Time time = absl::UnixEpoch(); time < end && zone.NextTransition(time, &change);
       time = zone.At(change.to).trans) {
    if (change.to - change.from > absl::ToInt64Seconds(absl::Hours(20))) return left;
  }
  return kShort;
}

rc::Gen<Instant> AnyCalendarInstant(const Calendar& calendar, Nanos room) {
  return rc::gen::exec([calendar, room] {
    Instant now = *AnyInstant(room);
    const Instant last = kInstantMax - room;
    absl::TimeZone::CivilTransition change;
    const absl::TimeZone& zone = SystemTimeZones().Zone(calendar.zone);
    const absl::Time time = absl::FromUnixNanos(now.time_since_epoch().count());
    if (*rc::gen::arbitrary<bool>() && zone.NextTransition(time, &change)) {
      const std::int64_t seconds = *Between<std::int64_t>(-90'000, 90'000);
      now = Instant{Nanos{absl::ToUnixNanos(zone.At(change.to).trans)}} +
            std::chrono::seconds{seconds};
    }
    now = std::clamp(now, Instant{}, last);
    if (*rc::gen::arbitrary<bool>()) {
      now = CalendarWindowAt(calendar, now).end + Nanos{*Between<std::int64_t>(-1, 1)};
    }
    return std::clamp(now, Instant{}, last);
  });
}

}  // namespace weir
