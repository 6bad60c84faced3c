// Goal: the token bucket answers as documented. Method: examples, each a table of (when, cost) ->
// decision that a reader can check with pencil and paper.
#include "core/rules/token_bucket.h"

#include <chrono>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "tests/core/rules/rule_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint32_t kSpareBit = kBucketSpareBit;

class TokenBucketTest : public RuleFixture {
 protected:
  TokenBucketTest() : RuleFixture("10/s") {}

  // Asks for single tokens from `from` on, each as soon as it is available; returns how many passed
  // before `until`.
  int TakeGreedily(Nanos from, Nanos until) {
    int passed = 0;
    for (Nanos at = from; at < until;) {
      const Decision decision = Ask(kNow + at, 1);
      if (decision.allowed) ++passed;
      at += decision.retry_after;
    }
    return passed;
  }

  ExactNanos Tat() const { return TatOf(bucket_, limit_.emission().denominator); }
};

TEST_F(TokenBucketTest, FirstTokenOfTenASecond) {
  Expect({{Nanos{0}, 1, Allowed(9, milliseconds{100})}});
}

TEST_F(TokenBucketTest, FirstTokenOfAThousandAnHour) {
  Use("1000/h");
  Expect({{Nanos{0}, 1, Allowed(999, milliseconds{3600})}});
}

TEST_F(TokenBucketTest, BurstThenOneTokenAtATime) {
  Use("5/m");
  Expect({{seconds{0}, 1, Allowed(4, seconds{12})},
          {seconds{0}, 1, Allowed(3, seconds{24})},
          {seconds{0}, 1, Allowed(2, seconds{36})},
          {seconds{0}, 1, Allowed(1, seconds{48})},
          {seconds{0}, 1, Allowed(0, seconds{60})},
          {seconds{0}, 1, Denied(0, seconds{12}, seconds{60})},
          {seconds{5}, 1, Denied(0, seconds{7}, seconds{55})},
          {seconds{12} - Nanos{1}, 1, Denied(0, Nanos{1}, seconds{48} + Nanos{1})},
          {seconds{12}, 1, Allowed(0, seconds{60})},
          {seconds{36}, 3, Denied(2, seconds{12}, seconds{36})},
          {seconds{36}, 2, Allowed(0, seconds{60})}});
}

TEST_F(TokenBucketTest, BurstIsSavedUpAndNotMore) {
  Use("10/s,burst=50");
  Expect({{hours{0}, 50, Allowed(0, seconds{5})},
          {hours{24}, 51, Denied(50, kNever, Nanos{0})},
          {hours{24}, 50, Allowed(0, seconds{5})},
          {hours{24}, 1, Denied(0, milliseconds{100}, seconds{5})}});
}

TEST_F(TokenBucketTest, DrainedBucketHoldsTheBurstAfterAPause) {
  Use("5/s");
  Expect({{seconds{0}, 5, Allowed(0, seconds{1})},
          {seconds{2}, 6, Denied(5, kNever, Nanos{0})},
          {seconds{2}, 5, Allowed(0, seconds{1})},
          {seconds{2}, 1, Denied(0, milliseconds{200}, seconds{1})}});
}

TEST_F(TokenBucketTest, ThreeASecondIsNeitherTwoNorFour) {
  Use("3/s");
  Expect({{Nanos{0}, 1, Allowed(2, Nanos{333'333'334})},
          {Nanos{0}, 1, Allowed(1, Nanos{666'666'667})},
          {Nanos{0}, 1, Allowed(0, seconds{1})},
          {Nanos{0}, 1, Denied(0, Nanos{333'333'334}, seconds{1})},
          {Nanos{333'333'333}, 1, Denied(0, Nanos{1}, Nanos{666'666'667})},
          {Nanos{333'333'334}, 1, Allowed(0, seconds{1})},
          {Nanos{666'666'666}, 1, Denied(0, Nanos{1}, Nanos{666'666'668})},
          {Nanos{666'666'667}, 1, Allowed(0, seconds{1})},
          {Nanos{1'000'000'000}, 1, Allowed(0, seconds{1})}});
}

TEST_F(TokenBucketTest, GreedGetsThreeASecondForever) {
  Use("3/s");
  EXPECT_EQ(TakeGreedily(seconds{0}, seconds{1}),
            5);  // The burst, and what came back at 1/3 and 2/3.
  EXPECT_EQ(TakeGreedily(seconds{1}, seconds{2}), 3);
  EXPECT_EQ(TakeGreedily(seconds{2}, minutes{2}), 118 * 3);
}

TEST_F(TokenBucketTest, GreedGetsThreeHundredMillionASecond) {
  Use("300M/s,burst=2");  // 3 1/3 ns a token.
  EXPECT_EQ(TakeGreedily(Nanos{0}, Nanos{100'000}), 2 + 29'999);
}

TEST_F(TokenBucketTest, FractionOfAPrime) {
  Use("999999937/s,burst=1");  // 1 63/999999937 ns a token.
  Expect({{Nanos{0}, 1, Allowed(0, Nanos{2})},
          {Nanos{0}, 1, Denied(0, Nanos{2}, Nanos{2})},
          {Nanos{1}, 1, Denied(0, Nanos{1}, Nanos{1})},
          {Nanos{2}, 1, Allowed(0, Nanos{2})}});
}

TEST_F(TokenBucketTest, CostAboveTheBurstNeverPassesAndChargesNothing) {
  Expect({{Nanos{0}, 4, Allowed(6, milliseconds{400})},
          {Nanos{0}, 11, Denied(6, kNever, milliseconds{400})},
          {Nanos{0}, INT64_MAX, Denied(6, kNever, milliseconds{400})},
          {Nanos{0}, UINT64_MAX, Denied(6, kNever, milliseconds{400})},
          {Nanos{0}, 6, Allowed(0, seconds{1})}});
}

TEST_F(TokenBucketTest, CostOfZeroIsALook) {
  Expect({{Nanos{0}, 0, Allowed(10, Nanos{0})}});
  EXPECT_EQ(bucket_, Bucket{});
  Expect({{Nanos{0}, 10, Allowed(0, seconds{1})}});
  const Bucket empty = bucket_;
  Expect({{Nanos{0}, 0, Allowed(0, seconds{1})}, {seconds{9}, 0, Allowed(10, Nanos{0})}});
  EXPECT_EQ(bucket_, empty);
}

TEST_F(TokenBucketTest, GreatestCost) {
  Use("9223372036M/h");  // 2,562.05 tokens a nanosecond.
  const std::int64_t burst = limit_.shape().burst;
  Expect({{Nanos{0}, static_cast<std::uint64_t>(burst), Allowed(0, hours{1})},
          {hours{1} - Nanos{1}, static_cast<std::uint64_t>(burst),
           Denied(burst - 2563, Nanos{1}, Nanos{1})}});
}

// With a capacity of 2^60 ns and the last possible instant, every sum still fits.
TEST_F(TokenBucketTest, LongestLimitAtTheEndOfTime) {
  Use(TokenBucketOf(1, kPeriodMax, 4));
  EXPECT_EQ(Nanos{limit_.emission().capacity.whole}, kCapacityMax);
  EXPECT_EQ(Ask(kInstantMax, 4), Allowed(0, kCapacityMax));
  EXPECT_EQ(Ask(kInstantMax, 4), Denied(0, kCapacityMax, kCapacityMax));
  EXPECT_EQ(Ask(kInstantMax, 1), Denied(0, kPeriodMax, kCapacityMax));
}

TEST_F(TokenBucketTest, ForeignTimeAtTheEndOfTimeOnlyDelays) {
  Use(TokenBucketOf(1, kPeriodMax, 4));
  max_wait_ = kMaxWaitMax;
  bucket_ = BucketOfTat({INT64_MAX, 0});
  EXPECT_EQ(Ask(kInstantMax, 4), Denied(0, 2 * kCapacityMax, 2 * kCapacityMax));
}

TEST_F(TokenBucketTest, LongestDebtAtTheEndOfTime) {
  Use(TokenBucketOf(1, kPeriodMax, 4));
  bucket_ = ChargeTokenBucket(limit_, Bucket{}, kInstantMax, UINT64_MAX, kCapacityMax, Nanos{0});
  EXPECT_EQ(Ask(kInstantMax, 4), Denied(0, 2 * kCapacityMax, 2 * kCapacityMax));
  EXPECT_EQ(UsedInTokenBucket(limit_, bucket_, kInstantMax, kCapacityMax), 8);
}

// --- Charges ------------------------------------------------------------------------------------

// A charge of 10/s that leaves a debt: of a second, or of the longest wait if that is longer.
TEST_F(TokenBucketTest, AChargeLeavesADebtOfTheCapacityOrTheLongestWait) {
  Use("10/s");
  const auto used = [&](Bucket bucket) {
    return UsedInTokenBucket(limit_, bucket, kNow, seconds{60});
  };
  const auto charged = [&](Bucket bucket, std::uint64_t cost, Nanos max_wait) {
    return ChargeTokenBucket(limit_, bucket, kNow, cost, seconds{60}, max_wait);
  };
  const Bucket overdrawn = charged(Bucket{}, 14, Nanos{0});
  EXPECT_EQ(used(overdrawn), 14);
  EXPECT_EQ(used(charged(overdrawn, 6, Nanos{0})), 20);
  EXPECT_EQ(used(charged(overdrawn, 7, Nanos{0})), 20);
  EXPECT_EQ(used(charged(overdrawn, UINT64_MAX, milliseconds{999})), 20);
  EXPECT_EQ(used(charged(overdrawn, 100, milliseconds{1050})), 21);  // 20.5, rounded up
  EXPECT_EQ(used(charged(overdrawn, UINT64_MAX, seconds{60})), 610);
  // A debt that is deeper than a charge may leave is not lessened by one.
  const Bucket deep = charged(overdrawn, 100, seconds{60});
  EXPECT_EQ(charged(deep, 1, Nanos{0}), deep);
  EXPECT_EQ(charged(overdrawn, 0, Nanos{0}), overdrawn);
}

TEST_F(TokenBucketTest, BeginningOfTime) {
  EXPECT_EQ(Ask(Instant{}, 10), Allowed(0, seconds{1}));
  EXPECT_EQ(Ask(Instant{}, 1), Denied(0, milliseconds{100}, seconds{1}));
}

TEST_F(TokenBucketTest, TimeBackAndForthMakesNoToken) {
  Use("10/s");
  int passed = 0;
  for (int i = 0; i < 1000; ++i) passed += Ask(kNow + seconds{i % 2}, 1).allowed ? 1 : 0;
  EXPECT_EQ(passed, 1 + 10);  // One before the first jump, which fills the bucket; its burst.
}

// --- The clamp ----------------------------------------------------------------------------------

// An hour beyond the latest time that any reservation could have stored.
class TokenBucketClampTest : public TokenBucketTest {
 protected:
  TokenBucketClampTest() { bucket_ = foreign_; }

  const Bucket foreign_ = BucketOfTat({(kNow + hours{1}).time_since_epoch().count(), 0});
  const ExactNanos cut_{(kNow + seconds{61}).time_since_epoch().count(),
                        0};  // now + capacity + max_wait
};

TEST_F(TokenBucketClampTest, ForeignTimeDelaysByAtMostTheLongestWait) {
  Expect({{seconds{0}, 1, Denied(0, seconds{60} + milliseconds{100}, seconds{61})},
          {seconds{60} + milliseconds{100}, 1, Allowed(0, seconds{1})}});
}

TEST_F(TokenBucketClampTest, DenialStoresTheCutTime) {
  Ask(kNow, 1);
  EXPECT_EQ(Tat(), cut_);
}

TEST_F(TokenBucketClampTest, PermanentDenialStoresTheCutTime) {
  EXPECT_EQ(Ask(kNow, 11), Denied(0, kNever, seconds{61}));
  EXPECT_EQ(Tat(), cut_);
}

TEST_F(TokenBucketClampTest, LookReportsTheCutTimeAndStoresNothing) {
  EXPECT_EQ(Ask(kNow, 0), Allowed(0, seconds{61}));
  EXPECT_EQ(bucket_, foreign_);
}

TEST_F(TokenBucketClampTest, WithoutWaitsABucketOwesABurstAtWorst) {
  max_wait_ = Nanos{0};
  Expect({{seconds{0}, 1, Denied(0, milliseconds{1100}, seconds{2})},
          {milliseconds{1100}, 1, Allowed(0, seconds{1})}});
}

TEST_F(TokenBucketClampTest, TimeThatAReservationLeadsToIsBelieved) {
  const ExactNanos reserved = cut_;
  bucket_ = BucketOfTat(reserved);
  Ask(kNow, 1);
  EXPECT_EQ(Tat(), reserved);
  bucket_ = BucketOfTat({reserved.whole + 1, 0});
  Ask(kNow, 1);
  EXPECT_EQ(Tat(), reserved);
}

TEST_F(TokenBucketClampTest, FractionOfTheCutTimeIsTheCapacitys) {
  Use("3/s,burst=1");
  bucket_ = foreign_;
  Ask(kNow, 1);
  const std::int64_t whole = (kNow + seconds{60}).time_since_epoch().count() + 333'333'333;
  EXPECT_EQ(Tat(), (ExactNanos{whole, 1}));
}

// --- Bytes --------------------------------------------------------------------------------------

TEST_F(TokenBucketTest, DamagedFractionReadsAsTheGreatest) {
  EXPECT_EQ(TatOf({7, 0, 2}, 3), (ExactNanos{7, 2}));
  EXPECT_EQ(TatOf({7, 0, 3}, 3), (ExactNanos{7, 2}));
  EXPECT_EQ(TatOf({7, 0, UINT32_MAX - 1}, 3), (ExactNanos{7, 2}));
  EXPECT_EQ(TatOf({7, 0, UINT32_MAX - 1}, 1), (ExactNanos{7, 0}));
  EXPECT_EQ(TatOf({7, 0, kBannedExtra}, 3), (ExactNanos{7, 0})) << "no fraction";
}

TEST_F(TokenBucketTest, BucketKeepsItsTime) {
  for (const ExactNanos tat :
       {ExactNanos{0, 0}, ExactNanos{1, 1}, ExactNanos{UINT32_MAX, 2},
        ExactNanos{std::int64_t{1} << 32, 0}, ExactNanos{INT64_MAX, UINT32_MAX - 1}}) {
    EXPECT_EQ(TatOf(BucketOfTat(tat), kDenominatorMax), tat);
  }
  EXPECT_EQ(BucketOfTat({0x1122334455667788, 9}), (Bucket{0x55667788, 0x11223344, 9}));
}

TEST_F(TokenBucketTest, SpareBitIsNoPartOfTheTime) {
  EXPECT_EQ(TatOf({7, kSpareBit | 1, 2}, 3), (ExactNanos{(std::int64_t{1} << 32) + 7, 2}));
  EXPECT_TRUE(IsTokenBucketFull({0, kSpareBit, 0}, Instant{}));
}

TEST_F(TokenBucketTest, DenialKeepsTheSpareBit) {
  Ask(kNow, 10);
  bucket_.high |= kSpareBit;
  const Bucket with_bit = bucket_;
  Expect({{Nanos{0}, 1, Denied(0, milliseconds{100}, seconds{1})}});
  EXPECT_EQ(bucket_, with_bit);
}

TEST_F(TokenBucketTest, FullFromItsTimeOn) {
  const std::int64_t now = kNow.time_since_epoch().count();
  EXPECT_TRUE(IsTokenBucketFull(Bucket{}, Instant{}));
  EXPECT_TRUE(IsTokenBucketFull(BucketOfTat({now, 0}), kNow));
  EXPECT_FALSE(IsTokenBucketFull(BucketOfTat({now, 1}), kNow));
  EXPECT_TRUE(IsTokenBucketFull(BucketOfTat({now, 1}), kNow + Nanos{1}));
  EXPECT_FALSE(IsTokenBucketFull(BucketOfTat({now + 1, 0}), kNow));
}

}  // namespace
}  // namespace weir
