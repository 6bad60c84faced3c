// Goal: sums of exact times equal the sums of their fractions. Method: random times compared with
// rational numbers of unlimited size; all pairs with small denominators.
#include "core/base/exact_nanos.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"
#include <boost/multiprecision/cpp_int.hpp>
#include <rapidcheck.h>

#include "tests/random/property.h"

namespace weir {
namespace {

using Integer = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

constexpr std::int64_t kWholeMax =
    (std::int64_t{1} << 62) - 1;  // so that two of them and a carry fit

Rational Value(ExactNanos time, std::uint32_t denominator) {
  return time.whole + Rational(time.numerator, denominator);
}

// Checks the laws of sums for two times with one denominator.
bool SumsAreExact(ExactNanos a, ExactNanos b, std::uint32_t denominator) {
  const Rational a_value = Value(a, denominator);
  const Rational b_value = Value(b, denominator);
  const ExactNanos sum = Add(a, b, denominator);
  const ExactNanos difference = Subtract(std::max(a, b), std::min(a, b), denominator);
  return sum.numerator < denominator && Value(sum, denominator) == a_value + b_value &&
         difference.numerator < denominator &&
         Value(difference, denominator) == abs(Rational(a_value - b_value)) &&
         Subtract(sum, b, denominator) == a && (a < b) == (a_value < b_value) &&
         (a == b) == (a_value == b_value) && Ceil(a) >= a_value && Ceil(a) - 1 < a_value;
}

TEST(ExactNanosTest, FractionsCarryAndBorrow) {
  EXPECT_EQ(Add({1, 2}, {1, 2}, 3), (ExactNanos{3, 1}));
  EXPECT_EQ(Add({1, 1}, {1, 2}, 3), (ExactNanos{3, 0}));
  EXPECT_EQ(Subtract({3, 1}, {1, 2}, 3), (ExactNanos{1, 2}));
  EXPECT_EQ(Subtract({3, 0}, {2, 1}, 3), (ExactNanos{0, 2}));
  EXPECT_EQ(Add({5, 0}, {7, 0}, 1), (ExactNanos{12, 0}));
  EXPECT_EQ(Add({0, UINT32_MAX - 1}, {0, UINT32_MAX - 1}, UINT32_MAX),
            (ExactNanos{1, UINT32_MAX - 2}));
  EXPECT_EQ(Subtract({1, 0}, {0, UINT32_MAX - 1}, UINT32_MAX), (ExactNanos{0, 1}));
}

TEST(ExactNanosTest, CeilIsTheFirstWholeNanosecondNotBefore) {
  EXPECT_EQ(Ceil({0, 0}), 0);
  EXPECT_EQ(Ceil({0, 1}), 1);
  EXPECT_EQ(Ceil({7, 0}), 7);
  EXPECT_EQ(Ceil({7, UINT32_MAX - 1}), 8);
}

TEST(ExactNanosTest, SmallSumsAreExact) {
  for (std::uint32_t denominator = 1; denominator <= 5; ++denominator) {
    for (std::uint32_t i = 0; i < 4 * denominator; ++i) {
      for (std::uint32_t j = 0; j < 4 * denominator; ++j) {
        const ExactNanos a{i / denominator, i % denominator};
        const ExactNanos b{j / denominator, j % denominator};
        EXPECT_TRUE(SumsAreExact(a, b, denominator)) << i << " and " << j << " / " << denominator;
      }
    }
  }
}

TEST(ExactNanosTest, RandomSumsAreExact) {
  CheckLaw(20'000, [] {
    const auto denominator = static_cast<std::uint32_t>(*NumberUpTo(UINT32_MAX));
    const auto numerator = [denominator] {
      return static_cast<std::uint32_t>(*NumberUpTo(denominator) - 1);
    };
    const ExactNanos a{*NumberUpTo(kWholeMax), numerator()};
    const ExactNanos b{*rc::gen::oneOf(NumberUpTo(kWholeMax), rc::gen::just(a.whole)), numerator()};
    RC_ASSERT(SumsAreExact(a, b, denominator));
  });
}

}  // namespace
}  // namespace weir
