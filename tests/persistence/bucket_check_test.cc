// Goal: every bucket that a rule can leave passes the check, and no bucket beyond the rules'
// promises does. Method: random histories under one limit, or under the changing limits of one
// owner, with time that also goes back; then, for each promise, the last bucket that keeps it and
// the first that breaks it.
#include "persistence/bucket_check.h"

#include <algorithm>

#include "gtest/gtest.h"

#include "core/rules/fixed_window.h"
#include "core/rules/rule.h"
#include "core/rules/sliding_window.h"
#include "tests/random/generators.h"
#include "tests/random/windows.h"
#include "tests/support/decide_or_ban.h"
#include "tests/support/fake_clock.h"
#include "tests/support/limit_shapes.h"

namespace weir {
namespace {

constexpr LimitOwner kPolicysFirst{PolicyId{5}, 0};

// Any limit with a bucket. Under an owner, all limits of one algorithm share an identity.
rc::Gen<Limit> AnyLimitWithBucket(Algorithm algorithm, bool aligned, Nanos period) {
  return rc::gen::exec([=] {
    if (algorithm == Algorithm::kTokenBucket) return *SometimesBan(AnyLimit());
    if (algorithm == Algorithm::kFixedWindow && !aligned && period < std::chrono::minutes{1}) {
      LimitShape month = LimitOf("9/month,tz=Europe/Berlin").shape();
      month.count = *AnyWindowCount(month);
      return Limit::Create(month).value();  // all of these share an identity, too
    }
    const LimitShape shape{.algorithm = algorithm, .aligned = aligned, .period = period};
    return *SometimesBan(
        rc::gen::just(WindowOf(algorithm, *AnyWindowCount(shape), period, aligned)));
  });
}

// Returns the bucket after a random request.
Bucket After(const Limit& limit, Bucket bucket, Instant now) {
  const auto cost = static_cast<std::uint64_t>(
      *rc::gen::oneOf(Between<std::int64_t>(0, 3), NumberUpTo(limit.capacity_tokens())));
  const Nanos max_wait{*rc::gen::element(std::int64_t{0}, kMaxWaitMax.count())};
  if (*Between(0, 4) == 0) return RefundLimit(limit, bucket, now, cost, max_wait);
  if (*Between(0, 4) == 0) return ChargeLimit(limit, bucket, now, 2 * cost, max_wait);
  const bool is_patient = limit.shape().algorithm == Algorithm::kTokenBucket;
  return DecideOrBan(limit, bucket, now, cost, max_wait, is_patient ? max_wait : Nanos{0}).bucket;
}

TEST(BucketCheckTest, BucketsOfTheRulesPass) {
  CheckLaw(3'000, [] {
    const auto algorithm = *rc::gen::element(Algorithm::kTokenBucket, Algorithm::kFixedWindow,
                                             Algorithm::kSlidingWindow);
    const bool aligned = algorithm == Algorithm::kFixedWindow && *rc::gen::arbitrary<bool>();
    const Nanos period{std::max(kSlidingPeriodMin.count(), *NumberUpTo(kPeriodMax.count()))};
    const bool has_owner = *rc::gen::arbitrary<bool>();
    Limit limit = *AnyLimitWithBucket(algorithm, aligned, period);
    Bucket bucket;
    for (int request = 0; request < 8; ++request) {
      if (has_owner) {
        limit = (*AnyLimitWithBucket(algorithm, aligned, period))
                    .OwnedBy(kPolicysFirst, {.ban = kPeriodMax});
      }
      bucket = After(limit, bucket, *AnyInstant());
      RC_ASSERT(CanHaveLeft(limit, bucket));
    }
  });
}

Bucket BucketAt(Instant full, std::uint32_t fraction) {
  return BucketOfTat({full.time_since_epoch().count(), fraction});
}

TEST(BucketCheckTest, ATokenBucketIsBoundedByItsLimit) {
  const Limit limit = LimitOf("3/s,burst=7");  // 1/3 s a token
  const Instant latest = kInstantMax + limit.capacity() + kMaxWaitMax;
  EXPECT_TRUE(CanHaveLeft(limit, BucketAt(latest, 2)));
  EXPECT_FALSE(CanHaveLeft(limit, BucketAt(latest + Nanos{1}, 0)));
  EXPECT_FALSE(CanHaveLeft(limit, BucketAt(latest, 3)));
  for (const LimitOwner owner : {kPolicysFirst, kThrottleOwner}) {
    const Limit owned = limit.OwnedBy(owner);
    const Instant latest_of_all = kInstantMax + 2 * kCapacityMax;
    EXPECT_TRUE(CanHaveLeft(owned, BucketAt(latest_of_all, kDenominatorMax - 1)));
    EXPECT_FALSE(CanHaveLeft(owned, BucketAt(latest_of_all + Nanos{1}, 0)));
    const Bucket mark = BucketAt(latest, kBannedExtra);
    EXPECT_EQ(CanHaveLeft(owned, mark), owner == kPolicysFirst) << "CL.THROTTLE has no bans";
  }
}

TEST(BucketCheckTest, AFixedWindowIsBoundedByItsLimit) {
  const Limit limit = LimitOf("10/h,fixed");
  const std::chrono::hours hour{1};
  const auto window = [](Instant end, std::int64_t used) {
    return BucketOf(FixedWindow{end, used});
  };
  EXPECT_TRUE(CanHaveLeft(limit, window(kInstantMax + hour, 20)));
  EXPECT_FALSE(CanHaveLeft(limit, window(kInstantMax + hour + Nanos{1}, 20)));
  EXPECT_FALSE(CanHaveLeft(limit, window(FakeClock::kStart, 21)));
  const Limit owned = limit.OwnedBy(kPolicysFirst);
  EXPECT_TRUE(CanHaveLeft(owned, window(FakeClock::kStart, 2 * kFixedCountMax)));
  EXPECT_FALSE(CanHaveLeft(owned, window(FakeClock::kStart, 2 * kFixedCountMax + 1)));
  EXPECT_TRUE(CanHaveLeft(owned, window(FakeClock::kStart, kBannedUsed))) << "a ban";
  constexpr Nanos kMilli = std::chrono::milliseconds{1};
  const Instant latest = std::chrono::ceil<std::chrono::milliseconds>(kInstantMax + hour);
  EXPECT_TRUE(CanHaveLeft(owned, window(latest, 10)));
  EXPECT_FALSE(CanHaveLeft(owned, window(latest + Nanos{1}, 10)));
  const Limit great = LimitOf("10G/h,fixed");
  EXPECT_TRUE(CanHaveLeft(great, window(latest, 20'000'000'000)));
  EXPECT_FALSE(CanHaveLeft(great, window(latest + kMilli, 20'000'000'000)));
  EXPECT_FALSE(CanHaveLeft(great, window(latest, 20'000'000'001)));
  EXPECT_FALSE(CanHaveLeft(limit, window(FakeClock::kStart, 5'000'000'000)));
  const Bucket wide = window(FakeClock::kStart, 5'000'000'000);
  for (const char* const other : {"10/h", "10/h,sliding"}) {
    EXPECT_FALSE(CanHaveLeft(LimitOf(other).OwnedBy(kPolicysFirst), wide)) << other;
  }
  for (const Limit& aligned :
       {LimitOf("10/h,fixed,aligned"), LimitOf("10/h,fixed,aligned").OwnedBy(kPolicysFirst)}) {
    EXPECT_TRUE(CanHaveLeft(aligned, window(FakeClock::kStart + hour, 1)));
    EXPECT_FALSE(CanHaveLeft(aligned, window(FakeClock::kStart + hour + Nanos{1}, 1)));
  }
}

// Any end may be one of an earlier zone database.
TEST(BucketCheckTest, ACalendarWindowIsBoundedByItsLimit) {
  const Limit limit = LimitOf("10/month,tz=Europe/Berlin");
  const auto window = [](Instant end, std::int64_t used) {
    return BucketOf(FixedWindow{end, used});
  };
  const Instant latest = kInstantMax + LongestWindow(CalendarUnit::kMonth);
  EXPECT_TRUE(CanHaveLeft(limit, window(latest, 10)));
  EXPECT_TRUE(CanHaveLeft(limit, window(FakeClock::kStart + Nanos{1}, 20)));
  EXPECT_FALSE(CanHaveLeft(limit, window(latest + Nanos{1}, 10)));
  EXPECT_FALSE(CanHaveLeft(limit, window(FakeClock::kStart, 21)));
  EXPECT_TRUE(CanHaveLeft(limit.OwnedBy(kPolicysFirst), window(latest, kWindowCountMax)));
}

TEST(BucketCheckTest, ABanIsBoundedByItsLimit) {
  const std::chrono::hours hour{1};
  const auto bucket = [](Instant full) { return BucketAt(full, kBannedExtra); };
  const Limit limit = LimitOf("3/s,burst=7,ban=240h");
  const Instant latest = kInstantMax + limit.capacity() + 240 * hour;
  EXPECT_TRUE(CanHaveLeft(limit, bucket(latest)));
  EXPECT_FALSE(CanHaveLeft(limit, bucket(latest + Nanos{1})));
  EXPECT_TRUE(CanHaveLeft(limit, BucketAt(latest, 2))) << "a ban that a refund has shortened";
  EXPECT_FALSE(CanHaveLeft(limit, BucketAt(latest, 3)));
  EXPECT_FALSE(CanHaveLeft(LimitOf("3/s,burst=7"), bucket(FakeClock::kStart)));
  EXPECT_TRUE(CanHaveLeft(LimitOf("3/s").OwnedBy(kPolicysFirst), bucket(latest)));

  const auto window = [](Instant end) { return BucketOf(FixedWindow{end, kBannedUsed}); };
  const Limit fixed = LimitOf("10/h,fixed,aligned,ban=240h");
  EXPECT_TRUE(CanHaveLeft(fixed, window(kInstantMax + 240 * hour)));
  EXPECT_FALSE(CanHaveLeft(fixed, window(kInstantMax + 240 * hour + Nanos{1})));
  EXPECT_FALSE(CanHaveLeft(LimitOf("10/h,fixed"), window(FakeClock::kStart)));
  EXPECT_TRUE(CanHaveLeft(LimitOf("10/h,fixed").OwnedBy(kPolicysFirst), window(FakeClock::kStart)));
}

TEST(BucketCheckTest, ASlidingWindowIsBoundedByItsLimit) {
  const Limit limit = LimitOf("10/h,sliding");
  const auto number =
      static_cast<std::uint32_t>(kInstantMax.time_since_epoch() / std::chrono::hours{1});
  const auto window = [](SlidingWindow bytes) { return BucketOf(bytes); };
  EXPECT_TRUE(CanHaveLeft(limit, window({number, 20, 20})));
  EXPECT_FALSE(CanHaveLeft(limit, window({number + 1, 1, 1})));
  EXPECT_FALSE(CanHaveLeft(limit, window({number, 21, 1})));
  EXPECT_FALSE(CanHaveLeft(limit, window({number, 1, 21})));
  const Limit owned = limit.OwnedBy(kPolicysFirst);
  EXPECT_TRUE(CanHaveLeft(owned, window({number, kWindowCountMax, kWindowCountMax})));
  EXPECT_FALSE(CanHaveLeft(owned, window({number, 1, kWindowCountMax + 1U})));
  EXPECT_TRUE(CanHaveLeft(LimitOf("10/s,sliding"), window({UINT32_MAX, 1, 1}))) << "modulo 2^32";
}

TEST(BucketCheckTest, APartOfAHoldIsBoundedByItsLimit) {
  const Limit limit = LimitOf("10/h,fixed");
  const auto left = [](std::uint32_t used) {
    return HoldPart{.cost = 5, .left = BucketOf(FixedWindow{FakeClock::kStart, used})};
  };
  EXPECT_TRUE(CanHaveReserved(limit, left(20)));
  EXPECT_TRUE(CanHaveReserved(limit, {.cost = 0})) << "a shadow that denied";
  EXPECT_FALSE(CanHaveReserved(limit, left(21)));
  const Limit held = *Limit::Create(HeldShape(7));
  EXPECT_TRUE(CanHaveReserved(held, {.cost = 7}));
  EXPECT_FALSE(CanHaveReserved(held, {.cost = 8}));
  EXPECT_TRUE(CanHaveReserved(held.OwnedBy(kPolicysFirst), {.cost = kWindowCountMax}));
  EXPECT_FALSE(CanHaveReserved(held.OwnedBy(kPolicysFirst), {.cost = kWindowCountMax + 1ULL}));
}

}  // namespace
}  // namespace weir
