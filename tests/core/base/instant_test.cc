// Goal: instants and spans combine only where the sum has a meaning, and milliseconds round up.
// Method: static assertions; a table; the definition of rounding up at random spans.
#include "core/base/instant.h"

#include <chrono>
#include <concepts>
#include <cstdint>

#include "gtest/gtest.h"
#include <rapidcheck.h>

#include "tests/random/property.h"

namespace weir {
namespace {

template <typename A, typename B>
concept Addable = requires(A a, B b) {
  a + b;
};

template <typename A, typename B>
concept Comparable = requires(A a, B b) {
  a < b;
};

template <typename A, typename B>
concept Subtractable = requires(A a, B b) {
  a - b;
};

static_assert(std::same_as<decltype(Instant{} - Instant{}), Nanos>);
static_assert(std::same_as<decltype(Instant{} + Nanos{1}), Instant>);
static_assert(!Addable<Instant, Instant>);
static_assert(!std::convertible_to<Nanos, Instant>);
static_assert(!std::convertible_to<std::int64_t, Nanos>);

// The time of decisions and that of the host are two lines.
static_assert(std::same_as<decltype(HostInstant{} - HostInstant{}), Nanos>);
static_assert(!Comparable<Instant, HostInstant> && !Comparable<HostInstant, Instant>);
static_assert(!Subtractable<Instant, HostInstant> && !Subtractable<HostInstant, Instant>);
static_assert(!std::convertible_to<Instant, HostInstant>);
static_assert(!std::convertible_to<HostInstant, Instant>);

TEST(InstantTest, MillisecondsRoundUp) {
  EXPECT_EQ(CeilMillis(Nanos{0}), 0);
  EXPECT_EQ(CeilMillis(Nanos{1}), 1);
  EXPECT_EQ(CeilMillis(Nanos{999'999}), 1);
  EXPECT_EQ(CeilMillis(Nanos{1'000'000}), 1);
  EXPECT_EQ(CeilMillis(Nanos{1'000'001}), 2);
  EXPECT_EQ(CeilMillis(std::chrono::seconds{10}), 10'000);
  EXPECT_EQ(CeilMillis(Nanos{9'223'372'036'854'000'000}), 9'223'372'036'854);
  EXPECT_EQ(CeilMillis(Nanos::max()), 9'223'372'036'855);
}

TEST(InstantTest, MillisecondsAreTheFewestThatLastAsLong) {
  CheckLaw(10'000, [] {
    const std::int64_t span = *NumberUpTo(INT64_MAX - 1'000'000);
    const std::int64_t millis = CeilMillis(Nanos{span});
    RC_ASSERT(millis * 1'000'000 >= span);
    RC_ASSERT((millis - 1) * 1'000'000 < span);
  });
}

}  // namespace
}  // namespace weir
