// Goal: a save receives each changed bucket once, with its present value, and a failed save loses
// nothing. Method: one bucket after the other by hand. (saving_model_test.cc tests whole
// histories.)
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limiter/change_reader.h"
#include "core/rules/rule.h"
#include "tests/core/limiter/limiter_fixture.h"
#include "tests/support/take_all.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class LimiterSavingTest : public LimiterFixture {
 protected:
  LimiterSavingTest() : LimiterFixture({.logs_changes = true}) {}

  LimiterChanges Changes(bool consistent_snapshot = false) {
    return TakeAll(*limiter_, now_, consistent_snapshot);
  }
  std::size_t Logged() { return upkeep_.size().changes; }
  void Refund(std::string_view key, std::string_view limit, std::int64_t cost) {
    limiter_->Refund(Of({{key, limit, cost}}), now_);
  }
  // The only change. Requires: there is one.
  BucketChange Only() {
    const LimiterChanges changes = Changes();
    EXPECT_EQ(changes.buckets.size(), 1U);
    EXPECT_TRUE(changes.rewritten_partitions.empty());
    return changes.buckets.empty() ? BucketChange{{0, LimitId{}}, 0, {}, false, false, {}}
                                   : changes.buckets.front();
  }
};

TEST_F(LimiterSavingTest, TakesABucketOnceHoweverOftenItIsCharged) {
  for (int i = 0; i < 7; ++i) Decide({{"a", "10/s"}});
  EXPECT_EQ(Logged(), 1U);
  const BucketChange change = Only();
  EXPECT_FALSE(change.erased);
  EXPECT_FALSE(change.went_back);
  EXPECT_EQ(change.bucket, DecideLimit(LimitOf("10/s"), Bucket{}, now_, 7, Nanos{0}).bucket);
  EXPECT_TRUE(Changes().empty()) << "it was taken";

  Decide({{"a", "10/s"}});
  EXPECT_EQ(Only().bucket, DecideLimit(LimitOf("10/s"), Bucket{}, now_, 8, Nanos{0}).bucket);
}

TEST_F(LimiterSavingTest, NothingChangesByADenialALookOrACostOfZero) {
  Decide({{"a", "1/m"}});
  static_cast<void>(Changes());
  Decide({{"a", "1/m"}});
  Decide({{"a", "1/m", 0}});
  Peek({{"a", "1/m"}});
  Decide({{"a", "1/m"}, {"a", "100/s"}});
  EXPECT_TRUE(Changes().empty());
}

TEST_F(LimiterSavingTest, TakesThemSortedAndDistinct) {
  for (const bool consistent_snapshot : {false, true}) {
    for (int i = 0; i < 2000; ++i) {
      const std::string key = "key:" + std::to_string(i % 700);
      Decide({{key, "10/m"}, {key, "10/h,fixed"}, {key, "20/h,sliding"}});
      if (i % 3 == 0) Refund(key, "10/m", 1);
    }
    const LimiterChanges changes = Changes(consistent_snapshot);
    ASSERT_EQ(changes.buckets.size(), 2100U);
    const auto order = [](const BucketChange& change) {
      return std::tuple(change.partition, change.key.key_hash(), change.algorithm,
                        change.key.limit);
    };
    for (std::size_t i = 1; i < changes.buckets.size(); ++i) {
      ASSERT_LT(order(changes.buckets[i - 1]), order(changes.buckets[i]));
    }
  }
}

TEST_F(LimiterSavingTest, SkipsBucketsThatAreFullAgain) {
  Decide({{"a", "10/s"}, {"a", "10/s,fixed"}});
  now_ += std::chrono::seconds{1};
  EXPECT_TRUE(Changes().buckets.empty());
  Decide({{"a", "10/s"}, {"a", "10/s,fixed"}});
  now_ += std::chrono::seconds{1};
  SweepAll();
  EXPECT_TRUE(Changes().buckets.empty()) << "nor does it matter that it was swept";
}

TEST_F(LimiterSavingTest, ErasesBucketsThatWereRefundedToFull) {
  for (const std::string_view limit : {"10/m", "10/m,fixed"}) {
    Decide({{"a", limit, 5}});
    EXPECT_FALSE(Only().erased);
    Refund("a", limit, 5);
    const BucketChange change = Only();
    EXPECT_TRUE(change.went_back);
    EXPECT_TRUE(change.erased);

    Decide({{"a", limit, 5}});
    EXPECT_FALSE(Only().erased);
    Refund("a", limit, 5);
    SweepAll();
    EXPECT_TRUE(Only().erased) << "swept before it was saved";
  }
}

TEST_F(LimiterSavingTest, WritesBucketsThatWereRefundedInPart) {
  Decide({{"a", "10/m", 5}});
  static_cast<void>(Changes());
  Refund("a", "10/m", 2);
  const BucketChange change = Only();
  EXPECT_FALSE(change.erased);
  EXPECT_EQ(change.bucket, DecideLimit(LimitOf("10/m"), Bucket{}, now_, 3, Nanos{0}).bucket);
}

TEST_F(LimiterSavingTest, ErasesBucketsThatWereReset) {
  for (const std::string_view limit : {"10/m", "10/m,fixed", "10/m,sliding"}) {
    Decide({{"a", limit}});
    static_cast<void>(Changes());
    Reset("a");
    EXPECT_TRUE(Only().erased);

    Decide({{"a", limit}});
    static_cast<void>(Changes());
    Reset("a", {limit});
    Decide({{"a", limit, 3}});
    const BucketChange again = Only();
    EXPECT_FALSE(again.erased) << "it is there again";
    EXPECT_TRUE(again.went_back);
    Reset("a");
    static_cast<void>(Changes());
  }
}

TEST_F(LimiterSavingTest, WritesBucketsThatTheClampHasCut) {
  const Limit paid = LimitOf("10/h").OwnedBy({PolicyId{1}, 0});
  const Limit free = LimitOf("10/m").OwnedBy({PolicyId{1}, 0});
  ASSERT_TRUE(
      limiter_
          ->Decide({{.key = "a", .limit = &paid, .cost = 10, .hash = limiter_->Hash("a")}}, now_)
          .ok());
  static_cast<void>(Changes());
  EXPECT_FALSE(
      limiter_
          ->Decide({{.key = "a", .limit = &free, .cost = 10, .hash = limiter_->Hash("a")}}, now_)
          ->allowed);
  const BucketChange change = Only();
  EXPECT_TRUE(change.went_back);
  EXPECT_FALSE(change.erased);
}

TEST_F(LimiterSavingTest, ErasesReservationsThatAreGivenBack) {
  Decide({{"a", "1/s"}});
  static_cast<void>(Changes());
  const auto admission = limiter_->Reserve(Of({{"a", "1/s"}}), std::chrono::seconds{5}, now_);
  ASSERT_TRUE(admission.ok() && admission->reservation);
  EXPECT_FALSE(Only().erased);
  limiter_->ReturnTokens(*admission->reservation);
  EXPECT_TRUE(Only().went_back);
}

TEST_F(LimiterSavingTest, ErasesReservationsOnSeveralKeys) {
  Decide({{"a", "1/s"}, {"b", "1/s"}});
  const auto admission =
      limiter_->Reserve(Of({{"a", "1/s"}, {"b", "1/s"}}), std::chrono::seconds{5}, now_);
  ASSERT_TRUE(admission.ok() && admission->reservation);
  static_cast<void>(Changes());
  limiter_->ReturnTokens(*admission->reservation);
  const LimiterChanges changes = Changes();
  ASSERT_EQ(changes.buckets.size(), 2U);
  for (const BucketChange& change : changes.buckets) EXPECT_TRUE(change.went_back);
}

TEST_F(LimiterSavingTest, ErasesSlidingWindowsThatAreFull) {
  Decide({{"a", "10/s,sliding"}});
  EXPECT_FALSE(Only().erased);
  now_ += std::chrono::seconds{5};
  SweepAll();
  EXPECT_TRUE(Only().erased) << "without its limit it cannot be known to be full";

  Decide({{"a", "10/s,sliding"}});
  now_ += std::chrono::seconds{5};
  EXPECT_TRUE(Only().erased);
}

// Where clients supply the time, no bucket is ever surely full. With windows of 10 ms the number of
// the present window is negative as a 32-bit number; with windows of 1 s it is positive.
TEST_F(LimiterSavingTest, WithoutAnInstantNothingIsFull) {
  Decide({{"a", "10/s"}, {"a", "10/s,fixed"}, {"a", "10/10ms,sliding"}, {"a", "10/s,sliding"}});
  const LimiterChanges changes = TakeAll(*limiter_, std::nullopt, false);
  EXPECT_EQ(changes.buckets.size(), 4U);
  for (const BucketChange& change : changes.buckets) {
    EXPECT_FALSE(change.erased);
    EXPECT_NE(change.bucket, Bucket{});
  }
  Refund("a", "10/s,fixed", 1);
  const LimiterChanges refunded = TakeAll(*limiter_, std::nullopt, false);
  ASSERT_EQ(refunded.buckets.size(), 1U);
  EXPECT_TRUE(refunded.buckets.front().erased) << "nothing is in use: as good as absent";
}

TEST_F(LimiterSavingTest, LimitsAreInTheChangesWhenTheirIdsAreGivenOutAndTakenBack) {
  Decide({{"a", "10/s"}, {"a", "20/s"}});
  const LimiterChanges given = Changes();
  ASSERT_EQ(given.limits.size(), 2U);
  std::map<LimitId, std::string> meant;
  for (const LimitChange& change : given.limits) meant[change.id] = LimitText(*change.limit);
  EXPECT_EQ(meant, (std::map<LimitId, std::string>{{LimitId{0}, "10/s"}, {LimitId{1}, "20/s"}}));
  for (const BucketChange& change : given.buckets) EXPECT_TRUE(meant.contains(change.key.limit));

  now_ += std::chrono::seconds{1};
  Decide({{"a", "10/s"}});
  SweepAll();
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 10), 1U);
  const LimiterChanges taken = Changes();
  ASSERT_EQ(taken.limits.size(), 1U);
  EXPECT_EQ(taken.limits[0].id, LimitId{1});
  EXPECT_FALSE(taken.limits[0].limit);
  Decide({{"a", "30/s"}});
  EXPECT_EQ(LimitText(*Changes().limits.at(0).limit), "30/s");
}

TEST_F(LimiterSavingTest, WhatIsLoggedOfALimitThatIsGoneIsNoBucketAnyMore) {
  Decide({{"full", "10/s"}});
  Decide({{"refunded", "10/s"}});
  Refund("refunded", "10/s", 1);
  now_ += std::chrono::seconds{1};
  SweepAll();
  ASSERT_EQ(upkeep_.ReclaimLimits(1, 10), 1U);
  const BucketChange change = Only();
  EXPECT_EQ(change.key.key_hash(), KeyHasher({})("refunded").hash);
  EXPECT_TRUE(change.erased);
}

// Goal: no record on disk is read under another limit, whenever a crash happens. Method: an id is
// reclaimed before and during a save, and the next limit gets another id until the save is
// complete.
TEST_F(LimiterSavingTest, AnIdIsGivenOutAgainOnlyAfterACompleteSaveThatBeganLater) {
  constexpr LimitId kIdOfNone{UINT32_MAX};
  const auto id_of = [&](const std::string& limit) {
    Decide({{"a", limit}});
    for (const BucketChange& change : Changes().buckets) {
      if (!change.erased) return change.key.limit;
    }
    return kIdOfNone;
  };
  const LimitId id = id_of("10/h");
  Reset("a");
  ASSERT_EQ(upkeep_.ReclaimLimits(1, 10), 1U);
  ChangeReader(limiter_->table()).EndSave();
  const LimitId second = id_of("20/h");
  EXPECT_NE(second, id) << "the save that has just ended began earlier";
  ChangeReader(limiter_->table()).EndSave();
  EXPECT_EQ(id_of("30/h"), id) << "id_of's save began later, and is complete";
  Reset("a");
  ASSERT_EQ(upkeep_.ReclaimLimits(1, 10), 2U);
  static_cast<void>(Changes());
  EXPECT_EQ(limits(), 0U);
  const LimitId third = id_of("40/h");
  EXPECT_TRUE(third != id && third != second) << "that save is not complete";
}

TEST_F(LimiterSavingTest, ClearMovesTheGenerationAndForgetsTheChanges) {
  Decide({{"a", "10/s"}});
  const TableGeneration before = Changes().generation;
  Decide({{"a", "10/s"}});
  upkeep_.Clear();
  EXPECT_EQ(Logged(), 0U);
  Decide({{"b", "10/s"}});
  const LimiterChanges changes = Changes();
  EXPECT_EQ(changes.generation, Next(before));
  EXPECT_TRUE(changes.rewritten_partitions.empty());
  EXPECT_EQ(changes.buckets.size(), 1U);
  upkeep_.Clear();
  EXPECT_EQ(Changes().generation, Next(Next(before))) << "even if nothing else has changed";
}

// More buckets of one partition come and go than its log can hold.
TEST_F(LimiterSavingTest, AnOverflowRewritesItsPartition) {
  const KeyHash here = KeyHasher({})("gone");
  std::string neighbour = "n";
  while (KeyHasher({})(neighbour).partition != here.partition) neighbour += "n";
  Decide({{neighbour, "10/h"}});
  Decide({{"kept", "10/h"}});
  const TableGeneration generation = Changes().generation;
  Decide({{"kept:2", "10/h,sliding"}});
  for (std::size_t i = 0; i <= ChangeLog::kChangesMin + 1; ++i) {
    const std::string limit = std::to_string(i + 1) + "/h";
    Decide({{"gone", limit}});
    Reset("gone");
  }
  Decide({{"gone", "7/h"}});
  const LimiterChanges changes = Changes(true);
  EXPECT_THAT(changes.rewritten_partitions, ElementsAre(here.partition));
  EXPECT_EQ(changes.generation, generation);
  const auto hashes = [&] {
    std::vector<std::uint64_t> all;
    for (const BucketChange& change : changes.buckets) all.push_back(change.key.key_hash());
    return all;
  };
  const auto hash_of = [](std::string_view key) { return KeyHasher({})(key).hash; };
  EXPECT_THAT(hashes(), UnorderedElementsAre(here.hash, hash_of(neighbour), hash_of("kept:2")));
  EXPECT_TRUE(std::ranges::none_of(changes.buckets, &BucketChange::erased));
  EXPECT_TRUE(Changes().empty());

  Decide({{neighbour, "10/h"}});
  EXPECT_EQ(Only().key.key_hash(), hash_of(neighbour)) << "all others were taken";
}

// A save copies all partitions into one list, and a replicator waits for it meanwhile.
TEST_F(LimiterSavingTest, CopiesIntoOneListDoNotMoveItEachTime) {
  for (std::size_t i = 0; i < 8 * kPartitionCount; ++i) Decide({{std::to_string(i), "10/h"}});
  ChangeReader reader(limiter_->table());
  const ChangesLock changes_lock(reader);
  LimiterChanges copies;
  std::size_t moves = 0;
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    const std::size_t room = copies.buckets.capacity();
    reader.CopyPartition(i, now_, copies);
    if (copies.buckets.capacity() != room) ++moves;
  }
  EXPECT_EQ(copies.buckets.size(), 8 * kPartitionCount);
  EXPECT_LE(moves, 20U);
}

// Goal: one part of a save is bounded, and all parts together contain each changed bucket once. A
// change in a part that was taken already waits for the next save.
class LimiterSavingInPartsTest : public LimiterSavingTest,
                                 public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(OneCut, LimiterSavingInPartsTest, testing::Bool());

TEST_P(LimiterSavingInPartsTest, TooManyChangesAreTakenInParts) {
  const bool consistent_snapshot = GetParam();
  const std::size_t buckets = ChangeReader::kTakenMax + ChangeReader::kTakenMax / 2;
  for (std::size_t i = 0; i < buckets; ++i) Decide({{std::to_string(i), "10/h"}});
  const LimiterChanges first =
      ChangeReader(limiter_->table()).TakeChanges(now_, consistent_snapshot);
  EXPECT_GE(first.buckets.size(), ChangeReader::kTakenMax);
  EXPECT_LT(first.buckets.size(), ChangeReader::kTakenMax + ChangeReader::kTakenMax / 8);
  ASSERT_LT(first.next_partition, kPartitionCount);
  for (const BucketChange& change : first.buckets) {
    ASSERT_LT(change.partition, first.next_partition);
  }
  std::string early = "early";
  while (KeyHasher({})(early).partition >= first.next_partition) early += ".";
  Decide({{early, "10/h"}});

  const LimiterChanges second =
      ChangeReader(limiter_->table()).TakeChanges(now_, consistent_snapshot, first.next_partition);
  EXPECT_EQ(second.next_partition, kPartitionCount);
  EXPECT_EQ(first.buckets.size() + second.buckets.size(), buckets);
  for (const BucketChange& change : second.buckets) {
    ASSERT_GE(change.partition, first.next_partition);
  }
  EXPECT_EQ(Changes().buckets.size(), 1U);
}

}  // namespace
}  // namespace weir
