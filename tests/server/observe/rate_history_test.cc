// Goal: the steps of the history add up to the counts of RL.STATS, whatever the width, however long
// the history runs, and through resets; and its memory is bounded. Method: examples with a clock in
// the test's hand; random counts beside a log of all of them.
#include "server/observe/rate_history.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/random/generators.h"
#include "tests/random/property.h"

namespace weir {
namespace {

using testing::Each;
using testing::ElementsAre;
using Counts = RateHistory::Counts;
using Numbers = LimitTotals::Numbers;
using Rows = LimitTotals::Rows;

constexpr const HistoryRing& kSeconds = kHistoryRings[0];
constexpr const HistoryRing& kTens = kHistoryRings[1];
constexpr const HistoryRing& kFives = kHistoryRings[2];

// A whole number of steps of each width since 1970.
constexpr std::int64_t kFirstSecond = 1'767'225'600;
static_assert(kFirstSecond % kFives.width == 0);

Instant At(std::int64_t second) { return Instant{std::chrono::seconds{second}}; }

void Add(RateHistory& history, std::int64_t second, const Numbers& total, const Rows& rows = {},
         std::uint64_t resets = 0) {
  history.Update(At(second), [&] {
    return LimitTotals::Reading{.total = total, .rows = rows, .resets = resets};
  });
}

const RateHistory::Series* Find(const RateHistory::Steps& steps, std::string_view limit) {
  for (const RateHistory::Series& series : steps.series) {
    if (series.limit == limit) return &series;
  }
  return nullptr;
}

// The first number of each step.
std::vector<std::uint32_t> Allowed(const RateHistory::Steps& steps, std::string_view limit = {}) {
  std::vector<std::uint32_t> allowed;
  const RateHistory::Series* const series = Find(steps, limit);
  if (!series) return allowed;
  for (const Counts& counts : series->steps) allowed.push_back(counts[0]);
  return allowed;
}

TEST(RateHistoryTest, HasNothingBeforeItBegins) {
  const RateHistory history;
  EXPECT_TRUE(history.Read(kSeconds).series.empty());
}

TEST(RateHistoryTest, ACountLiesInTheSecondBeforeItIsRead) {
  RateHistory history;
  Add(history, kFirstSecond, {7, 7, 7, 7, 7, 7}, {{"1/s", {7, 7, 7, 7, 7, 7}}});
  Add(history, kFirstSecond + 1, {8, 9, 10, 11, 12, 13}, {{"1/s", {7, 7, 7, 8, 7, 7}}});
  const RateHistory::Steps steps = history.Read(kSeconds, kFirstSecond);
  EXPECT_EQ(steps.from, kFirstSecond);
  EXPECT_EQ(steps.missing, 0U);
  EXPECT_THAT(steps.series, ElementsAre(RateHistory::Series{"", {Counts{1, 2, 3, 4}}},
                                        RateHistory::Series{"1/s", {Counts{0, 0, 0, 1}}}));
}

TEST(RateHistoryTest, ReadsOnceASecond) {
  RateHistory history;
  int readings = 0;
  const auto update = [&](Instant now, std::uint64_t allowed) {
    history.Update(now, [&] {
      ++readings;
      return LimitTotals::Reading{.total = {allowed}, .rows = {}, .resets = 0};
    });
  };
  update(At(kFirstSecond), 0);
  update(At(kFirstSecond) + std::chrono::milliseconds{999}, 5);
  EXPECT_EQ(readings, 1);
  update(At(kFirstSecond + 1), 6);
  update(At(kFirstSecond), 7);  // by a thread that read its clock before
  EXPECT_EQ(readings, 2);
  EXPECT_THAT(Allowed(history.Read(kSeconds, kFirstSecond)), ElementsAre(6U));
}

// A server that begins to follow a primary takes its time.
TEST(RateHistoryTest, BeginsAgainWhenTheClockGoesBack) {
  for (const std::int64_t back : {std::int64_t{3}, std::int64_t{3600}, kFirstSecond}) {
    RateHistory history;
    Add(history, kFirstSecond, {});
    Add(history, kFirstSecond + 1, {5}, {{"1/s", {5}}});
    const std::int64_t second = kFirstSecond + 1 - back;
    Add(history, second, {7}, {{"1/s", {7}}});
    Add(history, second + 1, {8}, {{"1/s", {8}}});
    Add(history, second + 2, {10}, {{"1/s", {10}}});
    const RateHistory::Steps steps = history.Read(kSeconds, second);
    EXPECT_EQ(Allowed(steps).back(), 2U) << back;
    EXPECT_EQ(Allowed(steps, "1/s").back(), 2U) << back;
    EXPECT_EQ(Allowed(steps).size(), 2U);
  }
}

TEST(RateHistoryTest, TakesATimeAtTheBeginningOf1970) {
  RateHistory history;
  Add(history, 0, {5});
  Add(history, 2, {7});
  EXPECT_THAT(Allowed(history.Read(kSeconds)), ElementsAre(2U));
}

// The first two wide steps are not over, or only partly in the history.
TEST(RateHistoryTest, WideStepsAreSumsAndAreShownWhenTheyAreOver) {
  RateHistory history;
  const std::int64_t begin = kFirstSecond + 5;
  for (std::int64_t i = 0; i <= 24; ++i) {
    Add(history, begin + i, {static_cast<std::uint64_t>(i)});
  }
  const RateHistory::Steps tens = history.Read(kTens, kFirstSecond);
  EXPECT_EQ(tens.from, kFirstSecond);
  EXPECT_THAT(Allowed(tens), ElementsAre(5U, 10U));
  EXPECT_TRUE(Allowed(history.Read(kFives, kFirstSecond)).empty());
}

// Steps that were over before the history began are missing, not 0.
TEST(RateHistoryTest, StepsBeforeTheBeginningAreMissing) {
  RateHistory history;
  Add(history, kFirstSecond, {});
  Add(history, kFirstSecond + 2, {4});
  const RateHistory::Steps steps = history.Read(kSeconds);
  EXPECT_EQ(steps.from, kFirstSecond + 2 - 300);
  EXPECT_EQ(steps.missing, 298U);
  EXPECT_THAT(Allowed(steps), ElementsAre(0U, 4U));
  EXPECT_EQ(history.Read(kSeconds, kFirstSecond + 1).from, kFirstSecond + 1);
  EXPECT_THAT(Allowed(history.Read(kSeconds, kFirstSecond + 1)), ElementsAre(4U));
  const RateHistory::Steps none = history.Read(kSeconds, kFirstSecond + 1000);
  EXPECT_EQ(none.from, kFirstSecond + 2);
  EXPECT_EQ(none.missing, 0U);
  EXPECT_TRUE(Allowed(none).empty());
}

TEST(RateHistoryTest, OldStepsMakeRoomInEachRing) {
  for (const HistoryRing& ring : kHistoryRings) {
    RateHistory history;
    Add(history, kFirstSecond, {});
    Add(history, kFirstSecond + 1, {9});
    const std::int64_t span = ring.width * static_cast<std::int64_t>(ring.steps);
    Add(history, kFirstSecond + span, {9});
    const auto kept = Allowed(history.Read(ring));
    EXPECT_EQ(kept.size(), ring.steps);
    EXPECT_EQ(kept.front(), 9U);
    Add(history, kFirstSecond + span + 1, {9});
    EXPECT_THAT(Allowed(history.Read(ring)), Each(0U));
  }
}

TEST(RateHistoryTest, AGapIsZerosAndAJumpOfYearsEmptiesTheRings) {
  RateHistory history;
  Add(history, kFirstSecond, {});
  Add(history, kFirstSecond + 1, {5});
  Add(history, kFirstSecond + 4, {7});
  EXPECT_THAT(Allowed(history.Read(kSeconds, kFirstSecond)), ElementsAre(5U, 0U, 0U, 2U));
  Add(history, 2 * kFirstSecond, {8});
  for (const HistoryRing& ring : kHistoryRings) {
    const auto kept = Allowed(history.Read(ring));
    EXPECT_EQ(std::accumulate(kept.begin(), kept.end(), 0U), 1U) << ring.width;
  }
}

TEST(RateHistoryTest, AfterAResetAllCountsAreNew) {
  RateHistory history;
  Add(history, kFirstSecond, {});
  Add(history, kFirstSecond + 1, {50, 20}, {{"1/s", {50, 20}}, {"2/s", {3}}});
  Add(history, kFirstSecond + 2, {60, 1}, {{"1/s", {60, 1}}}, 1);
  Add(history, kFirstSecond + 3, {64, 1}, {{"1/s", {60, 1}}, {"2/s", {4}}}, 1);
  const RateHistory::Steps steps = history.Read(kSeconds, kFirstSecond);
  EXPECT_THAT(Allowed(steps), ElementsAre(50U, 60U, 4U));
  EXPECT_THAT(Allowed(steps, "1/s"), ElementsAre(50U, 60U, 0U));
  EXPECT_THAT(Allowed(steps, "2/s"), ElementsAre(3U, 0U, 4U));
}

// Counters go on while they are read, so a sum may come out a little lower than the last one.
TEST(RateHistoryTest, ACountThatGoesBackWithoutAResetIsNone) {
  RateHistory history;
  Add(history, kFirstSecond, {});
  Add(history, kFirstSecond + 1, {50});
  Add(history, kFirstSecond + 2, {49});
  Add(history, kFirstSecond + 3, {52});
  EXPECT_THAT(Allowed(history.Read(kSeconds, kFirstSecond)), ElementsAre(50U, 0U, 2U));
}

TEST(RateHistoryTest, AStepCountsToItsMaximum) {
  RateHistory history;
  Add(history, kFirstSecond, {});
  Add(history, kFirstSecond + 1, {std::uint64_t{1} << 32});
  Add(history, kFirstSecond + 2, {(std::uint64_t{1} << 32) + 3});
  EXPECT_THAT(Allowed(history.Read(kSeconds, kFirstSecond)), ElementsAre(0xffff'ffffU, 3U));
}

class RateHistoryPlacesTest : public testing::Test {
 protected:
  void SetUp() override {
    Add(history_, kFirstSecond, {});
    for (std::size_t i = 0; i < kHistoryLimitsMax; ++i) Row(absl::StrCat(i, "/h")) = {1};
    Add(history_, kFirstSecond + 1, {}, rows_);
  }

  // The numbers of a limit; a new one is the first row.
  Numbers& Row(std::string_view limit) {
    for (auto& [name, numbers] : rows_) {
      if (name == limit) return numbers;
    }
    return rows_.emplace(rows_.begin(), limit, Numbers{})->second;
  }

  RateHistory history_;
  Rows rows_;
};

TEST_F(RateHistoryPlacesTest, TheFirstLimitsHaveASeries) {
  Row("0/x") = {5};
  Add(history_, kFirstSecond + 2, {}, rows_);
  const RateHistory::Steps steps = history_.Read(kSeconds, kFirstSecond);
  EXPECT_EQ(steps.series.size(), 1 + kHistoryLimitsMax);
  EXPECT_EQ(Find(steps, "0/x"), nullptr);
  EXPECT_THAT(Allowed(steps, "63/h"), ElementsAre(1U, 0U));
}

// The new limit's counts of old times are not taken for those of one second.
TEST_F(RateHistoryPlacesTest, ALimitThatIsIdleForADayGivesItsPlaceAway) {
  constexpr std::int64_t kDay = 86'400;
  Row("0/x") = {1000};
  Add(history_, kFirstSecond + 2 + kDay - 1, {}, rows_);
  EXPECT_EQ(Find(history_.Read(kSeconds), "0/x"), nullptr);
  Row("0/x") = {1001};
  Row("1/h") = {2};
  Add(history_, kFirstSecond + 2 + kDay, {}, rows_);
  Row("0/x") = {1005};
  Add(history_, kFirstSecond + 3 + kDay, {}, rows_);
  const RateHistory::Steps steps = history_.Read(kSeconds, kFirstSecond + 1 + kDay);
  EXPECT_EQ(steps.series.size(), 1 + kHistoryLimitsMax);
  EXPECT_THAT(Allowed(steps, "0/x"), ElementsAre(0U, 4U));
}

// A log of counts by second, summed for any step: it shares nothing with the rings.
TEST(RateHistoryTest, TheStepsAddUpToTheCounts) {
  CheckLaw(200, [] {
    struct Turn {
      std::int64_t seconds;
      std::uint64_t more;
      bool resets;
    };
    const auto turns = *rc::gen::container<std::vector<Turn>>(rc::gen::map(
        rc::gen::tuple(rc::gen::oneOf(Between<std::int64_t>(0, 3), Between<std::int64_t>(0, 400),
                                      Between<std::int64_t>(0, 50'000)),
                       Between<std::uint64_t>(0, 9), Between(0, 9)),
        [](const std::tuple<std::int64_t, std::uint64_t, int>& drawn) {
          return Turn{std::get<0>(drawn), std::get<1>(drawn), std::get<2>(drawn) == 0};
        }));
    RateHistory history;
    const std::int64_t begin = kFirstSecond + *Between<std::int64_t>(0, 999);
    std::int64_t now = begin;
    Add(history, now, {});
    std::map<std::int64_t, std::uint64_t> log;  // counts by second
    std::uint64_t shown = 0;                    // since the last reset
    std::uint64_t read = 0;                     // of those, by the last reading
    std::uint64_t resets = 0;
    for (const Turn& turn : turns) {
      if (turn.resets) {
        shown = read = 0;
        ++resets;
      }
      shown += turn.more;
      now += turn.seconds;
      if (turn.seconds > 0) {
        log[now - 1] += shown - read;
        read = shown;
      }
      Add(history, now, {shown}, {{"l", {shown}}}, resets);
    }
    for (const HistoryRing& ring : kHistoryRings) {
      const RateHistory::Steps steps = history.Read(ring);
      RC_ASSERT(steps.from % ring.width == 0);
      const auto allowed = Allowed(steps);
      if (Find(steps, "l")) RC_ASSERT(Allowed(steps, "l") == allowed);
      std::int64_t second = steps.from;
      for (std::size_t i = 0; i < steps.missing; ++i) {
        second += ring.width;
        RC_ASSERT(second <= begin);
      }
      for (const std::uint32_t count : allowed) {
        const auto first = log.lower_bound(second);
        second += ring.width;
        std::uint64_t sum = 0;
        for (auto it = first; it != log.end() && it->first < second; ++it) sum += it->second;
        RC_ASSERT(count == sum);
      }
      RC_ASSERT(second <= now);
      RC_ASSERT(second + ring.width > now);
      RC_ASSERT(steps.missing + allowed.size() + 1 >= ring.steps);
    }
  });
}

}  // namespace
}  // namespace weir
