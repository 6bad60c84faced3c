// Goal: the rate is the count of the last whole second, for any caller at any time. Method: a clock
// that the test moves.
#include "server/observe/rate.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr HostInstant kBegin{seconds{1'000'000}};

TEST(RateTest, TellsTheLastWholeSecond) {
  Rate rate;
  EXPECT_EQ(rate.InLastSecond(kBegin), 0U);
  rate.Add(2, kBegin);
  rate.Add(3, kBegin + milliseconds{999});
  EXPECT_EQ(rate.InLastSecond(kBegin + milliseconds{999}), 0U);
  EXPECT_EQ(rate.InLastSecond(kBegin + milliseconds{1000}), 5U);
  EXPECT_EQ(rate.InLastSecond(kBegin + milliseconds{1999}), 5U);
  EXPECT_EQ(rate.InLastSecond(kBegin + milliseconds{2000}), 0U);
}

TEST(RateTest, ANewSecondBeginsAtNothing) {
  Rate rate;
  for (int i = 0; i < 100; ++i) {
    rate.Add(static_cast<std::uint64_t>(i), kBegin + seconds{i});
    EXPECT_EQ(rate.InLastSecond(kBegin + seconds{i + 1}), static_cast<std::uint64_t>(i));
  }
}

TEST(RateTest, WhatIsLongAgoIsNothing) {
  Rate rate;
  rate.Add(7, kBegin);
  for (int i = 2; i < 20; ++i) EXPECT_EQ(rate.InLastSecond(kBegin + seconds{i}), 0U) << i;
}

}  // namespace
}  // namespace weir
