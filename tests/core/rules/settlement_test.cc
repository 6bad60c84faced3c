// Goal: a settlement gives back what is still charged, of the right window and at the right rate.
// Method: short histories of one bucket, with the numbers that a client would see.
#include "core/rules/settlement.h"

#include <chrono>

#include "gtest/gtest.h"

#include "core/rules/fixed_window.h"
#include "tests/core/rules/rule_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class SettlementTest : public RuleFixture {
 protected:
  SettlementTest() : RuleFixture("100/s") {}

  Estimate Reserve(Nanos at, std::uint64_t cost) {
    const bool allowed = Ask(kNow + at, cost).allowed;
    EXPECT_TRUE(allowed);
    return EstimateOf(limit_, bucket_, cost, sums_);
  }
  void Settle(Nanos at, const Estimate& estimate, std::uint64_t cost) {
    bucket_ = SettleLimit(limit_, bucket_, kNow + at, estimate, cost, max_wait_, sums_);
  }
  void Charge(Nanos at, std::uint64_t cost) {
    const Bucket before = bucket_;
    bucket_ = ChargeLimit(limit_, before, kNow + at, cost, max_wait_);
    CountCharge(limit_, before, bucket_, kNow + at, cost, max_wait_, sums_);
  }
  void RefundCounted(Nanos at, std::uint64_t cost) {
    const Bucket before = bucket_;
    Refund(at, cost);
    CountRefund(limit_, before, bucket_, kNow + at, max_wait_, sums_);
  }
  [[nodiscard]] std::int64_t RemainingAt(Nanos at) const {
    return DecideLimit(limit_, bucket_, kNow + at, 0, max_wait_).decision.remaining;
  }
  [[nodiscard]] std::int64_t UsedAt(Nanos at) const {
    return UsedTokens(limit_, bucket_, kNow + at, max_wait_);
  }

  SettlementSums sums_;
};

TEST_F(SettlementTest, GivesBackWhatWasTooMuch) {
  const Estimate hold = Reserve(seconds{0}, 50);
  Settle(milliseconds{100}, hold, 10);
  EXPECT_EQ(UsedAt(milliseconds{100}), 0) << "time has given back the other 10";
  const Estimate other = Reserve(seconds{1}, 50);
  Settle(seconds{1}, other, 10);
  EXPECT_EQ(RemainingAt(seconds{1}), 90);
}

// A plain refund would let 40 more pass in the same instant.
TEST_F(SettlementTest, TimeHasGivenBackAllOfAnOldReservation) {
  const Estimate hold = Reserve(seconds{0}, 50);
  EXPECT_TRUE(Ask(kNow + seconds{1}, 100).allowed);
  Settle(seconds{1}, hold, 10);
  EXPECT_EQ(RemainingAt(seconds{1}), 0);
}

TEST_F(SettlementTest, ChargesTheRestOfATooLowEstimateEvenIntoDebt) {
  const Estimate hold = Reserve(seconds{0}, 60);
  Settle(seconds{0}, hold, 130);
  EXPECT_EQ(UsedAt(seconds{0}), 130);
  Settle(seconds{0}, EstimateOf(limit_, bucket_, 0, sums_), 10'000);
  EXPECT_EQ(UsedAt(seconds{0}), 6100) << "the longest debt is --max-wait beyond empty";
}

TEST_F(SettlementTest, EqualEstimateChangesNothing) {
  const Estimate hold = Reserve(seconds{0}, 60);
  const Bucket before = bucket_;
  Settle(seconds{0}, hold, 60);
  EXPECT_EQ(bucket_, before);
  EXPECT_EQ(sums_, SettlementSums{});
}

TEST_F(SettlementTest, RefundOfTheSameTokensIsNotRepeated) {
  const Estimate hold = Reserve(seconds{0}, 100);
  RefundCounted(seconds{0}, 100);
  EXPECT_TRUE(Ask(kNow, 100).allowed);
  Settle(seconds{0}, hold, 0);
  EXPECT_EQ(RemainingAt(seconds{0}), 0);
}

TEST_F(SettlementTest, BanEndsTheRightToGiveBack) {
  Use("5/m,ban=15m");
  const Estimate hold = Reserve(seconds{0}, 5);
  bucket_ = BanLimit(limit_, bucket_, kNow, max_wait_);
  ForbidGivingBack(limit_, max_wait_, sums_);
  Settle(seconds{0}, hold, 0);
  EXPECT_EQ(BanLeft(limit_, bucket_, kNow, max_wait_), minutes{15});
}

TEST_F(SettlementTest, FixedWindowGivesBackOnlyToTheWindowOfTheReservation) {
  Use("100/m,fixed");
  const Estimate first = Reserve(seconds{0}, 50);
  const Estimate second = Reserve(seconds{0}, 50);
  Settle(seconds{59}, first, 10);
  EXPECT_EQ(RemainingAt(seconds{59}), 40);
  EXPECT_TRUE(Ask(kNow + seconds{60}, 30).allowed);
  Settle(seconds{60}, second, 0);
  EXPECT_EQ(RemainingAt(seconds{60}), 70);
}

TEST_F(SettlementTest, WindowDoesNotGiveBackWhatAChargeCouldNotTake) {
  Use("100/m,fixed");
  const Estimate hold = Reserve(seconds{0}, 100);
  Charge(seconds{0}, 170);
  EXPECT_EQ(UsedAt(seconds{0}), 200);
  Settle(seconds{0}, hold, 0);
  EXPECT_EQ(UsedAt(seconds{0}), 170) << "as if the estimate had been 0";
}

TEST_F(SettlementTest, CalendarMonthIsSettledUntilItsEnd) {
  Use("1000/month,tz=Europe/Berlin");
  const Estimate hold = Reserve(seconds{0}, 400);
  Settle(std::chrono::hours{48}, hold, 100);
  EXPECT_EQ(RemainingAt(std::chrono::hours{48}), 900);
}

TEST_F(SettlementTest, SlidingWindowGivesBackToTheWindowOfTheReservation) {
  Use("100/m,sliding");
  const Estimate hold = Reserve(seconds{0}, 60);
  const Estimate other = Reserve(seconds{0}, 20);
  EXPECT_TRUE(Ask(kNow + seconds{60}, 10).allowed);
  Settle(seconds{90}, hold, 20);
  EXPECT_EQ(UsedAt(seconds{90}), 10 + (20 + 20) / 2);
  Settle(seconds{120}, other, 0);
  EXPECT_EQ(UsedAt(seconds{120}), 10) << "the window before the last one no longer counts";
}

// An unaligned window is opened by its first reservation, and stays open while others use it.
TEST_F(SettlementTest, LastTokenThatIsGivenBackClosesTheWindow) {
  Use("100/m,fixed");
  const Estimate hold = Reserve(seconds{0}, 50);
  Settle(seconds{30}, hold, 0);
  EXPECT_EQ(bucket_, Bucket{});
}

// The tokens of a policy became cheaper, or dearer, while they were reserved.
TEST_F(SettlementTest, TokensAreWorthTheShorterInterval) {
  for (const char* changed : {"10/s,burst=100", "1000/s,burst=1000"}) {
    Use("100/s");
    const Estimate hold = Reserve(seconds{0}, 50);
    const Bucket reserved = bucket_;
    Change(changed);
    Settle(seconds{0}, hold, 10);
    const Nanos worth =
        std::min<Nanos>(milliseconds{10}, limit_.emission().interval.whole * Nanos{1});
    EXPECT_EQ(TimeToFull(limit_, reserved, kNow) - TimeToFull(limit_, bucket_, kNow), 40 * worth);
  }
}

TEST_F(SettlementTest, TimeThatIsCutAsWrongStays) {
  const Estimate hold = Reserve(seconds{0}, 50);
  const Bucket before = bucket_;
  Settle(-std::chrono::hours{1}, hold, 0);
  EXPECT_EQ(bucket_, before);
}

// Sums of nanoseconds reach their maximum after centuries.
TEST_F(SettlementTest, FullSumGivesNothingBack) {
  sums_ = {.given_back = UINT64_MAX};
  const Estimate hold = Reserve(seconds{0}, 50);
  const Bucket before = bucket_;
  Settle(seconds{0}, hold, 0);
  EXPECT_EQ(bucket_, before);
}

TEST_F(SettlementTest, LimitWithoutABucketHasNothingToSettle) {
  for (const Limit& limit : {Limit::Unlimited(), Limit::None()}) {
    Use(limit);
    Settle(seconds{0}, EstimateOf(limit, {}, 5, sums_), 9);
    EXPECT_EQ(bucket_, Bucket{});
    EXPECT_EQ(sums_, SettlementSums{});
  }
}

}  // namespace
}  // namespace weir
