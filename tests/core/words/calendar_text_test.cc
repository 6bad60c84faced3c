// Goal: the words of a calendar window mean what the grammar says, print in one form, and every
// other word is refused with a reason. Method: tables of words.
#include "core/words/calendar_text.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "gmock/gmock.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/base/time_zones.h"
#include "core/words/limit_grammar.h"
#include "tests/core/words/limit_word_text.h"

namespace weir {
namespace {

using ::testing::EndsWith;

struct CalendarWord {
  std::string_view word;
  std::int64_t count;
  CalendarUnit unit;
  std::string_view zone;
  std::uint16_t anchor;
};

constexpr CalendarWord kCalendarWords[] = {
    {"100/day", 100, CalendarUnit::kDay, "UTC", 0},
    {"100/week", 100, CalendarUnit::kWeek, "UTC", 0},
    {"100/month", 100, CalendarUnit::kMonth, "UTC", 0},
    {"100/year", 100, CalendarUnit::kYear, "UTC", 0},
    {"1M/month,tz=America/New_York,from=15", 1'000'000, CalendarUnit::kMonth, "America/New_York",
     14},
    {"1M/month,from=15,fixed,cost=3,tz=America/New_York", 1'000'000, CalendarUnit::kMonth,
     "America/New_York", 14},
    {"5/day,tz=Etc/GMT+12,from=23:59", 5, CalendarUnit::kDay, "Etc/GMT+12", 1439},
    {"5/day,from=00:00", 5, CalendarUnit::kDay, "UTC", 0},
    {"5/week,from=mon", 5, CalendarUnit::kWeek, "UTC", 0},
    {"5/week,from=sun,tz=UTC", 5, CalendarUnit::kWeek, "UTC", 6},
    {"5/month,from=1", 5, CalendarUnit::kMonth, "UTC", 0},
    {"5/month,from=31", 5, CalendarUnit::kMonth, "UTC", 30},
    {"5/year,from=01-01", 5, CalendarUnit::kYear, "UTC", 0},
    {"5/year,from=02-29", 5, CalendarUnit::kYear, "UTC", 31 + 28},
    {"5/year,from=12-31", 5, CalendarUnit::kYear, "UTC", 11 * 31 + 30},
    {"2251799813685247/year", 2'251'799'813'685'247, CalendarUnit::kYear, "UTC", 0},
};

TEST(CalendarTextTest, ReadsEveryFormOfACalendarWindow) {
  for (const auto& [word, count, unit, zone, anchor] : kCalendarWords) {
    const absl::StatusOr<LimitWord> read = ParseLimitWord(word);
    ASSERT_TRUE(read.ok()) << read.status();
    const LimitShape& shape = read->limit.value().shape();
    EXPECT_EQ(shape.algorithm, Algorithm::kFixedWindow) << word;
    EXPECT_EQ(shape.count, count) << word;
    EXPECT_EQ(shape.period, Nanos{0}) << word;
    EXPECT_EQ(shape.calendar, (Calendar{unit, SystemTimeZones().Find(zone).value(), anchor}))
        << word;
  }
}

struct PrintedCalendar {
  std::string_view word;
  std::string_view text;
};

constexpr PrintedCalendar kPrintedCalendars[] = {
    {"100/day,fixed,tz=UTC,from=00:00", "100/day"},
    {"100/week,from=mon,tz=UTC", "100/week"},
    {"1000000/month,shadow,from=15,tz=Europe/Berlin", "1M/month,tz=Europe/Berlin,from=15,shadow"},
    {"5/day,from=09:05", "5/day,from=09:05"},
    {"5/week,from=sat", "5/week,from=sat"},
    {"5/year,tz=Asia/Calcutta,from=04-06", "5/year,tz=Asia/Calcutta,from=04-06"},
};

TEST(CalendarTextTest, PrintsTheCanonicalText) {
  for (const auto& [word, text] : kPrintedCalendars) {
    EXPECT_EQ(LimitText(ParseLimitWord(word)->limit.value()), text) << word;
    EXPECT_EQ(LimitText(ParseLimitWord(text)->limit.value()), text) << text;
  }
}

struct RefusedCalendar {
  std::string_view word;
  std::string_view reason;
};

constexpr RefusedCalendar kRefusedCalendars[] = {
    {"0/day", "count must be 1 to 2251799813685247 for a window"},
    {"3000000G/month",
     "count must be 1 to 2251799813685247 for a window: 3000000G/30d is a bucket that can"},
    {"10/1day", "period '1day' must be one day, without a number: did you mean 10/1d?"},
    {"10/2month", "period '2month' must be one month, without a number: did you mean 10/60d?"},
    {"10/days",
     "unknown unit 'days' (us, ms, s, m, h, d, w, or day, week, month, year): did "
     "you mean 10/day (the calendar's) or 10/d (24 hours)?"},
    {"10/Day",
     "unknown unit 'Day' (us, ms, s, m, h, d, w, or day, week, month, year): did "
     "you mean 10/day (the calendar's) or 10/d (24 hours)?"},
    {"10/s,tz=UTC", "option 'tz=' is for calendar windows only: per day, week, month, year"},
    {"10/m,fixed,from=1",
     "option 'from=' is for calendar windows only: per day, week, month, year"},
    {"10/month,bucket",
     "option 'bucket' is not for a calendar window (day, week, month, year): it is "
     "fixed, and starts as from= says"},
    {"10/month,sliding",
     "option 'sliding' is not for a calendar window (day, week, month, year): it "
     "is fixed, and starts as from= says"},
    {"10/month,held",
     "option 'held' is not for a calendar window (day, week, month, year): it "
     "is fixed, and starts as from= says"},
    {"10/month,burst=5",
     "option 'burst=' is not for a calendar window (day, week, month, year): it "
     "is fixed, and starts as from= says"},
    {"10/month,fixed,aligned",
     "option 'aligned' is not for a calendar window (day, week, month, "
     "year): it is fixed, and starts as from= says"},
    {"10/month,fixed,sliding", "only one of bucket, fixed, sliding, held may be given"},
    {"10/day,from=", "from '' must be a time of the day, 00:00 to 23:59"},
    {"10/day,from=24:00", "from '24:00' must be a time of the day, 00:00 to 23:59"},
    {"10/day,from=12:60", "from '12:60' must be a time of the day, 00:00 to 23:59"},
    {"10/day,from=9:00", "from '9:00' must be a time of the day, 00:00 to 23:59"},
    {"10/day,from=-1:00", "from '-1:00' must be a time of the day, 00:00 to 23:59"},
    {"10/day,from=09:+1", "from '09:+1' must be a time of the day, 00:00 to 23:59"},
    {"10/day,from=09:00:00", "from '09:00:00' must be a time of the day, 00:00 to 23:59"},
    {"10/day,from=1", "from '1' must be a time of the day, 00:00 to 23:59"},
    {"10/week,from=31", "from '31' must be a day of the week (mon, tue, wed, thu, fri, sat, sun)"},
    {"10/week,from=Mon",
     "from 'Mon' must be a day of the week (mon, tue, wed, thu, fri, sat, sun)"},
    {"10/week,from=", "from '' must be a day of the week (mon, tue, wed, thu, fri, sat, sun)"},
    {"10/month,from=0", "from '0' must be a day of the month, 1 to 31"},
    {"10/month,from=32", "from '32' must be a day of the month, 1 to 31"},
    {"10/month,from=01", "from '01' must be a day of the month, 1 to 31"},
    {"10/month,from=-1", "from '-1' must be a day of the month, 1 to 31"},
    {"10/month,from=65537", "from '65537' must be a day of the month, 1 to 31"},
    {"10/month,from=99999999999999999999",
     "from '99999999999999999999' must be a day of the month, 1 to 31"},
    {"10/month,from=mon", "from 'mon' must be a day of the month, 1 to 31"},
    {"10/year,from=02-30", "from '02-30' must be a month and one of its days, 01-01 to 12-31"},
    {"10/year,from=04-31", "from '04-31' must be a month and one of its days, 01-01 to 12-31"},
    {"10/year,from=00-10", "from '00-10' must be a month and one of its days, 01-01 to 12-31"},
    {"10/year,from=13-01", "from '13-01' must be a month and one of its days, 01-01 to 12-31"},
    {"10/year,from=01-00", "from '01-00' must be a month and one of its days, 01-01 to 12-31"},
    {"10/year,from=1", "from '1' must be a month and one of its days, 01-01 to 12-31"},
};

TEST(CalendarTextTest, EveryBadWordIsRefusedWithItsReason) {
  for (const auto& [word, reason] : kRefusedCalendars) {
    EXPECT_EQ(ParseLimitWord(word).status().code(), absl::StatusCode::kInvalidArgument) << word;
    EXPECT_EQ(ErrorOf(word), "invalid limit " + Quote(word) + ": " + std::string(reason));
  }
}

// Its code tells that another system may have the zone.
TEST(CalendarTextTest, UnknownTimeZonesAreRefused) {
  for (const std::string_view zone :
       {"", "Berlin", "europe/berlin", "/etc/localtime", "../zoneinfo/UTC", "Europe/..",
        "Fixed/UTC", "Fixed/UTC+01:00:00", "libc:localtime", "right/UTC", "posix/UTC", "localtime",
        "CET-1CEST", "+01:00", "file:UTC", "utc", "UTC "}) {
    const absl::Status status =
        ParseLimitWord("10/day,tz=" + std::string(zone) + ",from=12:00").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << zone;
    EXPECT_THAT(std::string(StdView(status.message())),
                EndsWith(": unknown time zone " + Quote(zone) +
                         " (a name of the zone database, like Europe/Berlin, or UTC)"));
  }
}

}  // namespace
}  // namespace weir
