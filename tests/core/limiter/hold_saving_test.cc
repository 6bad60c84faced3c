// Goal: a save receives each hold and each sum that has changed, once, with its present value, in
// one save with the buckets of its key; a failed save loses nothing. Method: one hold after the
// other by hand. (hold_crash_model_test.cc tests whole histories.)
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limiter/hold_request.h"
#include "core/table/hold_changes.h"
#include "tests/core/limiter/hold_fixture.h"
#include "tests/support/take_all.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class HoldSavingTest : public HoldFixture {
 protected:
  HoldSavingTest() : HoldFixture({.logs_changes = true}) {}

  LimiterChanges Changes() { return TakeAll(*limiter_, now_, true); }
  // The holds, each as its id and what became of it.
  static std::vector<std::string> Told(const LimiterChanges& changes) {
    std::vector<std::string> told;
    for (const HoldChange& change : changes.holds) {
      const char* const what =
          !change.hold ? " is gone" : (change.hold->settled ? " is settled" : " is open");
      told.push_back(change.id + what);
    }
    return told;
  }
};

TEST_F(HoldSavingTest, HoldIsSavedTogetherWithItsBucket) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 40}, {"k", "9/m", 2}}, "a", minutes{1}));
  const LimiterChanges changes = Changes();
  EXPECT_EQ(changes.buckets.size(), 2U);
  EXPECT_EQ(changes.limits.size(), 2U);
  ASSERT_EQ(changes.holds.size(), 1U);
  const HoldChange& change = changes.holds.front();
  EXPECT_EQ(change.key, limiter_->Hash("k").hash);
  EXPECT_EQ(change.partition, limiter_->Hash("k").partition);
  EXPECT_EQ(change.id, "a");
  ASSERT_TRUE(change.hold.has_value());
  EXPECT_FALSE(change.hold->settled);
  EXPECT_EQ(change.hold->expiry, now_ + minutes{1});
  ASSERT_EQ(change.hold->parts.size(), 2U);
  EXPECT_EQ(change.hold->parts[0].cost, 40U);
  EXPECT_EQ(change.hold->parts[1].cost, 2U);
  EXPECT_THAT(changes.sums, IsEmpty());
  EXPECT_TRUE(Changes().empty()) << "it was taken";
}

TEST_F(HoldSavingTest, EachStepOfAHoldIsSaved) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 40}}, "a", minutes{1}));
  EXPECT_THAT(Told(Changes()), ElementsAre("a is open"));
  EXPECT_TRUE(Reserve({{"k", "100/h", 40}}, "a", hours{1}));
  const LimiterChanges renewed = Changes();
  ASSERT_THAT(Told(renewed), ElementsAre("a is open"));
  EXPECT_EQ(renewed.holds.front().hold->expiry, now_ + hours{1});
  EXPECT_TRUE(Commit("a", "k"));
  const LimiterChanges settled = Changes();
  ASSERT_THAT(Told(settled), ElementsAre("a is settled"));
  const SavedHold& mark = *settled.holds.front().hold;
  EXPECT_EQ(mark.expiry, now_ + kHoldMarkMax);
  ASSERT_EQ(mark.parts.size(), 1U);
  EXPECT_EQ(mark.parts[0], (HoldPart{.cost = 40, .limit = mark.parts[0].limit}));
  now_ += kHoldMarkMax;
  SweepAll();
  EXPECT_THAT(Told(Changes()), ElementsAre("a is gone"));
}

TEST_F(HoldSavingTest, SeveralStepsBetweenTwoSavesAreOneChange) {
  for (const char* id : {"b", "a"}) EXPECT_TRUE(Reserve({{"k", "100/h"}}, id, minutes{1}));
  EXPECT_TRUE(Commit("b", "k"));
  EXPECT_THAT(Told(Changes()), ElementsAre("a is open", "b is settled"));
}

TEST_F(HoldSavingTest, ExpiryIsSavedWithWhatItGivesBack) {
  EXPECT_TRUE(Reserve({{"k", "100/h,fixed", 40}}, "a", seconds{10}));
  EXPECT_TRUE(Decide({{"k", "100/h,fixed", 3}}).allowed);
  static_cast<void>(Changes());
  now_ += seconds{10};
  EXPECT_EQ(Remaining("k", "100/h,fixed"), 97) << "a look settles it";
  const LimiterChanges changes = Changes();
  EXPECT_THAT(Told(changes), ElementsAre("a is gone"));
  EXPECT_EQ(changes.buckets.size(), 1U);
}

// The thread of a client must know whether its answer depends on an expiry that is not saved yet.
TEST_F(HoldSavingTest, ThreadKnowsOfTheExpiriesThatItHasFound) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 40}}, "a", seconds{10}));
  const std::uint64_t before = HoldWork::found_expired;
  EXPECT_EQ(Remaining("k", "100/h"), 60);
  EXPECT_EQ(HoldWork::found_expired, before);
  now_ += seconds{10};
  EXPECT_EQ(Remaining("k", "100/h"), 100);
  EXPECT_EQ(HoldWork::found_expired, before + 1);
  EXPECT_EQ(Remaining("k", "100/h"), 100);
  EXPECT_EQ(HoldWork::found_expired, before + 1);
}

TEST_F(HoldSavingTest, HeldBucketIsNotSaved) {
  const Limit held = HeldLimit(5);
  EXPECT_TRUE(Hold({CheckOf("k", held, 2)}, "a", minutes{1})->verdict.allowed);
  const LimiterChanges changes = Changes();
  EXPECT_THAT(changes.buckets, IsEmpty()) << "its count follows from the holds";
  EXPECT_THAT(Told(changes), ElementsAre("a is open"));
  EXPECT_EQ(changes.limits.size(), 1U);
}

TEST_F(HoldSavingTest, SumsAreSavedWhileTheKeyHasAnOpenHold) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 40}}, "a", minutes{1}));
  EXPECT_TRUE(Reserve({{"k", "100/h", 20}}, "b", minutes{1}));
  static_cast<void>(Changes());
  EXPECT_TRUE(Cancel("a", "k"));
  const LimiterChanges cancelled = Changes();
  ASSERT_EQ(cancelled.sums.size(), 1U);
  const auto given_back = static_cast<std::uint64_t>(Nanos{40 * seconds{36}}.count());
  EXPECT_EQ(cancelled.sums.front().sums, (SettlementSums{given_back, 0}));
  EXPECT_TRUE(Cancel("b", "k"));
  const LimiterChanges last = Changes();
  ASSERT_EQ(last.sums.size(), 1U);
  EXPECT_FALSE(last.sums.front().sums.has_value()) << "no hold remembers them";
}

// A charge that takes nothing, because the debt is as great as it may be, is counted nevertheless.
TEST_F(HoldSavingTest, SumsAreSavedAlthoughTheirBucketStays) {
  EXPECT_TRUE(Reserve({{"k", "100/h,fixed", 40}}, "a", minutes{1}));
  ASSERT_TRUE(limiter_->Charge(Of({{"k", "100/h,fixed", 1000}}), now_).ok());
  static_cast<void>(Changes());
  ASSERT_TRUE(limiter_->Charge(Of({{"k", "100/h,fixed", 7}}), now_).ok());
  const LimiterChanges changes = Changes();
  EXPECT_THAT(changes.buckets, IsEmpty());
  ASSERT_EQ(changes.sums.size(), 1U);
  EXPECT_GE(changes.sums.front().sums->cut_off, 7U);
}

TEST_F(HoldSavingTest, ResetErasesTheHoldsOfTheKey) {
  EXPECT_TRUE(Reserve({{"k", "100/h"}, {"other", "100/h"}}, "a", minutes{1}));
  EXPECT_TRUE(Reserve({{"k", "100/h"}}, "settled", minutes{1}));
  EXPECT_TRUE(Commit("settled", "k"));
  static_cast<void>(Changes());
  Reset("k");
  EXPECT_THAT(Told(Changes()), ElementsAre("a is gone", "settled is gone"));
}

TEST_F(HoldSavingTest, DeletedPolicyErasesItsHolds) {
  const Limit owned = LimitOf("10/h").OwnedBy({PolicyId{7}, 0});
  EXPECT_TRUE(Hold({CheckOf("k", owned, 2)}, "a", minutes{1})->verdict.allowed);
  const LimiterChanges saved = Changes();
  ASSERT_EQ(saved.holds.size(), 1U);
  ASSERT_EQ(saved.holds.front().hold->intervals.size(), 1U) << "its numbers may change";
  const PolicyId gone[] = {PolicyId{7}};
  upkeep_.ForgetPolicies(gone);
  EXPECT_THAT(Told(Changes()), ElementsAre("a is gone"));
}

TEST_F(HoldSavingTest, ClearMovesTheGenerationInstead) {
  for (std::size_t i = 0; i < 2 * HoldChanges::kGoneMax; ++i) {
    EXPECT_TRUE(Reserve({{"k", "1k/h"}}, std::to_string(i), minutes{1}));
  }
  static_cast<void>(Changes());
  upkeep_.Clear();
  EXPECT_TRUE(Reserve({{"k", "1k/h"}}, "new", minutes{1}));
  const LimiterChanges changes = Changes();
  EXPECT_THAT(Told(changes), ElementsAre("new is open"));
  EXPECT_THAT(changes.rewritten_partitions, IsEmpty());
}

// Holds that come and go while nothing can be saved take no more room than others: then the next
// save replaces what is on disk of their partition.
TEST_F(HoldSavingTest, TooManyRemovalsRewriteThePartition) {
  EXPECT_TRUE(Reserve({{"k", "100/h"}}, "kept", hours{1}));
  EXPECT_TRUE(Reserve({{"k", "100/h"}}, "settled", hours{1}));
  static_cast<void>(Changes());
  EXPECT_TRUE(Cancel("settled", "k"));
  for (std::size_t i = 0; i < HoldChanges::kGoneMax + 8; ++i) {
    EXPECT_TRUE(Reserve({{"k", "10k/h"}}, std::to_string(i), seconds{1}));
    now_ += seconds{1};
  }
  SweepAll();
  const LimiterChanges changes = Changes();
  EXPECT_THAT(changes.rewritten_partitions, ElementsAre(limiter_->Hash("k").partition));
  EXPECT_THAT(Told(changes), ElementsAre("kept is open"));
  EXPECT_EQ(changes.sums.size(), 1U);
  EXPECT_TRUE(Changes().empty());
}

}  // namespace
}  // namespace weir
