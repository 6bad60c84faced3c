// Goal: a slice has the size and the life that core/rules/slice.h says, and never more than is
// there. Method: a table, with numbers worked out by hand, and random limits.
#include "core/rules/slice.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "core/rules/rule.h"
#include "tests/core/rules/rule_fixture.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/fake_clock.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Nanos kMaxWait = seconds{60};

struct Used {
  std::string_view limit;
  std::uint64_t used = 0;  // at kNow
  std::uint64_t cost = 1;
  std::uint64_t keep = 0;
};

SliceTerms Decide(const std::vector<Used>& limits, const SliceWish& wish, Nanos at = Nanos{0}) {
  std::vector<Limit> shapes;
  for (const Used& one : limits) shapes.push_back(LimitOf(one.limit));
  std::vector<SlicedLimit> sliced;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const Bucket bucket = ChargeLimit(shapes[i], {}, kNow, limits[i].used, kMaxWait);
    sliced.push_back({&shapes[i], bucket, limits[i].cost, limits[i].keep});
  }
  return DecideSlice(sliced, wish, kNow + at, kMaxWait);
}

SliceWish Wish(std::int64_t need, std::int64_t unit, std::int64_t upto,
               Nanos life = milliseconds{250}) {
  return {need, unit, upto, life};
}

TEST(SliceTest, GrantsNeedAndSomeAhead) {
  struct Case {
    Used limit;
    SliceWish wish;
    SliceTerms terms;
  };
  constexpr Nanos kLife = milliseconds{250};
  const Case table[] = {
      // An eighth of what is there.
      {{"100/s"}, Wish(0, 1, 1000), {12, kLife}},
      {{"100/s"}, Wish(1, 1, 1000), {13, kLife}},
      {{"100/s"}, Wish(1, 1, 5), {5, kLife}},
      // Half of what comes back in the life, which is more where little is there.
      {{"100/s", 92}, Wish(0, 1, 1000), {8, kLife}},
      {{"100/s", 80}, Wish(0, 1, 1000), {12, kLife}},
      {{"100/s", 100}, Wish(1, 1, 1000), {0, kLife}},
      {{"100/s", 100}, Wish(0, 1, 1000), {0, kLife}},
      // At most a quarter of the burst, but at least 1.
      {{"100/s,burst=40"}, Wish(0, 1, 1000), {10, kLife}},
      {{"10/s,burst=3", 1}, Wish(0, 1, 1000, milliseconds{300}), {1, milliseconds{300}}},
      // A part of the need, as long as it serves a request.
      {{"100/s", 97}, Wish(5, 1, 9), {3, kLife}},
      {{"100/s", 97}, Wish(5, 3, 9), {3, kLife}},
      {{"100/s", 97}, Wish(5, 4, 9), {0, kLife}},
      {{"100/s", 97}, Wish(0, 4, 9), {3, kLife}},
      // UPTO is the most, whatever is needed.
      {{"100/s"}, Wish(5, 2, 3), {3, kLife}},
      {{"100/s"}, Wish(5, 4, 3), {0, kLife}},
      // Units: tokens divided by the cost, beside those that are kept.
      {{"100/s", 0, 7}, Wish(0, 1, 1000), {1, kLife}},
      {{"100/s", 0, 7}, Wish(14, 1, 14), {14, kLife}},
      {{"100/s", 0, 7}, Wish(15, 1, 15), {14, kLife}},
      {{"100/s", 0, 1, 60}, Wish(0, 1, 1000), {12, kLife}},
      {{"100/s", 0, 1, 60}, Wish(100, 1, 100), {40, kLife}},
      {{"100/s", 0, 7, 60}, Wish(100, 1, 100), {5, kLife}},
      {{"100/s", 0, 1, 101}, Wish(1, 1, 1), {0, kLife}},
      // A cost of 0 bounds nothing, unless something is to be kept.
      {{"100/s", 100, 0}, Wish(7, 1, 9), {9, kLife}},
      {{"100/s", 99, 0, 1}, Wish(7, 1, 9), {9, kLife}},
      {{"100/s", 99, 0, 2}, Wish(7, 1, 9), {0, kLife}},
      {{"unlimited"}, Wish(7, 1, INT64_MAX), {INT64_MAX, kLife}},
      {{"unlimited"}, Wish(INT64_MAX, 1, INT64_MAX), {INT64_MAX, kLife}},
      {{"none"}, Wish(1, 1, 9), {0, kLife}},
  };
  for (const Case& row : table) {
    const SliceTerms terms = Decide({row.limit}, row.wish);
    EXPECT_EQ(terms.granted, row.terms.granted)
        << row.limit.limit << ", used " << row.limit.used << ", cost " << row.limit.cost
        << ", need " << row.wish.need << ", unit " << row.wish.unit << ", upto " << row.wish.upto;
    EXPECT_EQ(terms.life, row.terms.life) << row.limit.limit;
  }
}

TEST(SliceTest, EndsWithItsWindows) {
  const SliceWish wish = Wish(1, 1, 1000, hours{24});
  EXPECT_EQ(Decide({{"100/m,fixed"}}, wish, seconds{50}).life, seconds{60}) << "it opens now";
  EXPECT_EQ(Decide({{"100/m,fixed", 1}}, wish, seconds{50}).life, seconds{10});
  EXPECT_EQ(Decide({{"100/m,fixed", 100}}, wish, seconds{50}).life, seconds{10});
  EXPECT_EQ(Decide({{"100/m,fixed,aligned"}}, wish, seconds{50}).life, seconds{10});
  EXPECT_EQ(Decide({{"100/m,sliding", 50}}, wish, seconds{50}).life, seconds{10});
  EXPECT_EQ(Decide({{"100/day"}}, wish, hours{23}).life, hours{1});
  EXPECT_EQ(Decide({{"100/day,from=12:00"}}, wish, hours{1}).life, hours{11});
  EXPECT_EQ(Decide({{"100/m,fixed,aligned"}, {"9/h,sliding"}}, wish, seconds{1}).life, seconds{59});
  EXPECT_EQ(Decide({{"100/m,fixed"}}, wish, Nanos{1}).life, seconds{60});
  EXPECT_EQ(Decide({{"100/m,fixed", 1}}, wish, Nanos{1}).life, seconds{60} - microseconds{1})
      << "rounded down to whole microseconds";
  EXPECT_EQ(Decide({{"100/m,fixed", 1}}, wish, seconds{60} - Nanos{999}), (SliceTerms{1, Nanos{0}}))
      << "and then nothing is granted in advance";
}

// Nothing comes back to a window in a slice's life, but tokens of the window before fade.
TEST(SliceTest, AsksFinelyNearTheEndOfAWindow) {
  const SliceWish wish = Wish(0, 1, 1000);
  EXPECT_EQ(Decide({{"1000/h,fixed"}}, wish).granted, 125);
  EXPECT_EQ(Decide({{"1000/h,fixed", 900}}, wish).granted, 12);
  EXPECT_EQ(Decide({{"1000/h,fixed", 993}}, wish).granted, 0);
  EXPECT_EQ(Decide({{"1000/h,sliding", 993}}, wish).granted, 0);
  EXPECT_EQ(Decide({{"1000/s,sliding", 1000}}, wish, milliseconds{1100}).granted, 100)
      << "100 have faded, and 250 fade in a life";
}

// Such a slice could not be settled, or would be spent after its time.
TEST(SliceTest, SomeLimitsAreNotSliced) {
  const SliceWish wish = Wish(3, 1, 1000, seconds{2});
  for (const std::string_view limit :
       {"100/s", "100/s,ban=1m", "100/m,fixed,ban=1m", "100/m,shadow", "3/10ms"}) {
    EXPECT_EQ(Decide({{limit}}, wish), (SliceTerms{3, Nanos{0}})) << limit;
  }
  EXPECT_EQ(Decide({{"100/m"}, {"100/s,shadow"}}, wish), (SliceTerms{3, Nanos{0}}));
  EXPECT_EQ(Decide({{"100/m"}, {"1/m,shadow", 1}}, wish), (SliceTerms{3, Nanos{0}}))
      << "a shadow denies nothing";
  for (const std::string_view limit : {"3/10ms", "100/s,fixed", "100/s,sliding"}) {
    EXPECT_EQ(Decide({{limit, 0, 0}}, wish).life, wish.life) << limit << ": nothing is taken";
  }
  EXPECT_EQ(Decide({{"100/m,shadow", 0, 0}}, wish).life, Nanos{0});
  EXPECT_EQ(Decide({{"100/m,ban=1m", 0, 0}}, wish).life, Nanos{0});
  EXPECT_EQ(Decide({{"200/s,burst=400"}}, wish).life, seconds{2}) << "exactly worth its life";
  EXPECT_EQ(Decide({{"200/s,burst=399"}}, wish).life, Nanos{0});
  EXPECT_EQ(Decide({{"100/m"}}, Wish(3, 1, 1000, Nanos{0})), (SliceTerms{3, Nanos{0}}));
  EXPECT_EQ(Decide({{"100/m"}}, Wish(0, 1, 1000, Nanos{0})), (SliceTerms{0, Nanos{0}}));
}

// `room` is the fewest of any limit, `ahead` each limit's own.
TEST(SliceTest, SeveralLimits) {
  const SliceWish wish = Wish(2, 1, 1000);
  EXPECT_EQ(Decide({{"100/s"}, {"1000/h,fixed"}}, wish).granted, 2 + 12);
  EXPECT_EQ(Decide({{"100/s"}, {"1000/h,fixed", 950}}, wish).granted, 2 + 6);
  EXPECT_EQ(Decide({{"100/s"}, {"1000/h,fixed", 998}}, wish).granted, 2);
  EXPECT_EQ(Decide({{"100/s"}, {"1000/h,fixed", 999}}, wish).granted, 1);
  EXPECT_EQ(Decide({{"100/s"}, {"1000/h,fixed", 0, 100}}, wish).granted, 2 + 1);
  EXPECT_EQ(Decide({{"100/s"}, {"none"}}, wish).granted, 0);
  EXPECT_EQ(Decide({}, wish).granted, 1000);
}

// A slice has at most the units that are there, without the tokens that are kept. Its life ends no
// later than any window. It leaves what RL.TAKE of as many units would leave.
TEST(SliceTest, NeverMoreThanIsThere) {
  CheckLaw(3'000, [] {
    const Limit limit = *SometimesShadow(SometimesBan(AnyLimit()));
    const Instant now = *AnyInstant();
    const Nanos max_wait = *AnyMaxWait();
    const SlicedLimit sliced = {&limit, *AnyBucket(limit, now, max_wait), *AnyCost(limit),
                                *AnyCost(limit)};
    const auto units = [] {
      return *Between(0, 1) == 0 ? *Between<std::int64_t>(1, 20)
                                 : *Between<std::int64_t>(1, INT64_MAX - 1);
    };
    const SliceWish wish = {*Between(0, 3) == 0 ? 0 : units(), units(), units(),
                            Nanos{*Between<std::int64_t>(0, 86'400'000'000'000)}};
    const SliceTerms terms = DecideSlice({&sliced, 1}, wish, now, max_wait);
    RC_ASSERT(terms.granted >= 0);
    RC_ASSERT(terms.granted <= wish.upto);
    RC_ASSERT(terms.granted <= wish.need || terms.life > Nanos{0});
    RC_ASSERT(terms.granted == 0 || wish.need == 0 || terms.granted >= wish.unit);
    RC_ASSERT(terms.life >= Nanos{0});
    RC_ASSERT(terms.life <= wish.life);
    if (limit.shape().shadow || limit.shape().ban > Nanos{0}) RC_ASSERT(terms.life == Nanos{0});
    if (terms.granted == 0 || limit.shape().shadow) return;
    std::uint64_t cost = 0;
    RC_ASSERT(
        !__builtin_mul_overflow(sliced.cost, static_cast<std::uint64_t>(terms.granted), &cost));
    const Step step = DecideLimit(limit, sliced.bucket, now, cost, max_wait, Nanos{0}, sliced.keep);
    RC_ASSERT(step.decision.allowed);
    const bool is_window = limit.has_bucket() && limit.shape().algorithm != Algorithm::kTokenBucket;
    if (is_window && cost > 0) RC_ASSERT(terms.life <= step.decision.reset_after);
    const std::int64_t ahead = terms.granted - std::min(terms.granted, wish.need);
    if (!limit.has_bucket() || cost == 0) return;
    const auto quarter = static_cast<std::uint64_t>(limit.capacity_tokens()) / 4;
    RC_ASSERT(ahead <= 1 || static_cast<std::uint64_t>(ahead) <= quarter / sliced.cost);
  });
}

// More demand is never answered with less.
TEST(SliceTest, GrowsWithTheWish) {
  CheckLaw(1'000, [] {
    const Limit limit = *AnyLimit();
    const Instant now = *AnyInstant();
    const SlicedLimit sliced = {&limit, *AnyBucket(limit, now, kMaxWait),
                                *Between<std::uint64_t>(0, 5), *Between<std::uint64_t>(0, 5)};
    const std::int64_t need = *Between<std::int64_t>(0, 30);
    const std::int64_t upto = *Between<std::int64_t>(1, 60);
    const auto granted = [&](std::int64_t needed, std::int64_t most) {
      return DecideSlice({&sliced, 1}, Wish(needed, 1, most), now, kMaxWait).granted;
    };
    RC_ASSERT(granted(need, upto) <= granted(need + 1, upto));
    RC_ASSERT(granted(need, upto) <= granted(need, upto + 1));
  });
}

}  // namespace
}  // namespace weir
