// Goal: a log of changes has the last value of each bucket, in the order of its record on disk, and
// is never much longer than its partition. Method: small cases by hand, and random cases compared
// with a map.
#include "core/table/change_log.h"

#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/test_scale.h"

namespace weir {
namespace {

LoggedChange ChangeOf(std::uint64_t hash, std::uint32_t limit, std::uint32_t value = 0,
                      bool went_back = false, Algorithm algorithm = Algorithm::kTokenBucket) {
  return {{hash, LimitId{limit}}, algorithm, {.low = value}, went_back};
}

std::vector<LoggedChange> Take(ChangeLog& log) {
  std::vector<LoggedChange> taken;
  log.TakeInto(taken);
  KeepLast(taken);
  return taken;
}

using Name = std::tuple<std::uint64_t, Algorithm, std::uint32_t>;
Name NameOf(const LoggedChange& change) {
  return {change.key_hash(), change.algorithm(), NumberOf(change.limit())};
}

TEST(LoggedChangeTest, HasWhatItWasMadeOf) {
  for (int i = 0; i <= static_cast<int>(Algorithm::kNone); ++i) {
    for (const bool went_back : {false, true}) {
      const SlotKey key{UINT64_MAX - 1, LimitId{LimitRegistry::kIdsMax}};
      const Bucket bucket{1, 2, 3};
      const LoggedChange change(key, static_cast<Algorithm>(i), bucket, went_back);
      EXPECT_EQ(change.key(), key);
      EXPECT_EQ(change.algorithm(), static_cast<Algorithm>(i));
      EXPECT_EQ(change.bucket(), bucket);
      EXPECT_EQ(change.went_back(), went_back);
    }
  }
}

TEST(ChangeLogTest, TakesTheLastOfEachSortedByHashAlgorithmAndLimit) {
  ChangeLog log;
  log.Add(ChangeOf(7, 1, 1), 0);
  log.Add(ChangeOf(7, 3, 2, false, Algorithm::kFixedWindow), 0);
  log.Add(ChangeOf(7, 0, 3, false, Algorithm::kFixedWindow), 0);
  log.Add(ChangeOf(UINT64_MAX, 0, 4), 0);
  log.Add(ChangeOf(7, 2, 5), 0);
  log.Add(ChangeOf(7, 1, 6), 0);
  EXPECT_EQ(log.size(), 6U);

  std::vector<std::pair<Name, std::uint32_t>> taken;
  for (const LoggedChange& change : Take(log)) {
    taken.emplace_back(NameOf(change), change.bucket().low);
  }
  const std::vector<std::pair<Name, std::uint32_t>> expected = {
      {{7, Algorithm::kTokenBucket, 1}, 6},
      {{7, Algorithm::kTokenBucket, 2}, 5},
      {{7, Algorithm::kFixedWindow, 0}, 3},
      {{7, Algorithm::kFixedWindow, 3}, 2},
      {{UINT64_MAX, Algorithm::kTokenBucket, 0}, 4}};
  EXPECT_EQ(taken, expected);
  EXPECT_EQ(log.size(), 0U);
  EXPECT_TRUE(Take(log).empty());
}

TEST(ChangeLogTest, AHotBucketTakesOneChange) {
  ChangeLog log;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(log.Add(ChangeOf(1, 1, i, i == 17), 0), i == 0) << "whether its size has changed";
  }
  EXPECT_EQ(log.size(), 1U);
  const std::vector<LoggedChange> taken = Take(log);
  EXPECT_EQ(taken.at(0).bucket().low, 999U);
  EXPECT_TRUE(taken.at(0).went_back());
}

TEST(ChangeLogTest, BucketsOfOneTagStayApart) {
  const LoggedChange one = ChangeOf(1, 1, 5);
  const LoggedChange other = ChangeOf(1 + (std::uint64_t{1} << 40), 1, 6);
  ASSERT_EQ(one.tag(), other.tag());
  ChangeLog log;
  log.Add(one, 0);
  log.Add(other, 0);
  const std::vector<LoggedChange> taken = Take(log);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken.at(0).bucket().low, 5U);
  EXPECT_EQ(taken.at(1).bucket().low, 6U);

  // The tags are those of changes that are gone.
  log.Add(other, 0);
  log.Add(one, 0);
  EXPECT_EQ(log.size(), 2U);
}

TEST(ChangeLogTest, OverflowsWhenTooManyDistinctOnesAreLogged) {
  ChangeLog log;
  for (std::uint64_t i = 0; i < ChangeLog::kChangesMin; ++i) log.Add(ChangeOf(i, 0), 0);
  EXPECT_FALSE(log.overflowed());
  EXPECT_EQ(log.size(), ChangeLog::kChangesMin);
  EXPECT_TRUE(log.Add(ChangeOf(ChangeLog::kChangesMin, 0), 0));
  EXPECT_TRUE(log.overflowed());
  EXPECT_EQ(log.size(), 0U);
  EXPECT_EQ(log.capacity(), 0U);
  EXPECT_FALSE(log.Add(ChangeOf(1, 0), 0));
  EXPECT_EQ(log.size(), 0U) << "it knows already that everything has changed";

  log.Clear();
  EXPECT_FALSE(log.overflowed());
  log.Add(ChangeOf(1, 0), 0);
  EXPECT_EQ(log.size(), 1U);
  log.Clear();
  EXPECT_EQ(log.capacity(), 0U) << "FLUSHALL gives the memory back";
}

TEST(ChangeLogTest, OverflowsWhenMoreThanThreeQuartersOfALargePartitionHaveChanged) {
  constexpr std::size_t kSlots = 200;
  constexpr std::size_t kMost = ChangeLog::kChangesMin + kSlots;
  for (const std::uint64_t distinct : {kMost - kMost / 4, kMost - kMost / 4 + 1}) {
    ChangeLog log;
    for (std::uint64_t i = 0; i <= kMost; ++i) log.Add(ChangeOf(i % distinct, 0), kSlots);
    EXPECT_EQ(log.overflowed(), distinct > kMost - kMost / 4);
  }
}

TEST(ChangeLogTest, TwoHotBucketsTakeTwoChanges) {
  ChangeLog log;
  for (std::uint32_t i = 0; i < 1000; ++i) log.Add(ChangeOf(1, i % 2, i), 0);
  EXPECT_EQ(log.size(), 2U);
  const std::vector<LoggedChange> taken = Take(log);
  EXPECT_EQ(taken.at(0).bucket().low, 998U);
  EXPECT_EQ(taken.at(1).bucket().low, 999U);
}

TEST(ChangeLogTest, HasRoomForThePartitionAndMore) {
  constexpr std::size_t kSlots = 500;
  ChangeLog log;
  for (std::uint64_t i = 0; i < ChangeLog::kChangesMin + kSlots; ++i) {
    log.Add(ChangeOf(i, 0), kSlots);
  }
  EXPECT_FALSE(log.overflowed());
}

TEST(ChangeLogTest, RepeatedChangesDoNotOverflow) {
  ChangeLog log;
  constexpr std::uint64_t kDistinct = ChangeLog::kChangesMin / 2;
  for (std::uint64_t i = 0; i < 100 * kDistinct; ++i) {
    log.Add(ChangeOf(i % kDistinct, 0, 0, i == 7), 0);
    ASSERT_LE(log.size(), ChangeLog::kChangesMin);
  }
  ASSERT_FALSE(log.overflowed());
  const std::vector<LoggedChange> taken = Take(log);
  EXPECT_EQ(taken.size(), kDistinct);
  EXPECT_TRUE(taken[7].went_back());
}

TEST(ChangeLogTest, StaysWithinAPartitionThatShrinks) {
  ChangeLog log;
  for (std::uint64_t i = 0; i < 400; ++i) log.Add(ChangeOf(i % 10, 0), 380);
  log.Add(ChangeOf(11, 0), 10);
  EXPECT_FALSE(log.overflowed());
  EXPECT_EQ(Take(log).size(), 11U);
}

// When the log is full it is sorted, and a bucket among the last changes may be appended again.
TEST(ChangeLogTest, HasTheLastValueAfterTheLogWasFull) {
  for (const std::uint64_t filler : {0, 5}) {
    ChangeLog log;
    log.Add(ChangeOf(5, 0), 0);
    for (std::uint64_t i = 0; i + 1 < ChangeLog::kChangesMin; ++i) log.Add(ChangeOf(i % 5, 0), 0);
    ASSERT_EQ(log.size(), ChangeLog::kChangesMin);
    log.Add(ChangeOf(filler, 0, 100), 0);
    ASSERT_LT(log.size(), ChangeLog::kChangesMin);
    log.Add(ChangeOf(5, 0, 101), 0);
    log.Add(ChangeOf(5, 0, 102), 0);
    EXPECT_EQ(Take(log).back().bucket().low, 102U) << filler;
  }
}

struct RandomLog {
  std::uint64_t hashes;
  std::uint64_t limits;
  std::size_t slots;
  std::uint64_t changes_max;
  std::int64_t rounds;
};

void ExpectWhatWasLogged(const RandomLog& kind) {
  std::mt19937_64 random(1);
  for (std::int64_t round = 0; round < Scaled(kind.rounds); ++round) {
    ChangeLog log;
    std::map<Name, std::pair<std::uint32_t, bool>> logged;
    const std::uint64_t changes = random() % kind.changes_max;
    for (std::uint32_t i = 0; i < changes; ++i) {
      const auto limit = static_cast<std::uint32_t>(random() % kind.limits);
      const LoggedChange change = ChangeOf(random() % kind.hashes, limit, i, random() % 8 == 0,
                                           static_cast<Algorithm>(limit % 3));
      log.Add(change, kind.slots);
      auto& [value, went_back] = logged[NameOf(change)];
      value = i;
      went_back = went_back || change.went_back();
    }
    ASSERT_FALSE(log.overflowed());
    std::map<Name, std::pair<std::uint32_t, bool>> taken;
    Name last;
    for (const LoggedChange& change : Take(log)) {
      EXPECT_TRUE(taken.empty() || last < NameOf(change)) << "round " << round;
      last = NameOf(change);
      taken[last] = {change.bucket().low, change.went_back()};
    }
    EXPECT_EQ(taken, logged) << "round " << round;
  }
}

TEST(ChangeLogTest, SaysWhatWasLogged) {
  ExpectWhatWasLogged(
      {.hashes = 40, .limits = 15, .slots = 900, .changes_max = 3000, .rounds = 200});
}

TEST(ChangeLogTest, SaysWhatWasLoggedOfAFewBuckets) {
  ExpectWhatWasLogged({.hashes = 5, .limits = 2, .slots = 10, .changes_max = 200, .rounds = 2000});
}

}  // namespace
}  // namespace weir
