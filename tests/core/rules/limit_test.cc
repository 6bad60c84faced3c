// Goal: a Limit exists exactly where its arithmetic is exact, and its emission interval and
// capacity are the true fractions. Method: the ends of every range; random shapes compared with
// rational numbers of unlimited size.
#include "core/rules/limit.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/hash/hash_testing.h"
#include "gmock/gmock.h"
#include <boost/multiprecision/cpp_int.hpp>
#include <rapidcheck.h>

#include "core/base/status.h"
#include "tests/random/property.h"
#include "tests/support/limit_shapes.h"

namespace weir {
namespace {

using ::testing::StartsWith;

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

constexpr std::int64_t kTwoTo32 = std::int64_t{1} << 32;

// The error of Limit::Create; empty if the limit exists.
std::string ErrorOf(const LimitShape& shape) {
  const absl::StatusOr<Limit> limit = Limit::Create(shape);
  if (limit.ok()) return "";
  EXPECT_EQ(limit.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(StdView(limit.status().message()));
}

Emission EmissionOf(const LimitShape& shape) { return Limit::Create(shape).value().emission(); }

TEST(LimitTest, KeepsItsShape) {
  const LimitShape shape = BucketShape(10, seconds{1}, 50);
  const Limit limit = Limit::Create(shape).value();
  EXPECT_EQ(limit.shape(), shape);
  EXPECT_EQ(limit.capacity_tokens(), 50);
  EXPECT_EQ(Limit::Create(FixedShape(10, seconds{1})).value().capacity_tokens(), 10);
  EXPECT_EQ(Limit::Create(SlidingShape(10, seconds{1})).value().capacity_tokens(), 10);
}

TEST(LimitTest, EmissionIsTheFractionInLowestTerms) {
  const Emission three_a_second = EmissionOf(BucketShape(3, seconds{1}, 5));
  EXPECT_EQ(three_a_second.period, 1'000'000'000);
  EXPECT_EQ(three_a_second.denominator, 3U);
  EXPECT_EQ(three_a_second.interval, (ExactNanos{333'333'333, 1}));
  EXPECT_EQ(three_a_second.capacity, (ExactNanos{1'666'666'666, 2}));

  const Emission ten_a_second = EmissionOf(BucketShape(10, seconds{1}, 10));
  EXPECT_EQ(ten_a_second.period, 100'000'000);
  EXPECT_EQ(ten_a_second.denominator, 1U);
  EXPECT_EQ(ten_a_second.interval, (ExactNanos{100'000'000, 0}));
  EXPECT_EQ(ten_a_second.capacity, (ExactNanos{1'000'000'000, 0}));

  // The interval is shorter than a nanosecond a token.
  const Emission seven_a_nano = EmissionOf(BucketShape(7'000, microseconds{1}, 1));
  EXPECT_EQ(seven_a_nano.period, 1);
  EXPECT_EQ(seven_a_nano.denominator, 7U);
  EXPECT_EQ(seven_a_nano.interval, (ExactNanos{0, 1}));
  EXPECT_EQ(seven_a_nano.capacity, (ExactNanos{0, 1}));
}

TEST(LimitTest, CountIsAtLeastOneAndAtMostWhatTheAlgorithmHolds) {
  EXPECT_EQ(ErrorOf(BucketShape(0, seconds{1}, 1)), "count must be 1 to 9223372036854775807");
  EXPECT_EQ(ErrorOf(BucketShape(-1, seconds{1}, 1)), "count must be 1 to 9223372036854775807");
  EXPECT_EQ(ErrorOf(BucketShape(INT64_MIN, seconds{1}, 1)),
            "count must be 1 to 9223372036854775807");
  EXPECT_EQ(ErrorOf(SlidingShape(0, seconds{1})), "count must be 1 to 2147483647 for a window");
  EXPECT_EQ(ErrorOf(SlidingShape(1, seconds{1})), "");
  EXPECT_EQ(ErrorOf(SlidingShape(2'147'483'647, seconds{1})), "");
  EXPECT_EQ(ErrorOf(SlidingShape(2'147'483'648, seconds{1})),
            "count must be 1 to 2147483647 for a window");
}

// Those of a fixed window fit into 51 bits, if its ends do into whole milliseconds.
TEST(LimitTest, CountOfAFixedWindowIsAtMostWhatItsWideFormHolds) {
  constexpr char kWide[] = "count must be 1 to 2251799813685247 for a window";
  constexpr char kNarrow[] = "count must be 1 to 2147483647 for a window";
  LimitShape shape = FixedShape(kFixedCountMax, seconds{1});
  EXPECT_EQ(ErrorOf(shape), "");
  EXPECT_EQ(ErrorOf(FixedShape(kFixedCountMax + 1, seconds{1})), kWide);
  EXPECT_EQ(ErrorOf(FixedShape(0, seconds{1})), kWide);
  EXPECT_EQ(ErrorOf(FixedShape(kWindowCountMax, seconds{1} - Nanos{1})), "");
  EXPECT_EQ(ErrorOf(FixedShape(kWindowCountMax + 1, seconds{1} - Nanos{1})), kNarrow);
  shape.aligned = true;
  EXPECT_EQ(ErrorOf(shape), "");
  shape.period += milliseconds{1};
  EXPECT_EQ(ErrorOf(shape), "");
  shape.period += microseconds{1};
  EXPECT_EQ(ErrorOf(shape), kNarrow);
  shape.count = kWindowCountMax;
  EXPECT_EQ(ErrorOf(shape), "");
}

// 2^63-1 = 49 * 188,232,082,384,791,343. A count that large has an exact interval if the period
// shares its factors.
TEST(LimitTest, TheLargestCountIsALimitWhereItsIntervalIsExact) {
  const Nanos period{INT64_MAX / 49};
  const Emission emission = EmissionOf(BucketShape(INT64_MAX, period, INT64_MAX));
  EXPECT_EQ(emission.period, 1);
  EXPECT_EQ(emission.denominator, 49U);
  EXPECT_EQ(emission.capacity, (ExactNanos{period.count(), 0}));
  EXPECT_THAT(ErrorOf(BucketShape(INT64_MAX, hours{168}, 1)), StartsWith("limit is too fine"));
}

TEST(LimitTest, PeriodIsAMicrosecondTo2To58Nanoseconds) {
  const std::string error = "period must be 1us to 2^58 ns (9 years)";
  const std::int64_t longest = std::int64_t{1} << 58;
  for (const std::int64_t period :
       {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, std::int64_t{999}, longest + 1, INT64_MAX}) {
    EXPECT_EQ(ErrorOf(BucketShape(1, Nanos{period}, 1)), error) << period;
    EXPECT_EQ(ErrorOf(FixedShape(1, Nanos{period})), error) << period;
    EXPECT_EQ(ErrorOf(SlidingShape(1, Nanos{period})), error) << period;
  }
  for (const std::int64_t period : {std::int64_t{1'000}, std::int64_t{1'001}, longest}) {
    EXPECT_EQ(ErrorOf(BucketShape(1, Nanos{period}, 1)), "") << period;
    EXPECT_EQ(ErrorOf(FixedShape(1, Nanos{period})), "") << period;
  }
  EXPECT_EQ(ErrorOf(SlidingShape(1, Nanos{longest})), "");
  EXPECT_EQ(ErrorOf(SlidingShape(1, milliseconds{1})), "");
  EXPECT_EQ(ErrorOf(SlidingShape(1, milliseconds{1} - Nanos{1})),
            "period of a sliding window must be at least 1ms");
}

TEST(LimitTest, BurstIsATokenBucketsAndAtLeastOne) {
  EXPECT_EQ(ErrorOf(BucketShape(1, seconds{1}, 0)), "burst must be 1 to 9223372036854775807");
  EXPECT_EQ(ErrorOf(BucketShape(1, seconds{1}, -1)), "burst must be 1 to 9223372036854775807");
  for (LimitShape window : {FixedShape(1, seconds{1}), SlidingShape(1, seconds{1})}) {
    for (const std::int64_t burst : {std::int64_t{1}, std::int64_t{-1}, INT64_MAX}) {
      window.burst = burst;
      EXPECT_EQ(ErrorOf(window), "burst is for the token bucket only");
    }
  }
}

TEST(LimitTest, OnlyFixedWindowsAreAligned) {
  for (LimitShape shape :
       {BucketShape(1, seconds{1}, 1), SlidingShape(1, seconds{1}), FixedShape(1, seconds{1})}) {
    shape.aligned = true;
    EXPECT_EQ(ErrorOf(shape), shape.algorithm == Algorithm::kFixedWindow
                                  ? ""
                                  : "aligned is for fixed windows only");
  }
}

TEST(LimitTest, CalendarWindowIsAFixedWindowWithoutAPeriod) {
  const Calendar month{CalendarUnit::kMonth, kUtc, 14};
  EXPECT_EQ(ErrorOf(CalendarShape(1, month)), "");
  EXPECT_EQ(ErrorOf(CalendarShape(kFixedCountMax, month)), "");
  EXPECT_EQ(ErrorOf(CalendarShape(kFixedCountMax + 1, month)),
            "count must be 1 to 2251799813685247 for a window");
  EXPECT_EQ(ErrorOf(CalendarShape(1, {CalendarUnit::kMonth, kUtc, 31})),
            "a calendar window needs a time zone and an anchor");
  EXPECT_EQ(ErrorOf(CalendarShape(1, {CalendarUnit::kMonth, ZoneId{UINT16_MAX}, 0})),
            "a calendar window needs a time zone and an anchor");
  std::vector<LimitShape> others(4, CalendarShape(1, month));
  others[0].period = hours{720};
  others[1].aligned = true;
  others[2].burst = 1;
  others[3].algorithm = Algorithm::kSlidingWindow;
  for (const LimitShape& shape : others) {
    EXPECT_EQ(ErrorOf(shape), "a calendar window is a fixed window without a period");
  }
  const Limit limit = Limit::Create(CalendarShape(10, month)).value();
  EXPECT_EQ(limit.capacity_tokens(), 10);
  EXPECT_EQ(limit.capacity(), Nanos{0});
}

// Other numbers leave a policy's bucket, another unit, zone or anchor does not.
TEST(LimitTest, CalendarIsPartOfAnOwnedLimitsIdentity) {
  const LimitOwner owner{PolicyId{5}, 0};
  const auto identity = [&](std::int64_t count, const Calendar& calendar) {
    return Limit::Create(CalendarShape(count, calendar)).value().OwnedBy(owner).identity();
  };
  const Calendar month{CalendarUnit::kMonth, kUtc, 14};
  EXPECT_EQ(identity(10, month), identity(20, month));
  for (const Calendar& other :
       {Calendar{CalendarUnit::kYear, kUtc, 14}, Calendar{CalendarUnit::kMonth, ZoneId{1}, 14},
        Calendar{CalendarUnit::kMonth, kUtc, 13}}) {
    EXPECT_NE(identity(10, month), identity(10, other));
  }
}

TEST(LimitTest, BucketsAndFixedWindowsHaveBansAsLongAsPeriods) {
  for (LimitShape shape :
       {BucketShape(1, seconds{1}, 1), SlidingShape(1, seconds{1}), FixedShape(1, seconds{1}),
        CalendarShape(1, {CalendarUnit::kMonth, kUtc, 0})}) {
    for (const Nanos ban :
         {Nanos{-1}, kPeriodMin - Nanos{1}, kPeriodMin, kPeriodMax, kPeriodMax + Nanos{1}}) {
      shape.ban = ban;
      const bool is_period = ban >= kPeriodMin && ban <= kPeriodMax;
      const bool can_ban = shape.algorithm != Algorithm::kSlidingWindow && !shape.has_calendar();
      EXPECT_EQ(ErrorOf(shape), !can_ban    ? "ban= is for token buckets and fixed windows"
                                : is_period ? ""
                                            : "ban must be 1us to 2^58 ns (9 years)");
    }
  }
}

TEST(LimitTest, TheDenominatorIsBelow2To32) {
  const Nanos odd{1'000'000'007};  // a prime: nothing cancels
  EXPECT_EQ(EmissionOf(BucketShape(kTwoTo32 - 1, odd, 1)).denominator, UINT32_MAX);
  EXPECT_EQ(ErrorOf(BucketShape(kTwoTo32, odd, 1)),
            "limit is too fine: period / count in lowest terms must have a denominator below 2^32 "
            "(here 4294967296)");
  // The denominator is that of the fraction in lowest terms.
  EXPECT_EQ(EmissionOf(BucketShape(kTwoTo32, 2 * odd, 1)).denominator, 1U << 31);
  EXPECT_EQ(ErrorOf(FixedShape(INT32_MAX, odd)), "");
}

TEST(LimitTest, TheCapacityIsAtMost2To60Nanoseconds) {
  const std::string error =
      "limit is too long: burst times period per token must be at most 2^60 ns (36 years)";
  const Nanos longest{std::int64_t{1} << 58};
  EXPECT_EQ(EmissionOf(BucketShape(1, longest, 4)).capacity,
            (ExactNanos{std::int64_t{1} << 60, 0}));
  EXPECT_EQ(ErrorOf(BucketShape(1, longest, 5)), error);
  EXPECT_EQ(EmissionOf(BucketShape(3, longest, 12)).capacity,
            (ExactNanos{std::int64_t{1} << 60, 0}));
  EXPECT_EQ(ErrorOf(BucketShape(3, longest, 13)), error);
  // A third of a nanosecond a token: the first burst that is too large exceeds the bound by that
  // third.
  const std::int64_t thirds = 3 * (std::int64_t{1} << 60);
  EXPECT_EQ(EmissionOf(BucketShape(3'000, microseconds{1}, thirds)).capacity,
            (ExactNanos{std::int64_t{1} << 60, 0}));
  EXPECT_EQ(EmissionOf(BucketShape(3'000, microseconds{1}, thirds - 1)).capacity,
            (ExactNanos{(std::int64_t{1} << 60) - 1, 2}));
  EXPECT_EQ(ErrorOf(BucketShape(3'000, microseconds{1}, thirds + 1)), error);
  EXPECT_EQ(ErrorOf(BucketShape(1, longest, INT64_MAX)), error);
}

// The compiler refuses a constant that overflows.
TEST(LimitTest, NoSumOfTheRulesLeaves63Bits) {
  constexpr Nanos deep_in_debt = kInstantMax.time_since_epoch() + 2 * kCapacityMax;
  static_assert((deep_in_debt + kCapacityMax).count() > 0);
  static_assert((kInstantMax.time_since_epoch() + kPeriodMax + kCapacityMax).count() > 0);
}

TEST(LimitTest, EqualityAndHashTakeEveryField) {
  const LimitShape shape = FixedShape(10, seconds{1});
  LimitShape aligned = shape;
  aligned.aligned = true;
  LimitShape shadow = shape;
  shadow.shadow = true;
  LimitShape banning = shape;
  banning.ban = seconds{1};
  const LimitShape month = CalendarShape(10, {CalendarUnit::kMonth, kUtc, 0});
  const std::vector<LimitShape> shapes = {shape,
                                          month,
                                          CalendarShape(10, {CalendarUnit::kYear, kUtc, 0}),
                                          CalendarShape(10, {CalendarUnit::kMonth, ZoneId{1}, 0}),
                                          CalendarShape(10, {CalendarUnit::kMonth, kUtc, 1}),
                                          banning,
                                          aligned,
                                          shadow,
                                          FixedShape(11, seconds{1}),
                                          FixedShape(10, seconds{2}),
                                          SlidingShape(10, seconds{1}),
                                          BucketShape(10, seconds{1}, 10),
                                          BucketShape(10, seconds{1}, 11)};
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(shapes));
  for (const LimitShape& a : shapes) {
    for (const LimitShape& b : shapes) {
      EXPECT_EQ(Limit::Create(a).value() == Limit::Create(b).value(), &a == &b);
    }
  }
}

// The definition again, in numbers that cannot overflow.
TEST(LimitPropertyTest, ABucketExistsExactlyWhereItIsExact) {
  CheckLaw(50'000, [] {
    // A common factor, so that large counts have exact intervals, too.
    const std::int64_t factor = *NumberUpTo(kPeriodMax.count());
    const std::int64_t count = *NumberUpTo(kCountMax / factor) * factor;
    const std::int64_t period = *NumberUpTo(kPeriodMax.count() / factor) * factor;
    RC_PRE(Nanos{period} >= kPeriodMin);
    // As often near the longest capacity as anywhere.
    const Integer longest = Integer(kCapacityMax.count()) * count / period;
    const auto near =
        static_cast<std::int64_t>(std::min<Integer>(std::max<Integer>(longest, 2), INT64_MAX - 3));
    const std::int64_t burst =
        *rc::gen::oneOf(NumberUpTo(kCountMax), rc::gen::inRange(near - 1, near + 3));

    const Rational interval(period, count);
    const Rational capacity = interval * burst;
    const bool exact = denominator(interval) <= kDenominatorMax && capacity <= kCapacityMax.count();
    const absl::StatusOr<Limit> limit = Limit::Create(BucketShape(count, Nanos{period}, burst));
    RC_ASSERT(limit.ok() == exact);
    if (!exact) return;

    const auto rational = [](ExactNanos time, const Integer& n) {
      RC_ASSERT(Integer(time.numerator) < n);
      return time.whole + Rational(time.numerator, n);
    };
    const Emission& emission = limit->emission();
    RC_ASSERT(emission.period == numerator(interval));
    RC_ASSERT(emission.denominator == denominator(interval));
    RC_ASSERT(rational(emission.interval, denominator(interval)) == interval);
    RC_ASSERT(rational(emission.capacity, denominator(interval)) == capacity);
  });
}

}  // namespace
}  // namespace weir
