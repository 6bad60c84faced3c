// Goal: the fixed window answers as documented. Method: examples, each a table of (when, cost) ->
// decision that a reader can check with pencil and paper.
#include "core/rules/fixed_window.h"

#include <chrono>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "tests/core/rules/rule_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class FixedWindowTest : public RuleFixture {
 protected:
  FixedWindowTest() : RuleFixture("3/m,fixed") {}

  static Bucket WindowOf(Nanos end, std::int64_t used) {
    return BucketOf(FixedWindow{kNow + end, used});
  }
};

TEST_F(FixedWindowTest, WholeCountIsBackAtTheEnd) {
  Expect({{seconds{0}, 1, Allowed(2, seconds{60})},
          {seconds{20}, 2, Allowed(0, seconds{40})},
          {seconds{20}, 1, Denied(0, seconds{40}, seconds{40})},
          {seconds{60} - Nanos{1}, 1, Denied(0, Nanos{1}, Nanos{1})},
          {seconds{60}, 3, Allowed(0, seconds{60})},
          {seconds{60}, 1, Denied(0, seconds{60}, seconds{60})}});
}

TEST_F(FixedWindowTest, OnlyAChargeOpensAWindow) {
  Expect({{seconds{0}, 0, Allowed(3, seconds{0})},
          {seconds{10}, 4, Denied(3, kNever, seconds{0})},
          {seconds{30}, 1, Allowed(2, seconds{60})},
          {seconds{89}, 3, Denied(2, seconds{1}, seconds{1})},
          {seconds{90}, 3, Allowed(0, seconds{60})}});
}

TEST_F(FixedWindowTest, WindowOpensLateAfterAPause) {
  Expect({{seconds{0}, 3, Allowed(0, seconds{60})},
          {hours{5} + seconds{7}, 1, Allowed(2, seconds{60})},
          {hours{5} + seconds{66}, 3, Denied(2, seconds{1}, seconds{1})}});
}

TEST_F(FixedWindowTest, AlignedWindowEndsAtTheMinute) {
  Use("3/m,fixed,aligned");
  Expect({{seconds{59}, 3, Allowed(0, seconds{1})},
          {seconds{60} - Nanos{1}, 1, Denied(0, Nanos{1}, Nanos{1})},
          {seconds{60}, 1, Allowed(2, seconds{60})},
          {seconds{119}, 2, Allowed(0, seconds{1})},
          {seconds{120}, 3, Allowed(0, seconds{60})}});
}

TEST_F(FixedWindowTest, AlignedWeekStartsOnThursday) {
  Use("3/w,fixed,aligned");
  Expect({{Nanos{-1}, 3, Allowed(0, Nanos{1})},
          {Nanos{0}, 1, Allowed(2, hours{7 * 24})},
          {hours{100}, 1, Allowed(1, hours{68})}});
}

TEST_F(FixedWindowTest, AlignedWindowsPassTwiceTheCountInAnInstant) {
  Use("3/m,fixed,aligned");
  Expect({{seconds{60} - Nanos{1}, 3, Allowed(0, Nanos{1})},
          {seconds{60}, 3, Allowed(0, seconds{60})}});
}

TEST_F(FixedWindowTest, OtherWindowsPassOneLess) {
  Expect({{seconds{0}, 1, Allowed(2, seconds{60})},
          {seconds{60} - Nanos{1}, 2, Allowed(0, Nanos{1})},
          {seconds{60}, 3, Allowed(0, seconds{60})}});
}

TEST_F(FixedWindowTest, CostAboveTheCountNeverPassesAndChargesNothing) {
  Expect({{seconds{0}, 1, Allowed(2, seconds{60})},
          {seconds{1}, 4, Denied(2, kNever, seconds{59})},
          {seconds{1}, INT64_MAX, Denied(2, kNever, seconds{59})},
          {seconds{1}, UINT64_MAX, Denied(2, kNever, seconds{59})},
          {seconds{1}, 2, Allowed(0, seconds{59})}});
}

TEST_F(FixedWindowTest, CostOfZeroIsALook) {
  Expect({{seconds{0}, 3, Allowed(0, seconds{60})}});
  const Bucket empty = bucket_;
  Expect({{seconds{1}, 0, Allowed(0, seconds{59})}, {seconds{60}, 0, Allowed(3, seconds{0})}});
  EXPECT_EQ(bucket_, empty);
}

TEST_F(FixedWindowTest, GreatestCountAndLongestPeriodAtTheEndOfTime) {
  const absl::StatusOr<Limit> limit = Limit::Create(
      {.algorithm = Algorithm::kFixedWindow, .count = kWindowCountMax, .period = kPeriodMax});
  ASSERT_TRUE(limit.ok());
  limit_ = *limit;
  EXPECT_EQ(Ask(kInstantMax, kWindowCountMax), Allowed(0, kPeriodMax));
  EXPECT_EQ(Ask(kInstantMax, kWindowCountMax), Denied(0, kPeriodMax, kPeriodMax));
  EXPECT_EQ(FixedWindowOf(bucket_), (FixedWindow{kInstantMax + kPeriodMax, kWindowCountMax}));
}

TEST_F(FixedWindowTest, BeginningOfTime) {
  EXPECT_EQ(Ask(Instant{}, 3), Allowed(0, seconds{60}));
  EXPECT_EQ(Ask(Instant{}, 1), Denied(0, seconds{60}, seconds{60}));
}

// A policy's count may be lowered under a bucket, and raised again.
TEST_F(FixedWindowTest, LoweredCountLeavesNothingUntilTheEnd) {
  Use("10/m,fixed");
  Expect({{seconds{0}, 7, Allowed(3, seconds{60})}});
  Change("3/m,fixed");
  Expect({{seconds{1}, 1, Denied(0, seconds{59}, seconds{59})},
          {seconds{1}, 0, Allowed(0, seconds{59})}});
  Change("10/m,fixed");
  Expect({{seconds{2}, 3, Allowed(0, seconds{58})}, {seconds{60}, 10, Allowed(0, seconds{60})}});
}

TEST_F(FixedWindowTest, CalendarWindowEndsWithTheCalendars) {
  Use("3/day,tz=Europe/Berlin");  // 23:00 UTC
  Expect({{seconds{0}, 2, Allowed(1, hours{23})},
          {hours{22}, 2, Denied(1, hours{1}, hours{1})},
          {hours{23} - Nanos{1}, 1, Allowed(0, Nanos{1})},
          {hours{23}, 3, Allowed(0, hours{24})}});
  Use("3/week");
  Expect({{hours{1}, 1, Allowed(2, hours{4 * 24 - 1})}});
  Use("3/month,from=31");
  Expect({{hours{1}, 1, Allowed(2, hours{30 * 24 - 1})},
          {hours{30 * 24}, 1, Allowed(2, hours{28 * 24})}});
  Use("3/year,from=04-06");
  Expect({{hours{1}, 1, Allowed(2, hours{95 * 24 - 1})}});
}

TEST_F(FixedWindowTest, CalendarDayOf25HoursHasTheCountOnce) {
  Use("3/day,tz=Europe/Berlin");
  const Nanos day = hours{297 * 24 - 2};  // October 25, 0:00 in Berlin
  Expect({{day, 3, Allowed(0, hours{25})},
          {day + hours{24}, 1, Denied(0, hours{1}, hours{1})},
          {day + hours{25}, 3, Allowed(0, hours{24})}});
}

// --- Time that goes back, and the clamp ---------------------------------------------------------

TEST_F(FixedWindowTest, WindowThatOpensLaterCountsAsTheCurrentOne) {
  Expect({{seconds{60}, 2, Allowed(1, seconds{60})},
          {seconds{59}, 1, Allowed(0, seconds{61})},
          {seconds{0}, 1, Denied(0, seconds{120}, seconds{120})},
          {seconds{120}, 3, Allowed(0, seconds{60})}});
}

TEST_F(FixedWindowTest, EndIsBelievedUpToTwoPeriodsAhead) {
  bucket_ = WindowOf(seconds{120}, 2);
  Expect({{seconds{0}, 2, Denied(1, seconds{120}, seconds{120})}});
  EXPECT_EQ(bucket_, WindowOf(seconds{120}, 2));
  bucket_ = WindowOf(seconds{120} + Nanos{1}, 2);
  Expect({{seconds{0}, 2, Denied(1, seconds{60}, seconds{60})}});
  EXPECT_EQ(bucket_, WindowOf(seconds{60}, 2));
}

TEST_F(FixedWindowTest, ForeignEndDelaysByAPeriodAtMost) {
  bucket_ = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
  Expect({{seconds{10}, 1, Denied(0, seconds{60}, seconds{60})}});
  EXPECT_EQ(bucket_, WindowOf(seconds{70}, 6));
  Expect({{seconds{69}, 1, Denied(0, seconds{1}, seconds{1})},
          {seconds{70}, 3, Allowed(0, seconds{60})}});
}

TEST_F(FixedWindowTest, ForeignEndOfAnAlignedWindowIsCutToThePresentOnes) {
  Use("3/m,fixed,aligned");
  bucket_ = WindowOf(hours{1}, 2);
  Expect({{seconds{10}, 3, Denied(1, seconds{50}, seconds{50})}});
  EXPECT_EQ(bucket_, WindowOf(seconds{60}, 2));
}

TEST_F(FixedWindowTest, EndOfACalendarWindowIsBelievedUpToThatOfTheNext) {
  Use("3/month");
  bucket_ = WindowOf(hours{59 * 24}, 2);  // the end of February
  Expect({{seconds{0}, 2, Denied(1, hours{59 * 24}, hours{59 * 24})}});
  EXPECT_EQ(bucket_, WindowOf(hours{59 * 24}, 2));
  bucket_ = WindowOf(hours{59 * 24} + Nanos{1}, 7);
  Expect({{seconds{0}, 1, Denied(0, hours{31 * 24}, hours{31 * 24})}});
  EXPECT_EQ(bucket_, WindowOf(hours{31 * 24}, 6));
}

// The end may be one of an earlier zone database.
TEST_F(FixedWindowTest, OpenCalendarWindowEndsWhenItWasToEnd) {
  Use("3/month");
  bucket_ = WindowOf(hours{30 * 24 + 5}, 2);
  Expect({{hours{1}, 1, Allowed(0, hours{30 * 24 + 4})},
          {hours{30 * 24 + 5}, 1, Allowed(2, hours{19})}});
}

TEST_F(FixedWindowTest, AdmissionInACutWindowStoresTheCut) {
  bucket_ = WindowOf(hours{1}, 1);
  Expect({{seconds{10}, 1, Allowed(1, seconds{60})}});
  EXPECT_EQ(bucket_, WindowOf(seconds{70}, 2));
}

TEST_F(FixedWindowTest, PermanentDenialStoresTheCutAndALookDoesNot) {
  const Bucket foreign = WindowOf(hours{1}, 9);
  bucket_ = foreign;
  Expect({{seconds{0}, 0, Allowed(0, seconds{60})}});
  EXPECT_EQ(bucket_, foreign);
  Expect({{seconds{0}, 4, Denied(0, kNever, seconds{60})}});
  EXPECT_EQ(bucket_, WindowOf(seconds{60}, 6));
}

TEST_F(FixedWindowTest, ForeignEndWithNothingUsedIsFull) {
  bucket_ = WindowOf(hours{1}, 0);
  EXPECT_TRUE(IsFixedWindowFull(bucket_, kNow));
  Expect({{seconds{0}, 4, Denied(3, kNever, seconds{0})}});
  EXPECT_EQ(bucket_, WindowOf(hours{1}, 0));
  Expect({{seconds{0}, 3, Allowed(0, seconds{60})}});
}

// --- Refunds ------------------------------------------------------------------------------------

TEST_F(FixedWindowTest, RefundGivesBackWhatTheWindowHolds) {
  Expect({{seconds{0}, 3, Allowed(0, seconds{60})}});
  Refund(seconds{30}, 2);
  EXPECT_EQ(bucket_, WindowOf(seconds{60}, 1));
  Expect({{seconds{30}, 2, Allowed(0, seconds{30})}});
}

TEST_F(FixedWindowTest, RefundOfEverythingClosesTheWindow) {
  Expect({{seconds{0}, 2, Allowed(1, seconds{60})}});
  Refund(seconds{30}, UINT64_MAX);
  EXPECT_EQ(bucket_, Bucket{});
  Expect({{seconds{40}, 3, Allowed(0, seconds{60})}});
}

TEST_F(FixedWindowTest, RefundAfterTheEndGivesNothing) {
  Expect({{seconds{0}, 2, Allowed(1, seconds{60})}});
  const Bucket before = bucket_;
  Refund(seconds{60}, 1);
  EXPECT_EQ(bucket_, before);
  Refund(seconds{60} - Nanos{1}, 1);
  EXPECT_EQ(bucket_, WindowOf(seconds{60}, 1));
}

TEST_F(FixedWindowTest, RefundCreatesNothing) {
  Refund(seconds{0}, 1);
  EXPECT_EQ(bucket_, Bucket{});
}

TEST_F(FixedWindowTest, RefundIntoADebtPaysTheDebtFirst) {
  bucket_ = WindowOf(seconds{60}, 7);
  Refund(seconds{0}, 3);
  Expect({{seconds{0}, 1, Denied(0, seconds{60}, seconds{60})}});
  Refund(seconds{0}, 2);
  Expect({{seconds{0}, 1, Allowed(0, seconds{60})}});
}

TEST_F(FixedWindowTest, RefundCutsAForeignEnd) {
  bucket_ = WindowOf(hours{1}, 9);
  Refund(seconds{0}, 1);
  EXPECT_EQ(bucket_, WindowOf(seconds{60}, 5));  // of twice the count
}

// --- Bytes --------------------------------------------------------------------------------------

TEST_F(FixedWindowTest, BucketKeepsItsWindow) {
  for (const std::int64_t end : {std::int64_t{0}, std::int64_t{1}, std::int64_t{UINT32_MAX},
                                 std::int64_t{1} << 32, INT64_MAX}) {
    const FixedWindow window{Instant{Nanos{end}}, kBannedUsed};
    EXPECT_EQ(FixedWindowOf(BucketOf(window)), window);
  }
  EXPECT_EQ(BucketOf(FixedWindow{Instant{Nanos{0x1122334455667788}}, 9}),
            (Bucket{0x55667788, 0x11223344, 9}));
}

TEST_F(FixedWindowTest, FullFromItsEndOn) {
  EXPECT_TRUE(IsFixedWindowFull(Bucket{}, Instant{}));
  EXPECT_FALSE(IsFixedWindowFull(WindowOf(minutes{1}, 1), kNow + minutes{1} - Nanos{1}));
  EXPECT_TRUE(IsFixedWindowFull(WindowOf(minutes{1}, 1), kNow + minutes{1}));
  EXPECT_TRUE(IsFixedWindowFull(WindowOf(minutes{1}, 0), kNow));
  EXPECT_TRUE(IsFixedWindowFull({0, kBucketSpareBit, 5}, Instant{}));
}

}  // namespace
}  // namespace weir
