// The laws of calendar windows that those of all windows (window_law_test.cc) do not say, each
// checked with random calendars and histories. The number is that of the list of laws in
// ARCHITECTURE.md.
#include <algorithm>
#include <map>

#include "gtest/gtest.h"

#include "core/rules/calendar.h"
#include "core/rules/fixed_window.h"
#include "tests/core/rules/window_life.h"
#include "tests/random/histories.h"
#include "tests/random/windows.h"
#include "tests/support/calendar_oracle.h"

namespace weir {
namespace {

constexpr std::int64_t kHistories = 2'000;

// Asks for all tokens at instants that step back and forth in one window and the one after it.
TEST(CalendarWindowLawTest, TimeThatGoesBackMakesNoToken) {
  CheckLaw(kHistories, [] {
    WindowLife<CalendarWindows> life;
    const CalendarWindow present = CalendarWindowAt(life.limit().shape().calendar, life.now());
    const Instant first = std::max(Instant{}, present.begin);
    std::map<Instant, std::int64_t> taken;  // of the window with that end
    for (const Move& move : *AnyHistory()) {
      const Nanos span = present.next_end - Nanos{1} - first;
      life.AskForAll(std::min(kInstantMax, first + Nanos{PartOf(span.count(), move.part)}));
      const FixedWindow window = FixedWindowOf(life.bucket());
      taken[window.end] = window.used;
      RC_ASSERT(window.used == life.count());
      RC_ASSERT(window.end == present.end || window.end == present.next_end);
    }
  });
}

TEST(CalendarWindowLawTest, L23EachWindowIsTheCalendarsAndAdmitsTheCount) {
  CheckLaw(kHistories, [] {
    WindowLife<CalendarWindows> life;
    const Calendar& calendar = life.limit().shape().calendar;
    std::map<std::int64_t, std::int64_t> taken;  // by the number of the window
    for (const Move& move : *AnyHistory()) {
      const std::int64_t tokens = life.Make(move);
      if (tokens == 0) continue;
      const std::int64_t number = CalendarNumberAt(calendar, life.now());
      const Instant end = FixedWindowOf(life.bucket()).end;
      RC_ASSERT(CalendarNumberAt(calendar, end - Nanos{1}) == number);
      RC_ASSERT(CalendarNumberAt(calendar, end) > number);
      taken[number] += tokens;
      if (taken[number] > life.count()) RC_FAIL("too much passed");
    }
  });
}

}  // namespace
}  // namespace weir
