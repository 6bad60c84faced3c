// Goals: a reading of the counts never shows the middle of a reset; a name that has a row keeps it;
// free rows go to given names first, and then to those that were used first. Methods: one thread
// counts and resets, another one reads; more names than rows, in the tables of several threads.
#include "core/commands/limit_totals.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/commands/request_counters.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

std::uint64_t Allowed(const LimitTotals::Rows& rows, std::string_view name) {
  for (const auto& [of_name, numbers] : rows) {
    if (of_name == name) return numbers[0];
  }
  return 0;
}

void Count(RequestCounters& counters, std::string_view name, std::uint64_t times = 1) {
  CountersHint none;
  counters.limits.Of(name, none).allowed.Add(times);
}

std::string SpelledOut(std::size_t i) { return absl::StrCat(i + 1, "/m"); }
std::string Label(std::size_t i) { return absl::StrCat("label-", i); }

TEST(LimitTotalsTest, BetweenResetsNoCountGoesBack) {
  const FakeClock clock;
  std::array<RequestCounters, 2> threads = {RequestCounters(clock), RequestCounters(clock)};
  const std::array<RequestCounters*, 2> both = {&threads[0], &threads[1]};
  LimitTotals totals;
  std::atomic<bool> counting = true;
  std::thread reader([&] {
    std::optional<LimitTotals::Reading> before;
    while (counting) {
      const LimitTotals::Reading reading = totals.Read(both);
      if (before && before->resets == reading.resets) {
        EXPECT_GE(Allowed(reading.rows, "l"), Allowed(before->rows, "l"));
        EXPECT_GE(reading.total[0], before->total[0]);
      }
      before = reading;
    }
  });
  const std::int64_t rounds = Scaled(20'000);
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (RequestCounters& counters : threads) {
      Count(counters, "l", 5);
      counters.allowed.Add(5);
    }
    totals.Reset(both);
  }
  counting = false;
  reader.join();
  const LimitTotals::Reading last = totals.Read(both);
  EXPECT_EQ(last.resets, static_cast<std::uint64_t>(rounds));
  EXPECT_EQ(last.total, LimitTotals::Numbers{});
  EXPECT_TRUE(last.rows.empty());
}

class RowsTest : public ::testing::Test {
 protected:
  // One more name than there are rows beside CL.THROTTLE's.
  static constexpr std::size_t kTooMany = kCountedLimitsMax;

  LimitTotals::Rows Read() { return totals_.Since(both_); }

  const FakeClock clock_;
  std::array<RequestCounters, 2> threads_ = {RequestCounters(clock_), RequestCounters(clock_)};
  const std::array<RequestCounters*, 2> both_ = {&threads_[0], &threads_[1]};
  LimitTotals totals_;
};

TEST_F(RowsTest, GivenNamesComeFirstWhereverTheyAreInTheAlphabet) {
  for (std::size_t i = 0; i < 2 * kTooMany; ++i) Count(threads_[i % 2], SpelledOut(i));
  const std::array<std::string_view, 5> given = {"@free#0", "@free#1,shadow", "payments", "zzz",
                                                 kThrottleName};
  for (const std::string_view name : given) Count(threads_[0], name);
  const LimitTotals::Rows rows = Read();
  for (const std::string_view name : given) EXPECT_EQ(Allowed(rows, name), 1U) << name;
  EXPECT_EQ(rows.size(), kCountedLimitsMax + 1);
  EXPECT_EQ(rows.back().first, kOtherLimits);
  EXPECT_EQ(rows.back().second[0], 2 * kTooMany + given.size() - kCountedLimitsMax);
}

TEST_F(RowsTest, NamesOfValuesHaveABoundOfTheirOwn) {
  const auto count_values = [&] {
    for (std::size_t i = 0; i < kTooMany; ++i) Count(threads_[i % 2], absl::StrCat("@r=", i, "#0"));
  };
  count_values();
  EXPECT_EQ(Read().size(), kCountedValuesMax + 1);
  for (std::size_t i = 0; i < kTooMany; ++i) Count(threads_[0], Label(i));
  count_values();
  const LimitTotals::Rows rows = Read();
  EXPECT_EQ(rows.size(), kCountedLimitsMax - 1 + kCountedValuesMax + 1);
  EXPECT_EQ(Allowed(rows, Label(kTooMany - 2)), 1U);
  EXPECT_EQ(Allowed(rows, "@r=0#0"), 2U);
}

TEST_F(RowsTest, OfOneKindTheFirstUsedHaveRows) {
  for (const std::size_t first : {0U, 3'000U}) {
    for (std::size_t i = 0; i < 3'000; ++i) Count(threads_[first / 3'000], SpelledOut(first + i));
  }
  const LimitTotals::Rows rows = Read();
  for (std::size_t i = 0; i < 6'000; ++i) {
    ASSERT_EQ(Allowed(rows, SpelledOut(i)), i < kCountedLimitsMax - 1 ? 1U : 0U) << i;
  }
}

TEST_F(RowsTest, ANameWithARowKeepsItInEachThreadAndOverResets) {
  Count(threads_[0], "10/s");
  Count(threads_[0], "@free#0");
  EXPECT_EQ(Read().size(), 2U);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 2 * kTooMany; ++i) {
      for (RequestCounters& counters : threads_) {
        Count(counters, SpelledOut(i));
        Count(counters, Label(i));
      }
    }
    const std::uint64_t before = Allowed(Read(), "10/s");
    for (RequestCounters& counters : threads_) {
      Count(counters, "10/s", 3);
      Count(counters, "@free#0", 4);
    }
    EXPECT_EQ(Allowed(Read(), "10/s"), before + 6) << round;
    EXPECT_GE(Allowed(Read(), "@free#0"), 8U) << round;
    EXPECT_EQ(Read().size(), kCountedLimitsMax) << "CL.THROTTLE's is all 0";
    totals_.Reset(both_);
    EXPECT_TRUE(Read().empty());
  }
}

// A hint is found again after its name has got a row: until then it led to "(others)".
TEST_F(RowsTest, AHintFollowsItsName) {
  CountersHint hint;
  for (std::size_t i = 0; i < kTooMany; ++i) Count(threads_[0], SpelledOut(i));
  threads_[0].limits.Of("999999/m", hint).allowed.Add();
  Count(threads_[1], "999999/m");
  EXPECT_EQ(Allowed(totals_.Since(std::array{&threads_[1]}), "999999/m"), 1U);
  Read();
  threads_[0].limits.Of("999999/m", hint).allowed.Add();
  EXPECT_EQ(Allowed(Read(), "999999/m"), 2U);
}

// The law: no row is lost and no count falls between resets, and the rows add up.
TEST_F(RowsTest, NoCountFallsWhateverComes) {
  std::mt19937 random(7);
  std::map<std::string, std::uint64_t> before;
  std::uint64_t counted = 0;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 1'000; ++i) {
      const std::size_t number = random() % 9'000;
      const bool is_label = random() % 2 == 0;
      Count(threads_[number % 2], is_label ? Label(number) : SpelledOut(number));
      ++counted;
    }
    std::uint64_t sum = 0;
    std::map<std::string, std::uint64_t> after;
    for (const auto& [name, numbers] : Read()) {
      after[name] = numbers[0];
      sum += numbers[0];
    }
    for (const auto& [name, number] : before) ASSERT_GE(after[name], number) << name;
    ASSERT_EQ(sum, counted);
    before = after;
  }
  EXPECT_EQ(before.size(), kCountedLimitsMax);  // CL.THROTTLE's is all 0; and "(others)"
}

}  // namespace
}  // namespace weir
