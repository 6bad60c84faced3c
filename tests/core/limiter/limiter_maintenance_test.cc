// Goal: stored buckets can be inspected, reset and swept, and sweeping changes no reply. Method:
// examples; the sizes of table and registry; the bytes, where memory must be freed.
#include <chrono>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/limiter/limiter.h"
#include "tests/core/limiter/limiter_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class LimiterKeepingTest : public LimiterFixture {
 protected:
  // Enough keys for about 24 in each partition.
  static constexpr std::size_t kMany = 100'000;

  // Gives each of many keys a bucket that is full again after a second.
  void Fill() {
    for (std::size_t i = 0; i < kMany; ++i) Decide({{"key:" + std::to_string(i), "1/s"}});
  }

  // Gives one key a bucket for each of `to` - `from` distinct limits, full again after a second.
  void UseLimits(int from, int to) {
    for (int i = from; i < to; ++i) Decide({{"a", std::to_string(i) + "/s,burst=1"}});
  }
};

// --- Reset --------------------------------------------------------------------------------------

TEST_F(LimiterKeepingTest, ResetForgetsAllBucketsOfAKey) {
  Decide({{"a", "1/s"}, {"a", "1/m"}, {"b", "1/s"}});
  EXPECT_EQ(Reset("a"), 2u);
  EXPECT_EQ(Remaining("a", "1/s"), 1);
  EXPECT_EQ(Remaining("a", "1/m"), 1);
  EXPECT_EQ(Remaining("b", "1/s"), 0);
  EXPECT_EQ(buckets(), 1u);
}

TEST_F(LimiterKeepingTest, ResetForgetsOnlyTheNamedLimits) {
  Decide({{"a", "1/s"}, {"a", "1/m"}, {"a", "1/h"}, {"b", "1/m"}});
  EXPECT_EQ(Reset("a", {"1/60s", "7/s", "1/h", "1/h"}), 2u);
  EXPECT_EQ(Remaining("a", "1/s"), 0);
  EXPECT_EQ(Remaining("a", "1/m"), 1);
  EXPECT_EQ(Remaining("a", "1/h"), 1);
  EXPECT_EQ(Remaining("b", "1/m"), 0);
}

TEST_F(LimiterKeepingTest, ResetOfUnknownLimitsForgetsNothing) {
  Decide({{"a", "1/s"}});
  EXPECT_EQ(Reset("a", {"7/s"}), 0u);
  EXPECT_EQ(Reset("nobody"), 0u);
  EXPECT_EQ(Remaining("a", "1/s"), 0);
  EXPECT_EQ(limits(), 1u);
}

TEST_F(LimiterKeepingTest, ResetForgetsFullBucketsAndDoesNotCountThem) {
  Decide({{"a", "1/s"}, {"a", "1/m"}});
  now_ += seconds{1};
  EXPECT_EQ(Reset("a"), 1u);
  EXPECT_EQ(buckets(), 0u);
}

TEST_F(LimiterKeepingTest, ResetLimitsCanBeTakenBack) {
  Decide({{"a", "1/s"}, {"a", "1/m"}});
  Reset("a", {"1/s"});
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 10), 1u);
  Reset("a");
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 10), 1u);
  EXPECT_EQ(limits(), 0u);
}

// --- Inspect ------------------------------------------------------------------------------------

TEST_F(LimiterKeepingTest, InspectShowsTheBucketsOfAKeyThatAreNotFull) {
  Decide({{"a", "1/s"}, {"a", "3/m", 2}, {"b", "9/s"}});
  Decide({{"a", "10/h", 4}});
  now_ += seconds{1};
  const std::vector<LiveBucket> live = limiter_->Inspect("a", now_);
  ASSERT_EQ(live.size(), 2u);
  EXPECT_EQ(live[0].limit, LimitOf("3/m"));
  EXPECT_EQ(live[0].remaining, 1);
  EXPECT_EQ(live[0].reset_after, seconds{39});
  EXPECT_EQ(live[1].limit, LimitOf("10/h"));
  EXPECT_EQ(live[1].remaining, 6);
  EXPECT_EQ(live[1].reset_after, minutes{24} - seconds{1});
}

TEST_F(LimiterKeepingTest, InspectChangesNothing) {
  Decide({{"a", "3/m", 2}});
  EXPECT_TRUE(limiter_->Inspect("nobody", now_).empty());
  EXPECT_EQ(limiter_->Inspect("a", now_).size(), 1u);
  EXPECT_EQ(Remaining("a", "3/m"), 1);
  EXPECT_EQ(buckets(), 1u);
}

TEST_F(LimiterKeepingTest, ResetAfterIsThatOfTheLongest) {
  EXPECT_EQ(limiter_->ResetAfter("a", now_), Nanos{0});
  Decide({{"a", "3/s"}, {"a", "3/m"}, {"b", "1/h"}});
  EXPECT_EQ(limiter_->ResetAfter("a", now_), seconds{20});
  now_ += seconds{20} - Nanos{1};
  EXPECT_EQ(limiter_->ResetAfter("a", now_), Nanos{1});
  now_ += Nanos{1};
  EXPECT_EQ(limiter_->ResetAfter("a", now_), Nanos{0});
}

TEST_F(LimiterKeepingTest, CountLiveLeavesOutFullBuckets) {
  Decide({{"a", "1/s"}, {"b", "1/s"}, {"b", "1/m"}});
  EXPECT_EQ(upkeep_.CountLive(now_), 3u);
  now_ += seconds{1} - Nanos{1};
  EXPECT_EQ(upkeep_.CountLive(now_), 3u);
  now_ += Nanos{1};
  EXPECT_EQ(upkeep_.CountLive(now_), 1u);
  EXPECT_EQ(buckets(), 3u);
}

// --- Clear --------------------------------------------------------------------------------------

TEST_F(LimiterKeepingTest, ClearForgetsEverythingAndGivesMemoryBack) {
  Fill();
  Decide({{"a", "1/m"}});
  const std::size_t before = upkeep_.size().table_bytes;
  upkeep_.Clear();
  EXPECT_EQ(buckets(), 0u);
  EXPECT_LT(upkeep_.size().table_bytes, before / 20);  // The smallest arrays are kept.
  EXPECT_EQ(Remaining("a", "1/m"), 1);
  while (upkeep_.FreeDiscarded()) {
  }
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 10), 2u);
  EXPECT_EQ(limits(), 0u);
}

// The content that Clear() has forgotten is freed later, one partition at a time; a second Clear()
// may come before.
TEST_F(LimiterKeepingTest, WhatClearHasForgottenIsFreedInParts) {
  Fill();
  upkeep_.Clear();
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 10), 0u) << "the buckets carry their ids until then";
  Decide({{"a", "1/m"}});
  upkeep_.Clear();
  Decide({{"b", "1/m"}});
  std::size_t parts = 0;
  while (upkeep_.FreeDiscarded()) ++parts;
  EXPECT_GT(parts, kPartitionCount / 2);
  EXPECT_LE(parts, 2 * kPartitionCount);
  EXPECT_EQ(Remaining("b", "1/m"), 0);
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 10), 1u) << "b's limit is in use";
  EXPECT_EQ(limits(), 1u);
}

// --- Sweep --------------------------------------------------------------------------------------

TEST_F(LimiterKeepingTest, SweepDropsFullBucketsOnly) {
  Decide({{"a", "1/s"}, {"b", "1/s"}, {"b", "1/m"}});
  EXPECT_EQ(SweepAll(), 0u);
  now_ += seconds{1} - Nanos{1};
  EXPECT_EQ(SweepAll(), 0u);
  now_ += Nanos{1};
  EXPECT_EQ(SweepAll(), 2u);
  EXPECT_EQ(buckets(), 1u);
  EXPECT_EQ(Remaining("b", "1/m"), 0);
}

// A thread that read its clock before the sweeper did decides after the sweep. At that thread's
// time the dropped bucket was not full yet; treating it as full would count the time from then on
// twice.
TEST_F(LimiterKeepingTest, DecisionOvertakenByASweepIsMadeAtItsTime) {
  const Instant read_before = now_ + milliseconds{400};
  Decide({{"a", "10/s", 10}, {"b", "10/s", 1}});
  now_ += seconds{1};
  EXPECT_EQ(SweepAll(), 2u);
  now_ = read_before;
  EXPECT_EQ(Peek({{"a", "10/s", 10}}), (Told{true, 0, Nanos{0}, seconds{1}, 0}));
  EXPECT_EQ(Decide({{"nobody", "7/s", 0}, {"a", "10/s", 10}}),
            (Told{true, 0, Nanos{0}, seconds{1}, 1}));
  now_ = read_before + milliseconds{600};
  EXPECT_EQ(Decide({{"a", "10/s"}}), (Told{false, 0, milliseconds{100}, seconds{1}, 0}));
}

TEST_F(LimiterKeepingTest, SweepThatDropsNothingMovesNoDecision) {
  Decide({{"a", "10/s", 10}});
  now_ += milliseconds{999};
  EXPECT_EQ(SweepAll(), 0u);
  now_ -= milliseconds{500};
  EXPECT_EQ(Remaining("a", "10/s"), 4);
}

TEST_F(LimiterKeepingTest, OfTwoSweepsTheLaterCounts) {
  const std::size_t partition = KeyHasher(HashSecret{})("a").partition;
  Decide({{"a", "10/s"}, {"a", "20/s"}});
  EXPECT_EQ(upkeep_.SweepSome(partition, now_ + seconds{6}, 0, 1).erased, 1u);
  EXPECT_EQ(upkeep_.SweepSome(partition, now_ + seconds{1}, 0, 1).erased, 1u);
  now_ += seconds{1};
  Decide({{"a", "10/s", 10}});
  now_ += seconds{5};
  EXPECT_EQ(Remaining("a", "10/s"), 0);
}

// --- Order --------------------------------------------------------------------------------------

// A limiter that accepts no waits, so that its clamp cuts every time beyond the capacity.
class LimiterOrderTest : public LimiterFixture {
 protected:
  explicit LimiterOrderTest(bool time_is_ordered = true)
      : LimiterFixture({.max_wait = Nanos{0}, .time_is_ordered = time_is_ordered}) {}
};

// Two threads read the clock, and the thread that read it first decides last.
TEST_F(LimiterOrderTest, AnOvertakenDecisionCannotCutWhatAnotherCharged) {
  const Instant read_before = now_;
  now_ += milliseconds{5};
  Decide({{"a", "10/s", 10}});
  now_ = read_before;
  EXPECT_EQ(Decide({{"a", "10/s"}}), (Told{false, 0, milliseconds{100}, seconds{1}, 0}));
  EXPECT_EQ(Peek({{"a", "10/s"}}), (Told{false, 0, milliseconds{100}, seconds{1}, 0}));
  now_ = read_before + milliseconds{104};
  EXPECT_FALSE(Decide({{"a", "10/s"}}).allowed);
  now_ = read_before + milliseconds{105};
  EXPECT_TRUE(Decide({{"a", "10/s"}}).allowed);
}

TEST_F(LimiterOrderTest, EveryKeyOfARequestSeesTheLatestOfAll) {
  now_ += seconds{1};
  Decide({{"a", "10/s", 10}});
  now_ -= seconds{1};
  EXPECT_EQ(Decide({{"b", "1/m"}, {"a", "10/s", 0}}).reset_after, minutes{1});
  now_ += seconds{1};
  EXPECT_EQ(Peek({{"b", "1/m", 0}}).reset_after, minutes{1});
}

class LimiterFreeTimeTest : public LimiterOrderTest {
 protected:
  LimiterFreeTimeTest() : LimiterOrderTest(false) {}
};

TEST_F(LimiterFreeTimeTest, WhereClientsBringTheTimeItMayGoBack) {
  now_ += seconds{1};
  Decide({{"a", "10/s"}});
  now_ -= seconds{1};
  EXPECT_EQ(Decide({{"b", "10/s"}, {"a", "10/s", 0}}).reset_after, milliseconds{1100});
}

TEST_F(LimiterKeepingTest, SweepSomeStopsAfterItsVisits) {
  UseLimits(1, 11);  // All buckets are of one key, so in one partition.
  now_ += seconds{1};
  const std::size_t partition = KeyHasher(HashSecret{})("a").partition;
  EXPECT_EQ(upkeep_.SweepSome(partition + 1, now_, 0, 4).next, Partition::kNoMore);
  EXPECT_EQ(upkeep_.SweepSome(partition, now_, 0, 4).erased, 4u);
  EXPECT_EQ(buckets(), 6u);
  EXPECT_EQ(upkeep_.SweepSome(partition, now_, 0, 4).next, 0u);
  const Partition::Erased last = upkeep_.SweepSome(partition, now_, 0, 4);
  EXPECT_EQ(last.erased, 2u);
  EXPECT_EQ(last.next, Partition::kNoMore);
  EXPECT_EQ(buckets(), 0u);
}

TEST_F(LimiterKeepingTest, SweepGivesMemoryBack) {
  Fill();
  const std::size_t before = upkeep_.size().table_bytes;
  EXPECT_GE(before, kMany * 25);
  now_ += seconds{1};
  Decide({{"a", "1/m"}});
  EXPECT_EQ(SweepAll(), kMany);
  EXPECT_LT(upkeep_.size().table_bytes, before / 20);
  EXPECT_EQ(Remaining("a", "1/m"), 0);
}

TEST_F(LimiterKeepingTest, BucketCostsAtMost58BytesOnceThereAreMany) {
  Fill();
  EXPECT_LE(upkeep_.size().table_bytes, kMany * 58);
}

// --- Ids of limits ------------------------------------------------------------------------------

TEST_F(LimiterKeepingTest, ReclaimTakesBackLimitsWithoutBuckets) {
  UseLimits(1, 11);
  Decide({{"a", "1/m"}});
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 100), 0u);
  now_ += seconds{1};
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 100), 0u);  // Full, but not swept.
  SweepAll();
  EXPECT_EQ(upkeep_.ReclaimLimits(11, 100), 0u);
  EXPECT_EQ(limits(), 11u);
  EXPECT_EQ(upkeep_.ReclaimLimits(4, 4), 4u);
  EXPECT_EQ(upkeep_.ReclaimLimits(6, 100), 6u);
  EXPECT_EQ(limits(), 1u);
  EXPECT_EQ(Remaining("a", "1/m"), 0);
}

TEST_F(LimiterKeepingTest, BucketsOfReusedIdsAreNew) {
  UseLimits(1, 101);
  now_ += seconds{1};
  SweepAll();
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 100), 100u);
  for (int i = 101; i < 201; ++i)
    EXPECT_EQ(Decide({{"a", std::to_string(i) + "/h"}}).remaining, i - 1);
  for (int i = 1; i < 101; ++i) EXPECT_EQ(Remaining("a", std::to_string(i) + "/s,burst=1"), 1);
}

// A hint from before its limit's id was reclaimed and given to another limit.
TEST_F(LimiterKeepingTest, StaleHintNeverFindsTheNewLimitsBucket) {
  const Limit old_limit = LimitOf("1/s");
  const Limit new_limit = LimitOf("5/m");
  LimitHint hint;
  const Request with_hint = {{"a", &old_limit, 1, &hint, limiter_->Hash("a")}};
  EXPECT_TRUE(limiter_->Decide(with_hint, now_)->allowed);
  EXPECT_FALSE(limiter_->Decide(with_hint, now_)->allowed);
  now_ += seconds{1};
  SweepAll();
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 1), 1u);
  const LimitHint stale = hint;
  EXPECT_TRUE(
      limiter_->Decide({{"a", &new_limit, 5, nullptr, limiter_->Hash("a")}}, now_)->allowed);

  EXPECT_TRUE(limiter_->Peek(with_hint, now_).allowed);
  hint = stale;
  EXPECT_TRUE(limiter_->Decide(with_hint, now_)->allowed);
  EXPECT_EQ(limits(), 2u);
  hint = stale;
  EXPECT_FALSE(limiter_->Decide(with_hint, now_)->allowed);
  EXPECT_FALSE(
      limiter_->Decide({{"a", &new_limit, 1, nullptr, limiter_->Hash("a")}}, now_)->allowed);
}

}  // namespace
}  // namespace weir
