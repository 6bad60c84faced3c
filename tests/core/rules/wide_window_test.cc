// Goal: fixed windows count far beyond 32 bits, and each state has one form. Method: tables of the
// ways across the border between the narrow form of a bucket and the wide one, in both directions,
// with the bytes that they leave.
#include <chrono>
#include <cstdint>

#include "gtest/gtest.h"

#include "core/rules/fixed_window.h"
#include "core/rules/settlement.h"
#include "tests/core/rules/rule_fixture.h"
#include "tests/random/windows.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::int64_t kGiga = 1'000'000'000;
constexpr std::int64_t kNarrowMax = (std::int64_t{1} << 32) - 2;

Limit FixedOf(std::int64_t count, Nanos period = hours{1}, Nanos ban = Nanos{0}) {
  LimitShape shape = FixedShape(count, period);
  shape.ban = ban;
  return Limit::Create(shape).value();
}

// Numbers of a policy that share a bucket.
Limit Owned(std::int64_t count, Nanos ban = Nanos{0}) {
  return FixedOf(count, hours{1}, ban).OwnedBy({PolicyId{1}, 0}, {.ban = minutes{90}});
}

class WideWindowTest : public RuleFixture {
 protected:
  WideWindowTest() : RuleFixture("1/h,fixed") { Use(FixedOf(10 * kGiga)); }

  static Bucket Window(Nanos end, std::int64_t used) {
    return BucketOf(FixedWindow{kNow + end, used});
  }
  void Charge(Nanos at, std::uint64_t cost) {
    bucket_ = ChargeLimit(limit_, bucket_, kNow + at, cost, max_wait_);
  }
  [[nodiscard]] std::int64_t Used(Nanos at = Nanos{0}) const {
    return UsedTokens(limit_, bucket_, kNow + at, max_wait_);
  }
  [[nodiscard]] bool IsWide() const { return HasSpareBit(bucket_); }
};

// --- Bytes --------------------------------------------------------------------------------------

TEST_F(WideWindowTest, FormIsThatOfTheTokens) {
  const Instant end{milliseconds{0x123'4567'89AB}};
  EXPECT_EQ(BucketOf(FixedWindow{end, kNarrowMax + 1}), (Bucket{0x9AB0'0000, 0x9234'5678, ~0U}));
  EXPECT_EQ(BucketOf(FixedWindow{end, 0xF'EDCB'A987'6543}),
            (Bucket{0x9ABF'EDCB, 0x9234'5678, 0xA987'6543}));
  EXPECT_FALSE(HasSpareBit(BucketOf(FixedWindow{end, kNarrowMax})));
  const Bucket banned = BucketOf(FixedWindow{end, kBannedUsed});
  EXPECT_FALSE(HasSpareBit(banned));
  EXPECT_EQ(banned.extra, kBannedExtra);
  for (const std::int64_t used : {std::int64_t{0}, kWindowCountMax, kNarrowMax, kNarrowMax + 1,
                                  kNarrowMax + 2, 2 * kFixedCountMax, kBannedUsed}) {
    EXPECT_EQ(FixedWindowOf(BucketOf(FixedWindow{end, used})), (FixedWindow{end, used}));
  }
}

TEST_F(WideWindowTest, WideEndIsRoundedUp) {
  const auto end_of = [](Nanos end) {
    return FixedWindowOf(BucketOf(FixedWindow{Instant{end}, kNarrowMax + 1})).end;
  };
  EXPECT_EQ(end_of(milliseconds{7}), Instant{milliseconds{7}});
  EXPECT_EQ(end_of(milliseconds{7} - Nanos{1}), Instant{milliseconds{7}});
  EXPECT_EQ(end_of(milliseconds{6} + Nanos{1}), Instant{milliseconds{7}});
}

TEST_F(WideWindowTest, OtherBytesHaveNoForm) {
  const Bucket wide = Window(hours{1}, 5 * kGiga);
  EXPECT_TRUE(HasFormOf(limit_, wide));
  EXPECT_FALSE(HasFormOf(LimitOf("10/h"), wide));
  EXPECT_FALSE(HasFormOf(LimitOf("10/h,sliding"), wide));
  EXPECT_FALSE(HasFormOf(LimitOf("10,held"), wide));
  EXPECT_FALSE(HasFormOf(limit_, {wide.low & 0xFFF0'0000, wide.high, ~0U - 1})) << "2^32 - 2";
  EXPECT_TRUE(HasFormOf(limit_, {wide.low & 0xFFF0'0000, wide.high, ~0U}));
}

// --- Every way across the border ----------------------------------------------------------------

TEST_F(WideWindowTest, Decisions) {
  Expect({{seconds{0}, 3 * kGiga, Allowed(7 * kGiga, hours{1})}});
  EXPECT_FALSE(IsWide());
  Expect({{seconds{1}, 3 * kGiga, Allowed(4 * kGiga, hours{1} - seconds{1})}});
  EXPECT_EQ(bucket_, Window(hours{1}, 6 * kGiga));
  EXPECT_TRUE(IsWide());
  const Bucket before = bucket_;
  Expect({{seconds{2}, 3 * kGiga, Allowed(kGiga, hours{1} - seconds{2})},
          {seconds{3}, 3 * kGiga, Denied(kGiga, hours{1} - seconds{3}, hours{1} - seconds{3})},
          {seconds{3}, 10 * kGiga + 1, Denied(kGiga, kNever, hours{1} - seconds{3})},
          {hours{1} - Nanos{1}, 3 * kGiga, Denied(kGiga, Nanos{1}, Nanos{1})}});
  EXPECT_NE(bucket_, before);
  Expect({{hours{1}, 10 * kGiga, Allowed(0, hours{1})}});
}

TEST_F(WideWindowTest, OneTokenMoreAndBackAgain) {
  Expect({{seconds{0}, kNarrowMax, Allowed(10 * kGiga - kNarrowMax, hours{1})}});
  const Bucket narrow = bucket_;
  EXPECT_FALSE(IsWide());
  Expect({{seconds{1}, 1, Allowed(10 * kGiga - kNarrowMax - 1, hours{1} - seconds{1})}});
  EXPECT_TRUE(IsWide());
  const Bucket wide = bucket_;
  Refund(seconds{2}, 1);
  EXPECT_EQ(bucket_, narrow);
  Charge(seconds{3}, 1);
  EXPECT_EQ(bucket_, wide);
  Refund(seconds{4}, UINT64_MAX);
  EXPECT_EQ(bucket_, Bucket{});
}

TEST_F(WideWindowTest, ChargesLeaveADebtOfTheCount) {
  Use(FixedOf(kFixedCountMax));
  Charge(seconds{0}, UINT64_MAX);
  EXPECT_EQ(bucket_, Window(hours{1}, 2 * kFixedCountMax));
  EXPECT_EQ(Used(), 2 * kFixedCountMax);
  Charge(seconds{0}, 1);
  EXPECT_EQ(bucket_, Window(hours{1}, 2 * kFixedCountMax));
  Expect({{seconds{0}, 1, Denied(0, hours{1}, hours{1})}});
  Refund(seconds{0}, static_cast<std::uint64_t>(kFixedCountMax) + 1);
  Expect({{seconds{0}, 1, Allowed(0, hours{1})}});
  Use(FixedOf(kWindowCountMax));
  Charge(seconds{0}, UINT64_MAX);
  EXPECT_EQ(bucket_, Window(hours{1}, kNarrowMax));
  EXPECT_FALSE(IsWide()) << "no charge of a lesser count needs more";
}

TEST_F(WideWindowTest, Settlements) {
  const Estimate estimate = EstimateOf(
      limit_, DecideLimit(limit_, Bucket{}, kNow, 4 * kGiga, max_wait_).bucket, 4 * kGiga, {});
  bucket_ = estimate.left;
  Charge(seconds{1}, 4 * kGiga);
  EXPECT_TRUE(IsWide());
  SettlementSums sums;
  const auto settle = [&](std::uint64_t cost) {
    return SettleLimit(limit_, bucket_, kNow + seconds{2}, estimate, cost, max_wait_, sums);
  };
  EXPECT_EQ(settle(0), Window(hours{1}, 4 * kGiga));
  EXPECT_EQ(settle(4 * kGiga), bucket_);
  EXPECT_EQ(settle(5 * kGiga), Window(hours{1}, 9 * kGiga));
}

// A cost that was cut off is counted whole, so that a settlement does not give it back.
TEST_F(WideWindowTest, CutOffChargesAreCountedWhole) {
  SettlementSums sums;
  Charge(seconds{0}, 15 * kGiga);
  const Bucket before = bucket_;
  Charge(seconds{0}, 12 * kGiga);
  CountCharge(limit_, before, bucket_, kNow, 12 * kGiga, max_wait_, sums);
  EXPECT_EQ(sums.cut_off, 7U * kGiga);
  CountRefund(limit_, bucket_, Bucket{}, kNow, max_wait_, sums);
  EXPECT_EQ(sums.given_back, 20U * kGiga);
}

TEST_F(WideWindowTest, ForeignWindowIsCut) {
  bucket_ = Window(hours{2} + Nanos{1}, 19 * kGiga);
  Expect({{seconds{0}, 0, Allowed(0, hours{1})}, {seconds{0}, 1, Denied(0, hours{1}, hours{1})}});
  EXPECT_EQ(bucket_, Window(hours{1}, 19 * kGiga));
  bucket_ = Window(hours{3}, 30 * kGiga);
  Expect({{seconds{0}, 1, Denied(0, hours{1}, hours{1})}});
  EXPECT_EQ(bucket_, Window(hours{1}, 20 * kGiga));
  bucket_ = Window(hours{3}, kBannedUsed);
  Expect({{seconds{0}, 1, Denied(0, hours{1}, hours{1})}});
  EXPECT_EQ(bucket_, Window(hours{1}, 20 * kGiga)) << "no ban";
}

TEST_F(WideWindowTest, LoweredAndRaisedNumbers) {
  Use(Owned(10 * kGiga));
  Expect({{seconds{0}, 6 * kGiga, Allowed(4 * kGiga, hours{1})}});
  const Bucket wide = bucket_;
  limit_ = Owned(1000);
  Expect({{seconds{1}, 1, Denied(0, hours{1} - seconds{1}, hours{1} - seconds{1})}});
  Charge(seconds{1}, 1);
  EXPECT_EQ(bucket_, wide) << "a debt beyond twice the count stays";
  EXPECT_EQ(Used(seconds{1}), 6 * kGiga);
  Refund(seconds{2}, 2 * kGiga);
  EXPECT_EQ(bucket_, Window(hours{1}, 4 * kGiga));
  EXPECT_FALSE(IsWide());
  limit_ = Owned(10 * kGiga);
  Expect({{seconds{3}, 6 * kGiga, Allowed(0, hours{1} - seconds{3})}});
  EXPECT_EQ(bucket_, Window(hours{1}, 10 * kGiga));
  bucket_ = TrimLimit(limit_, Owned(1000), bucket_, kNow + seconds{4}, max_wait_);
  EXPECT_EQ(bucket_, Window(hours{1}, 1000));
}

// Only if the count is raised in an open window does the form change its end.
TEST_F(WideWindowTest, RaisedCountMovesAnOpenWindowsEndByLessThanAMillisecond) {
  Use(Owned(kGiga));
  Expect({{Nanos{1}, kGiga, Allowed(0, hours{1})}});
  const Estimate estimate = EstimateOf(limit_, bucket_, kGiga, {});
  limit_ = Owned(10 * kGiga);
  Expect({{Nanos{1}, kGiga, Allowed(8 * kGiga, hours{1})}});
  EXPECT_EQ(bucket_, Window(hours{1} + Nanos{1}, 2 * kGiga));
  Charge(Nanos{1}, 4 * kGiga);
  EXPECT_EQ(bucket_, Window(hours{1} + milliseconds{1}, 6 * kGiga));
  SettlementSums sums;
  bucket_ = SettleLimit(limit_, bucket_, kNow + Nanos{2}, estimate, 0, max_wait_, sums);
  EXPECT_EQ(Used(), 5 * kGiga) << "it is the reservation's window still";
}

TEST_F(WideWindowTest, ACountThatIsRaisedAndLoweredEndsNoReservation) {
  Use(Owned(kGiga));
  Expect({{Nanos{1}, kGiga / 2, Allowed(kGiga / 2, hours{1})}});
  const Estimate first = EstimateOf(limit_, bucket_, kGiga / 2, {});
  limit_ = Owned(10 * kGiga);
  const Nanos left = hours{1} + milliseconds{1} - Nanos{1};
  Expect({{Nanos{1}, 5 * kGiga, Allowed(9 * kGiga / 2, left)}});
  Expect({{Nanos{1}, 0, Allowed(9 * kGiga / 2, left)}});
  const Estimate second = EstimateOf(limit_, bucket_, 5 * kGiga, {});
  SettlementSums sums;
  bucket_ = SettleLimit(limit_, bucket_, kNow + Nanos{2}, second, 0, max_wait_, sums);
  EXPECT_EQ(bucket_, Window(hours{1} + milliseconds{1}, kGiga / 2)) << "narrow, as it was";
  limit_ = Owned(kGiga);
  bucket_ = SettleLimit(limit_, bucket_, kNow + Nanos{3}, first, 0, max_wait_, sums);
  EXPECT_EQ(Used(), 0);
}

// So that thousands of such charges leave room in the sum.
TEST_F(WideWindowTest, AChargeThatIsCutCountsAtMostWhatIsUsed) {
  Use(Owned(1'000));
  SettlementSums sums;
  for (int i = 1; i <= 3; ++i) {
    const std::uint64_t cost = 9'000'000'000'000'000;
    const Bucket charged = ChargeLimit(limit_, bucket_, kNow, cost, max_wait_);
    CountCharge(limit_, bucket_, charged, kNow, cost, max_wait_, sums);
    bucket_ = charged;
    EXPECT_EQ(sums.cut_off, static_cast<std::uint64_t>(i) * 2'000);
  }
}

TEST_F(WideWindowTest, BansAreNarrow) {
  Use(FixedOf(10 * kGiga, hours{1}, minutes{90}));
  Expect({{seconds{0}, 9 * kGiga, Allowed(kGiga, hours{1})},
          {seconds{1}, 2 * kGiga, Denied(kGiga, hours{1} - seconds{1}, hours{1} - seconds{1})}});
  bucket_ = BanLimit(limit_, bucket_, kNow + Nanos{1}, max_wait_);
  EXPECT_EQ(bucket_, Window(minutes{90} + Nanos{1}, kBannedUsed));
  const Bucket banned = bucket_;
  Charge(seconds{2}, 20 * kGiga);
  Refund(seconds{2}, 20 * kGiga);
  EXPECT_EQ(bucket_, banned);
  EXPECT_EQ(TrimLimit(limit_, limit_, banned, kNow, max_wait_), banned);
  EXPECT_EQ(Used(seconds{2}), 10 * kGiga);
  Expect({{minutes{90}, 1, Denied(0, Nanos{1}, Nanos{1})}});
  EXPECT_EQ(BanLeft(limit_, bucket_, kNow + minutes{90}, max_wait_), Nanos{1});
  Expect({{minutes{90} + milliseconds{1}, 10 * kGiga, Allowed(0, hours{1})}});
}

// --- Ends ---------------------------------------------------------------------------------------

TEST_F(WideWindowTest, WindowEndsOnAWholeMillisecond) {
  Use(FixedOf(kWindowCountMax + 1));
  Expect({{Nanos{1}, 1, Allowed(kWindowCountMax, hours{1} + milliseconds{1} - Nanos{1})},
          {hours{1} + Nanos{1}, kWindowCountMax + 1,
           Denied(kWindowCountMax, milliseconds{1} - Nanos{1}, milliseconds{1} - Nanos{1})},
          {hours{1} + milliseconds{1}, kWindowCountMax + 1, Allowed(0, hours{1})}});
  Use(FixedOf(kWindowCountMax));
  Expect({{Nanos{1}, 1, Allowed(kWindowCountMax - 1, hours{1})}});
}

// The end of a window that seems to open a period later is believed, although it is rounded.
TEST_F(WideWindowTest, TimeMayGoBackByAPeriod) {
  Expect({{hours{1} + Nanos{1}, 10 * kGiga, Allowed(0, hours{1} + milliseconds{1} - Nanos{1})}});
  const Bucket before = bucket_;
  const Nanos wait = hours{2} + milliseconds{1} - Nanos{1};
  Expect({{Nanos{1}, 1, Denied(0, wait, wait)}});
  EXPECT_EQ(bucket_, before);
}

}  // namespace
}  // namespace weir
