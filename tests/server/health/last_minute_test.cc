// Goal: the last minute has what came in it, and forgets what is older than a minute and a step.
// Method: counts that grow at known times.
#include "server/health/last_minute.h"

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::seconds;

constexpr HostInstant kBegin{seconds{1'000}};

TEST(LastMinuteTest, TheFirstCallIsTheBeginning) {
  LastMinute minute;
  EXPECT_EQ(minute.Add(kBegin, {.evicted = 5, .commands = 9}), Activity{});
  EXPECT_EQ(minute.Add(kBegin + seconds{1}, {.evicted = 5, .commands = 10}),
            (Activity{.commands = 1}));
}

TEST(LastMinuteTest, EachNumberIsCounted) {
  LastMinute minute;
  Activity before{.evicted = 1, .evicted_full = 2, .rejected = 3, .commands = 4, .errors = 5};
  before.times[7] = 6;
  static_cast<void>(minute.Add(kBegin, before));
  Activity counts{.evicted = 11, .evicted_full = 22, .rejected = 33, .commands = 44, .errors = 55};
  counts.times[7] = 66;
  Activity added{.evicted = 10, .evicted_full = 20, .rejected = 30, .commands = 40, .errors = 50};
  added.times[7] = 60;
  EXPECT_EQ(minute.Add(kBegin + seconds{1}, counts), added);
}

// One event in each second: the last minute has 60 to 70 of them, once it is that old.
TEST(LastMinuteTest, AMinuteHasSixtyToSeventySeconds) {
  LastMinute minute;
  for (std::uint64_t second = 0; second < 600; ++second) {
    const Activity added = minute.Add(kBegin + seconds{second}, {.commands = second});
    if (second < 60) {
      EXPECT_EQ(added.commands, second);
    } else {
      EXPECT_GE(added.commands, 60U);
      EXPECT_LT(added.commands, 70U);
    }
  }
}

TEST(LastMinuteTest, AnEventIsForgottenAfterSeventySeconds) {
  LastMinute minute;
  static_cast<void>(minute.Add(kBegin, {}));
  EXPECT_EQ(minute.Add(kBegin + seconds{1}, {.rejected = 1}).rejected, 1U);
  for (int second = 2; second < 60; ++second) {
    EXPECT_EQ(minute.Add(kBegin + seconds{second}, {.rejected = 1}).rejected, 1U) << second;
  }
  for (int second = 60; second < 71; ++second) {
    static_cast<void>(minute.Add(kBegin + seconds{second}, {.rejected = 1}));
  }
  EXPECT_EQ(minute.Add(kBegin + seconds{71}, {.rejected = 1}).rejected, 0U);
}

// After a pause of the thread the minute is longer. It ends at the first call after its length.
TEST(LastMinuteTest, ATimeWithoutCallsCountsOnce) {
  LastMinute minute;
  static_cast<void>(minute.Add(kBegin, {}));
  EXPECT_EQ(minute.Add(kBegin + seconds{500}, {.errors = 4}).errors, 4U);
  EXPECT_EQ(minute.Add(kBegin + seconds{559}, {.errors = 4}).errors, 4U);
  EXPECT_EQ(minute.Add(kBegin + seconds{560}, {.errors = 4}).errors, 0U);
}

}  // namespace
}  // namespace weir
