// Goal: the sliding window answers as documented. Method: examples, each a table of (when, cost) ->
// decision that a reader can check with pencil and paper; and every nanosecond of the shortest
// window, with all small counts, compared with the inequality written out.
#include "core/rules/sliding_window.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "tests/core/rules/rule_fixture.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kNumber = 1'767'225'600;  // of the window of a second that starts then

class SlidingWindowTest : public RuleFixture {
 protected:
  SlidingWindowTest() : RuleFixture("10/s,sliding") {}
};

TEST_F(SlidingWindowTest, FirstTokenCountsUntilTheEndOfTheNextWindow) {
  Expect({{milliseconds{250}, 1, Allowed(9, milliseconds{1750})},
          {milliseconds{999}, 0, Allowed(9, milliseconds{1001})},
          {milliseconds{1001}, 0, Allowed(9, milliseconds{999})},
          {milliseconds{2000} - Nanos{1}, 0, Allowed(9, Nanos{1})},
          {milliseconds{2000}, 0, Allowed(10, seconds{0})}});
}

TEST_F(SlidingWindowTest, WindowBeforeFades) {
  Expect({{milliseconds{0}, 10, Allowed(0, seconds{2})},
          {milliseconds{500}, 1, Denied(0, milliseconds{600}, milliseconds{1500})},
          {milliseconds{1000}, 1, Denied(0, milliseconds{100}, seconds{1})},
          {milliseconds{1100} - Nanos{1}, 1, Denied(0, Nanos{1}, milliseconds{900} + Nanos{1})},
          {milliseconds{1100}, 1, Allowed(0, milliseconds{1900})},
          {milliseconds{1500}, 1, Allowed(3, milliseconds{1500})},
          {milliseconds{1500}, 4, Denied(3, milliseconds{100}, milliseconds{1500})},
          {milliseconds{1600}, 4, Allowed(0, milliseconds{1400})}});
}

// 6 tokens are in use in this window, which ends and fades by a third until 6 more fit.
TEST_F(SlidingWindowTest, WaitCrossesTheEndOfTheWindow) {
  Expect({{milliseconds{0}, 6, Allowed(4, seconds{2})},
          {milliseconds{200}, 6, Denied(4, Nanos{1'133'333'334}, milliseconds{1800})},
          {Nanos{1'333'333'333}, 6, Denied(5, Nanos{1}, Nanos{666'666'667})},
          {Nanos{1'333'333'334}, 6, Allowed(0, Nanos{1'666'666'666})}});
}

TEST_F(SlidingWindowTest, WholeCountNeedsTwoWindowsToPass) {
  Expect({{milliseconds{300}, 1, Allowed(9, milliseconds{1700})},
          {milliseconds{300}, 10, Denied(9, milliseconds{1700}, milliseconds{1700})},
          {milliseconds{2000} - Nanos{1}, 10, Denied(9, Nanos{1}, Nanos{1})},
          {milliseconds{2000}, 10, Allowed(0, seconds{2})}});
}

TEST_F(SlidingWindowTest, FractionsAreCompared) {
  Use("3/s,sliding");
  Expect({{Nanos{0}, 3, Allowed(0, seconds{2})},
          {Nanos{1'000'000'000}, 1, Denied(0, Nanos{333'333'334}, seconds{1})},
          {Nanos{1'333'333'333}, 1, Denied(0, Nanos{1}, Nanos{666'666'667})},
          {Nanos{1'333'333'334}, 1, Allowed(0, Nanos{1'666'666'666})},
          {Nanos{1'666'666'666}, 1, Denied(0, Nanos{1}, Nanos{1'333'333'334})},
          {Nanos{1'666'666'667}, 1, Allowed(0, Nanos{1'333'333'333})}});
}

// As the header says: the estimate is bounded, and a period that is not a window may exceed the
// count.
TEST_F(SlidingWindowTest, NearlyTwiceTheCountFallsInOnePeriod) {
  Expect({{seconds{1} - Nanos{1}, 10, Allowed(0, seconds{1} + Nanos{1})},
          {seconds{2} - Nanos{2}, 9, Allowed(0, seconds{1} + Nanos{2})}});
}

TEST_F(SlidingWindowTest, PauseOfTwoWindowsForgetsEverything) {
  Expect({{milliseconds{999}, 10, Allowed(0, milliseconds{1001})},
          {milliseconds{2000}, 10, Allowed(0, milliseconds{2000})},
          {hours{100}, 10, Allowed(0, seconds{2})}});
}

TEST_F(SlidingWindowTest, CostAboveTheCountNeverPassesAndChargesNothing) {
  Expect({{seconds{0}, 4, Allowed(6, seconds{2})},
          {seconds{0}, 11, Denied(6, kNever, seconds{2})},
          {seconds{0}, INT64_MAX, Denied(6, kNever, seconds{2})},
          {seconds{0}, UINT64_MAX, Denied(6, kNever, seconds{2})},
          {seconds{0}, 6, Allowed(0, seconds{2})}});
}

TEST_F(SlidingWindowTest, CostOfZeroIsALook) {
  Expect({{seconds{0}, 10, Allowed(0, seconds{2})}});
  const Bucket empty = bucket_;
  Expect({{seconds{1}, 0, Allowed(0, seconds{1})}, {seconds{9}, 0, Allowed(10, seconds{0})}});
  EXPECT_EQ(bucket_, empty);
}

// Products of counts and periods reach 2^89.
TEST_F(SlidingWindowTest, GreatestCountAndLongestPeriod) {
  const absl::StatusOr<Limit> limit = Limit::Create(
      {.algorithm = Algorithm::kSlidingWindow, .count = kWindowCountMax, .period = kPeriodMax});
  ASSERT_TRUE(limit.ok());
  limit_ = *limit;
  const Instant start{8 * kPeriodMax};
  const std::int64_t half = (std::int64_t{1} << 30) - 1;  // floor(count / 2)
  EXPECT_EQ(Ask(start, kWindowCountMax), Allowed(0, 2 * kPeriodMax));
  EXPECT_EQ(Ask(start + kPeriodMax * 3 / 2, 0), Allowed(half, kPeriodMax / 2));
  EXPECT_EQ(Ask(start, kWindowCountMax), Denied(0, 2 * kPeriodMax, 2 * kPeriodMax));
  // 2^58 / (2^31 - 1) is 2^27 and a little.
  EXPECT_EQ(Ask(start, 1), Denied(0, kPeriodMax + Nanos{(1 << 27) + 1}, 2 * kPeriodMax));
}

TEST_F(SlidingWindowTest, EndAndBeginningOfTime) {
  EXPECT_EQ(Ask(kInstantMax, 10).remaining, 0);
  EXPECT_FALSE(Ask(kInstantMax, 1).allowed);
  bucket_ = {};
  EXPECT_EQ(Ask(Instant{}, 10), Allowed(0, seconds{2}));
  EXPECT_EQ(Ask(Instant{}, 1), Denied(0, milliseconds{1100}, seconds{2}));
}

// A policy's count may be lowered under a bucket, and raised again.
TEST_F(SlidingWindowTest, LoweredCountLeavesADebtThatFades) {
  Expect({{seconds{0}, 8, Allowed(2, seconds{2})}});
  Change("4/s,sliding");
  Expect({{seconds{0}, 1, Denied(0, milliseconds{1625}, seconds{2})},
          {milliseconds{1625}, 1, Allowed(0, milliseconds{1375})}});
  Change("10/s,sliding");
  Expect({{milliseconds{1625}, 0, Allowed(6, milliseconds{1375})}});
}

// --- Time that goes back, and the clamp ---------------------------------------------------------

// At the start of that window nothing has faded, so nothing more passes.
TEST_F(SlidingWindowTest, WindowThatFollowsCountsAsTheCurrentOne) {
  bucket_ = BucketOf(SlidingWindow{kNumber + 1, 3, 6});
  Expect({{milliseconds{1500}, 0, Allowed(4, milliseconds{1500})},
          {milliseconds{1000}, 0, Allowed(1, milliseconds{2000})},
          {milliseconds{900}, 0, Allowed(1, milliseconds{2100})},
          {milliseconds{0}, 2, Denied(1, Nanos{1'166'666'667}, seconds{3})},
          {milliseconds{0}, 8, Denied(1, Nanos{2'333'333'334}, seconds{3})},
          {milliseconds{0}, 1, Allowed(0, seconds{3})}});
  EXPECT_EQ(SlidingWindowOf(bucket_), (SlidingWindow{kNumber + 1, 4, 6}));
}

TEST_F(SlidingWindowTest, LaterNumberThanThatIsCutToThePresentWindow) {
  bucket_ = BucketOf(SlidingWindow{kNumber + 2, 3, 6});
  Expect({{milliseconds{500}, 5, Denied(4, Nanos{166'666'667}, milliseconds{1500})}});
  EXPECT_EQ(SlidingWindowOf(bucket_), (SlidingWindow{kNumber, 3, 6}));
}

TEST_F(SlidingWindowTest, ForeignBucketDelaysByTwoPeriodsAtMost) {
  bucket_ = {kNumber + 2, UINT32_MAX, UINT32_MAX};
  Expect({{seconds{0}, 10, Denied(0, seconds{2}, seconds{2})}});
  EXPECT_EQ(SlidingWindowOf(bucket_), (SlidingWindow{kNumber, 20, 20}));
  Expect({{seconds{2}, 10, Allowed(0, seconds{2})}});
}

TEST_F(SlidingWindowTest, PermanentDenialStoresTheCutAndALookDoesNot) {
  const Bucket foreign = BucketOf(SlidingWindow{kNumber + 1000, 3, 60});
  bucket_ = foreign;
  Expect({{milliseconds{500}, 0, Allowed(0, milliseconds{1500})}});
  EXPECT_EQ(bucket_, foreign);
  Expect({{milliseconds{500}, 11, Denied(0, kNever, milliseconds{1500})}});
  EXPECT_EQ(SlidingWindowOf(bucket_), (SlidingWindow{kNumber, 3, 20}));
}

// 2^31 windows of a millisecond are 24 days; an older number looks like a later one.
TEST_F(SlidingWindowTest, NumberThatCameRoundDelaysByTwoPeriodsAtMost) {
  Use("10/ms,sliding");
  Expect({{milliseconds{0}, 10, Allowed(0, milliseconds{2})}});
  const milliseconds round{std::int64_t{1} << 31};
  EXPECT_TRUE(IsSlidingWindowFull(limit_, bucket_, kNow + round));
  EXPECT_FALSE(IsSlidingWindowFull(limit_, bucket_, kNow + round + milliseconds{1}));
  Expect({{round + milliseconds{1}, 10, Denied(0, milliseconds{2}, milliseconds{2})},
          {round + milliseconds{3}, 10, Allowed(0, milliseconds{2})}});
}

TEST_F(SlidingWindowTest, NumbersAreComparedAroundTheirEnd) {
  Use("10/ms,sliding");
  const Nanos last = milliseconds{UINT32_MAX - (kNumber * 1000ULL & UINT32_MAX)};
  Expect({{last, 10, Allowed(0, milliseconds{2})}});
  EXPECT_EQ(SlidingWindowOf(bucket_).number, UINT32_MAX);
  Expect({{last + Nanos{1'500'000}, 5, Allowed(0, Nanos{1'500'000})}});
  EXPECT_EQ(SlidingWindowOf(bucket_), (SlidingWindow{0, 5, 10}));
  Expect({{last, 0, Allowed(0, milliseconds{3})}});
}

TEST_F(SlidingWindowTest, AbsentBucketIsNoWindowThatIsYetToCome) {
  Use("10/ms,sliding");
  for (const std::int64_t number : {0L, 1L, 0x7FFFFFFFL, 0x80000000L, 0xFFFFFFFFL, 0x100000000L}) {
    bucket_ = {};
    const Instant now{milliseconds{number}};
    EXPECT_EQ(Ask(now, 10), Allowed(0, milliseconds{2}));
    EXPECT_EQ(SlidingWindowOf(bucket_).number, static_cast<std::uint32_t>(number));
  }
}

// --- Refunds ------------------------------------------------------------------------------------

TEST_F(SlidingWindowTest, RefundTakesFromThisWindowOnly) {
  bucket_ = BucketOf(SlidingWindow{kNumber, 3, 6});
  Refund(milliseconds{500}, 2);
  EXPECT_EQ(SlidingWindowOf(bucket_), (SlidingWindow{kNumber, 1, 6}));
  Refund(milliseconds{500}, UINT64_MAX);
  EXPECT_EQ(SlidingWindowOf(bucket_), (SlidingWindow{kNumber, 0, 6}));
  Expect({{milliseconds{500}, 0, Allowed(7, milliseconds{500})}});
}

TEST_F(SlidingWindowTest, RefundInTheNextWindowGivesNothing) {
  Expect({{milliseconds{500}, 4, Allowed(6, milliseconds{1500})}});
  const Bucket before = bucket_;
  Refund(milliseconds{1000}, 4);
  EXPECT_EQ(bucket_, before);
  Refund(milliseconds{1000} - Nanos{1}, 4);
  EXPECT_EQ(bucket_, Bucket{});
}

TEST_F(SlidingWindowTest, RefundCreatesNothing) {
  Refund(seconds{0}, 1);
  EXPECT_EQ(bucket_, Bucket{});
}

TEST_F(SlidingWindowTest, RefundCutsAForeignNumber) {
  bucket_ = BucketOf(SlidingWindow{kNumber + 5, 30, 60});
  Refund(seconds{0}, 1);
  EXPECT_EQ(SlidingWindowOf(bucket_), (SlidingWindow{kNumber, 19, 20}));
}

// --- Bytes --------------------------------------------------------------------------------------

TEST_F(SlidingWindowTest, BucketKeepsItsWindow) {
  EXPECT_EQ(BucketOf(SlidingWindow{7, 8, 9}), (Bucket{7, 8, 9}));
  const SlidingWindow greatest{UINT32_MAX, INT32_MAX, UINT32_MAX};
  EXPECT_EQ(SlidingWindowOf(BucketOf(greatest)), greatest);
}

TEST_F(SlidingWindowTest, SpareBitIsKeptByADenialAndNotByACharge) {
  Expect({{seconds{0}, 9, Allowed(1, seconds{2})}});
  bucket_.high |= kBucketSpareBit;
  const Bucket with_bit = bucket_;
  Expect({{seconds{0}, 2, Denied(1, milliseconds{1112} - Nanos{888'888}, seconds{2})}});
  EXPECT_EQ(bucket_, with_bit);
  Expect({{seconds{0}, 1, Allowed(0, seconds{2})}});
  EXPECT_EQ(bucket_, (Bucket{kNumber, 10, 0}));
}

TEST_F(SlidingWindowTest, FullWhenTheWindowAfterIsOver) {
  const Bucket used = BucketOf(SlidingWindow{kNumber, 1, 0});
  EXPECT_FALSE(IsSlidingWindowFull(limit_, used, kNow));
  EXPECT_FALSE(IsSlidingWindowFull(limit_, used, kNow + seconds{2} - Nanos{1}));
  EXPECT_TRUE(IsSlidingWindowFull(limit_, used, kNow + seconds{2}));
  const Bucket faded = BucketOf(SlidingWindow{kNumber, 0, 1});
  EXPECT_FALSE(IsSlidingWindowFull(limit_, faded, kNow + seconds{1} - Nanos{1}));
  EXPECT_TRUE(IsSlidingWindowFull(limit_, faded, kNow + seconds{1}));
  EXPECT_TRUE(IsSlidingWindowFull(limit_, {kNumber, kBucketSpareBit, 0}, kNow));
}

// --- Every nanosecond ---------------------------------------------------------------------------

// (used + cost) * period + before * overlap <= count * period, `at` ns after the start of the
// window that holds `used` and `before`.
bool Fits(std::int64_t at, std::int64_t count, std::int64_t used, std::int64_t before,
          std::int64_t cost) {
  constexpr std::int64_t kPeriod = Nanos{kSlidingPeriodMin}.count();
  if (at >= kPeriod) return at >= 2 * kPeriod || Fits(at - kPeriod, count, 0, used, cost);
  return (used + cost) * kPeriod + before * (kPeriod - at) <= count * kPeriod;
}

// Walks back through both windows from the instant at which all tokens are back, so that the first
// later instant at which the cost fits is always known. Asks only in the first window: the second
// one is the first of a later window.
void CheckEveryNanosecond(const Limit& limit, SlidingWindow window, std::int64_t cost) {
  const std::int64_t period = limit.shape().period.count();
  const std::int64_t count = limit.shape().count;
  const Bucket bucket = BucketOf(window);
  std::int64_t fits_from = 2 * period;
  for (std::int64_t at = 2 * period - 1; at >= 0; --at) {
    const bool fits = Fits(at, count, window.used, window.before, cost);
    if (fits) fits_from = at;
    if (at >= period) continue;
    const Decision got =
        DecideSlidingWindow(limit, bucket, kNow + Nanos{at}, static_cast<std::uint64_t>(cost))
            .decision;
    if (got.allowed == fits && got.retry_after == Nanos{fits_from - at}) continue;
    ADD_FAILURE() << limit << " with " << bucket << " at " << at << " ns, cost " << cost << ": "
                  << got << ", but it passes at " << fits_from << " ns";
    return;
  }
}

TEST(SlidingWindowExhaustiveTest, RetryAfterAtEveryNanosecond) {
  const std::int64_t count_max = std::min<std::int64_t>(Scaled(3), 5);
  const auto number = static_cast<std::uint32_t>(kNow.time_since_epoch() / kSlidingPeriodMin);
  for (std::int64_t count = 1; count <= count_max; ++count) {
    const absl::StatusOr<Limit> limit = Limit::Create(
        {.algorithm = Algorithm::kSlidingWindow, .count = count, .period = kSlidingPeriodMin});
    ASSERT_TRUE(limit.ok());
    for (std::uint32_t used = 0; used <= count; ++used) {
      for (std::uint32_t before = 0; before <= count; ++before) {
        for (std::int64_t cost = 1; cost <= count; ++cost)
          CheckEveryNanosecond(*limit, {number, used, before}, cost);
      }
    }
  }
}

}  // namespace
}  // namespace weir
