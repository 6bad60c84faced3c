#include "core/words/calendar_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

// By CalendarUnit.
constexpr std::array<std::string_view, 5> kUnitNames = {"", "day", "week", "month", "year"};
constexpr std::array<std::string_view, 7> kDaysOfTheWeek = {"mon", "tue", "wed", "thu",
                                                            "fri", "sat", "sun"};
constexpr int kMinutesInAnHour = 60;

// The anchors of a unit, for errors.
std::string_view AnchorsOf(CalendarUnit unit) {
  switch (unit) {
    case CalendarUnit::kDay:
      return "a time of the day, 00:00 to 23:59";
    case CalendarUnit::kWeek:
      return "a day of the week (mon, tue, wed, thu, fri, sat, sun)";
    case CalendarUnit::kMonth:
      return "a day of the month, 1 to 31";
    case CalendarUnit::kYear:
      return "a month and one of its days, 01-01 to 12-31";
    case CalendarUnit::kNone:
      break;
  }
  WEIR_CHECK(false);
}

struct Pair {
  int first;
  int second;
};

// Reads two numbers of two digits around a mark: "09:30".
std::optional<Pair> ReadPair(std::string_view text, char mark) {
  const auto two_digits = [&](std::size_t place) {
    const int tens = text[place] - '0';
    const int ones = text[place + 1] - '0';
    return tens < 0 || tens > 9 || ones < 0 || ones > 9 ? -1 : 10 * tens + ones;
  };
  if (text.size() != 5 || text[2] != mark) return std::nullopt;
  const Pair pair{two_digits(0), two_digits(3)};
  if (pair.first < 0 || pair.second < 0) return std::nullopt;
  return pair;
}

// The number of an anchor, which may be one that the unit does not have; nothing for other text.
std::optional<std::int64_t> ReadAnchor(CalendarUnit unit, std::string_view text) {
  switch (unit) {
    case CalendarUnit::kDay: {
      const std::optional<Pair> time = ReadPair(text, ':');
      if (!time || time->second >= kMinutesInAnHour) return std::nullopt;
      return time->first * kMinutesInAnHour + time->second;
    }
    case CalendarUnit::kWeek: {
      const auto* const day = std::ranges::find(kDaysOfTheWeek, text);
      if (day == kDaysOfTheWeek.end()) return std::nullopt;
      return day - kDaysOfTheWeek.begin();
    }
    case CalendarUnit::kMonth: {
      const std::optional<std::int64_t> day = ParseDigits(text);
      if (!day) return std::nullopt;
      return *day - 1;
    }
    case CalendarUnit::kYear: {
      const std::optional<Pair> date = ReadPair(text, '-');
      if (!date || date->second < 1 || date->second > kAnchorMonthDays) return std::nullopt;
      return (date->first - 1) * kAnchorMonthDays + date->second - 1;
    }
    case CalendarUnit::kNone:
      break;
  }
  WEIR_CHECK(false);
}

std::string TwoDigits(int number) { return absl::StrCat(absl::Dec(number, absl::kZeroPad2)); }

std::string AnchorText(const Calendar& calendar) {
  const int anchor = calendar.anchor;
  switch (calendar.unit) {
    case CalendarUnit::kDay:
      return absl::StrCat(TwoDigits(anchor / kMinutesInAnHour), ":",
                          TwoDigits(anchor % kMinutesInAnHour));
    case CalendarUnit::kWeek:
      return std::string(kDaysOfTheWeek[calendar.anchor]);
    case CalendarUnit::kMonth:
      return absl::StrCat(anchor + 1);
    case CalendarUnit::kYear:
      return absl::StrCat(TwoDigits(anchor / kAnchorMonthDays + 1), "-",
                          TwoDigits(anchor % kAnchorMonthDays + 1));
    case CalendarUnit::kNone:
      break;
  }
  WEIR_CHECK(false);
}

absl::Status UnknownZone(std::string_view name) {
  const bool has_database = SystemTimeZones().size() > 1;
  return absl::NotFoundError(absl::StrCat(
      "unknown time zone ", Quote(name),
      has_database ? " (a name of the zone database, like Europe/Berlin, or UTC)"
                   : " (only UTC: this system has no zone database, the package tzdata)"));
}

}  // namespace

CalendarUnit CalendarUnitNamed(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kUnitNames, name);
  if (found == kUnitNames.end()) return CalendarUnit::kNone;
  return static_cast<CalendarUnit>(found - kUnitNames.begin());
}

absl::StatusOr<Calendar> ReadCalendar(CalendarUnit unit, std::optional<std::string_view> zone,
                                      std::optional<std::string_view> anchor) {
  Calendar calendar{.unit = unit};
  if (zone) {
    const std::optional<ZoneId> id = SystemTimeZones().Find(*zone);
    if (!id) return UnknownZone(*zone);
    calendar.zone = *id;
  }
  if (anchor) {
    const std::int64_t number = ReadAnchor(unit, *anchor).value_or(-1);
    calendar.anchor = static_cast<std::uint16_t>(number);
    if (number < 0 || number > UINT16_MAX || !IsCalendar(calendar)) {
      return absl::InvalidArgumentError(
          absl::StrCat("from ", Quote(*anchor), " must be ", AbslView(AnchorsOf(unit))));
    }
  }
  return calendar;
}

std::string CalendarText(const Calendar& calendar) {
  WEIR_CHECK(IsCalendar(calendar));
  std::string text(kUnitNames[static_cast<std::size_t>(calendar.unit)]);
  if (calendar.zone != kUtc) {
    absl::StrAppend(&text, ",tz=", AbslView(SystemTimeZones().NameOf(calendar.zone)));
  }
  if (calendar.anchor != 0) absl::StrAppend(&text, ",from=", AnchorText(calendar));
  return text;
}

}  // namespace weir
