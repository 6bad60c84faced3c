// Goal: the numbers of RateLimit, RateLimit-Policy and Retry-After never promise more than a limit
// gives, and never make a client wait less than it must. Method: a table; the factor of a quota
// against a search; laws on random limits, buckets and costs.
#include "server/http/rate_limit_numbers.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/wide.h"
#include "core/rules/rule.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/random/windows.h"
#include "tests/support/decide_or_ban.h"

namespace weir {
namespace {

using std::chrono::seconds;
using std::chrono::sys_days;
using namespace std::chrono_literals;

constexpr Instant kNow{Nanos{seconds{1'700'000'000}}};

struct QuotaCase {
  std::string_view limit;
  std::optional<Quota> quota;
};

TEST(RateLimitNumbersTest, QuotaAndItsWindow) {
  const QuotaCase cases[] = {
      {"100/m", {{100, 60}}},
      {"100/m,burst=50", {{50, 30}}},
      {"10/s,burst=1", {{10, 1}}},
      {"100/100ms", {{1000, 1}}},
      {"100/1500ms", {{200, 3}}},
      {"1/ms", {{1000, 1}}},
      {"1/ms,burst=3", {{3000, 3}}},
      {"1/us", {{1, {}}}},        // the factor would be 1,000,000
      {"3/s,burst=1", {{3, 1}}},  // a third of a second
      {"3/s,burst=1000", {{3000, 1000}}},
      {"1000/s,burst=1", {{1000, 1}}},
      {"1001/s,burst=1", {{1, {}}}},  // the factor would be 1,001
      {"7/11ms", {{7000, 11}}},
      {"1/3285d,burst=4", {{4, 4 * 3285 * std::int64_t{86400}}}},
      {"1G/us,burst=999999999999999", {{999'999'999'999'999, {}}}},
      {"1G/us,burst=500000000000000", {{500'000'000'000'000, {}}}},  // twice that has 16 digits
      {"1G/us,burst=1000000000000000", {}},
      {"1000/h,fixed", {{1000, 3600}}},
      {"10/100ms,fixed", {{100, 1}}},
      {"10/1500ms,sliding", {{20, 3}}},
      {"5/day", {{5, 86400}}},
      {"5,held", {{5, {}}}},  // no time brings its tokens back
      {"none", {{0, {}}}},
      {"unlimited", {}},
  };
  for (const auto& [limit, quota] : cases) {
    EXPECT_EQ(QuotaOf(LimitOf(limit), kNow), quota) << limit;
  }
}

// The days on which the clocks of Berlin change have 23 and 25 hours.
TEST(RateLimitNumbersTest, WindowOfACalendarIsThePresentOne) {
  const Limit day = LimitOf("5/day,tz=Europe/Berlin");
  const auto noon = [](sys_days date) { return Instant{Nanos{date.time_since_epoch() + 12h}}; };
  EXPECT_EQ(QuotaOf(day, noon(2026y / 3 / 28))->window_s, 86'400);
  EXPECT_EQ(QuotaOf(day, noon(2026y / 3 / 29))->window_s, 82'800);
  EXPECT_EQ(QuotaOf(day, noon(2026y / 10 / 25))->window_s, 90'000);
  const Limit month = LimitOf("5/month");
  EXPECT_EQ(QuotaOf(month, noon(2026y / 2 / 10))->window_s, 28 * 86'400);
}

TEST(RateLimitNumbersTest, AvailableTokensAndTheirTime) {
  const Limit bucket = LimitOf("2/s,burst=10");
  const auto of = [&](std::int64_t remaining, Nanos reset_after, std::int64_t keep = 0) {
    return AvailableOf(bucket, {true, remaining, Nanos{0}, reset_after}, keep, Nanos{0});
  };
  EXPECT_EQ(of(10, 0s), (Available{10, {}}));  // full
  EXPECT_EQ(of(9, 500ms), (Available{9, 5}));
  EXPECT_EQ(of(8, 1s), (Available{8, 4}));
  EXPECT_EQ(of(1, 4500ms), (Available{1, 1}));
  EXPECT_EQ(of(0, 5s), (Available{0, 1}));
  EXPECT_EQ(of(9, 500ms, 4), (Available{5, 3}));   // 5 tokens in 2.5 s
  EXPECT_EQ(of(3, 3500ms, 4), (Available{0, 1}));  // the fifth comes in 1 s
  EXPECT_EQ(of(2, 4s, 4), (Available{0, 2}));
  EXPECT_EQ(of(9, 500ms, 10), (Available{0, {}}));  // never
  const Limit slow = LimitOf("3/h");
  EXPECT_EQ(AvailableOf(slow, {true, 0, Nanos{0}, 1h}, 0, Nanos{0}), (Available{0, 1200}));
  EXPECT_EQ(AvailableOf(slow, {true, 0, Nanos{0}, 2h}, 0, Nanos{0}), (Available{0, 4800}));  // debt
  EXPECT_EQ(AvailableOf(slow, {true, 0, Nanos{0}, 1h}, 0, 2400s), (Available{0, 2400}));

  const Limit window = LimitOf("10/m,fixed");
  EXPECT_EQ(AvailableOf(window, {true, 9, Nanos{0}, 59'000'000'001ns}, 0, Nanos{0}),
            (Available{9, 60}));
  EXPECT_EQ(AvailableOf(window, {true, 10, Nanos{0}, Nanos{0}}, 0, Nanos{0}), (Available{10, {}}));
}

TEST(RateLimitNumbersTest, DenialTellsItsWait) {
  const Limit bucket = LimitOf("2/s,burst=10");
  EXPECT_EQ(AvailableOf(bucket, {false, 3, 1ns, 4s}, 1, 1ns), (Available{2, 1}));
  EXPECT_EQ(AvailableOf(bucket, {false, 3, 1001ms, 4s}, 0, 1001ms), (Available{3, 2}));
  EXPECT_EQ(AvailableOf(bucket, {false, 10, kNever, 0s}, 0, kNever), (Available{10, {}}));
  EXPECT_EQ(AvailableOf(Limit::None(), {false, 0, kNever, 0s}, 0, kNever), (Available{0, {}}));
}

TEST(RateLimitNumbersTest, RetryAfterIsRoundedUp) {
  Verdict verdict;
  for (const auto& [wait, expected] : std::initializer_list<std::pair<Nanos, std::int64_t>>{
           {1ns, 1}, {1s, 1}, {1s + 1ns, 2}, {kCapacityMax, 1'152'921'505}}) {
    verdict.retry_after = wait;
    EXPECT_EQ(RetryAfterSeconds(verdict), expected);
  }
  verdict.retry_after = kNever;
  EXPECT_EQ(RetryAfterSeconds(verdict), std::nullopt);
  verdict.retry_after = Nanos{0};
  verdict.allowed = true;
  EXPECT_EQ(RetryAfterSeconds(verdict), std::nullopt);
}

// The factor is the smallest: checked by trying all.
TEST(RateLimitNumbersTest, QuotaIsExactAndItsFactorTheSmallest) {
  CheckLaw(2'000, [] {
    const Limit limit = *rc::gen::oneOf(AnyLimit(), FixedWindows::AnyLimit());
    const bool is_window = limit.shape().algorithm != Algorithm::kTokenBucket;
    const std::int64_t tokens = limit.capacity_tokens();
    const std::optional<Quota> quota = QuotaOf(limit, kNow);
    RC_ASSERT(quota.has_value() == (tokens <= kFieldNumberMax));
    if (!quota) return;
    // The window in seconds is tokens * period / divisor.
    const Wide divisor = Wide{is_window ? 1 : limit.emission().denominator} * 1'000'000'000;
    const Wide nanos = is_window ? Wide{static_cast<std::uint64_t>(limit.shape().period.count())}
                                 : Wide{static_cast<std::uint64_t>(tokens)} *
                                       static_cast<std::uint64_t>(limit.emission().period);
    std::uint64_t factor = 1;
    while (factor <= 1000 && nanos % divisor * factor % divisor != 0) ++factor;
    const bool fits = factor <= 1000 && Wide{static_cast<std::uint64_t>(tokens)} * factor <=
                                            static_cast<std::uint64_t>(kFieldNumberMax);
    RC_ASSERT(quota->window_s.has_value() == fits);
    if (!fits) {
      RC_ASSERT(quota->tokens == tokens);
      return;
    }
    RC_ASSERT(quota->tokens == tokens * static_cast<std::int64_t>(factor));
    const Wide whole = nanos / divisor * factor + nanos % divisor * factor / divisor;
    RC_ASSERT(static_cast<std::int64_t>(whole) == *quota->window_s);
    RC_ASSERT(*quota->window_s > 0);
  });
}

TEST(RateLimitNumbersLawTest, AdmissionPromisesNoMoreThanTheRate) {
  CheckLaw(10'000, [] {
    const Limit limit = *AnyLimit();
    const Instant now = *AnyInstant();
    const Nanos max_wait = *AnyMaxWait();
    const Bucket bucket = *AnyBucket(limit, now, max_wait);
    const auto keep =
        *rc::gen::oneOf(rc::gen::just(std::int64_t{0}), NumberUpTo(limit.capacity_tokens()));
    const auto kept = static_cast<std::uint64_t>(keep);
    const Step step = DecideLimit(limit, bucket, now, *AnyCost(limit), max_wait, Nanos{0}, kept);
    const Decision& decision = step.decision;
    const Available available = AvailableOf(limit, decision, keep, Nanos{0});
    RC_ASSERT(available.tokens >= 0);
    RC_ASSERT(available.tokens <= limit.capacity_tokens());
    const bool never = available.tokens == 0 && keep == limit.capacity_tokens();
    RC_ASSERT(available.within_s.has_value() == (decision.reset_after > Nanos{0} && !never));
    if (!available.within_s) return;
    RC_ASSERT(*available.within_s >= 1);
    if (available.tokens == 0) {
      // Then the next token is there, and a second before it is not.
      if (seconds{*available.within_s} > kInstantMax - now) return;
      const Instant then = now + seconds{*available.within_s};
      const auto passes = [&](Instant at) {
        return DecideLimit(limit, step.bucket, at, 1, max_wait, Nanos{0}, kept).decision.allowed;
      };
      RC_ASSERT(passes(then));
      const bool is_late = *available.within_s > 1 && passes(then - seconds{1} - Nanos{1});
      RC_ASSERT(!is_late);
      return;
    }
    // r / t <= n / p, without a division.
    const auto tokens = static_cast<std::uint64_t>(available.tokens);
    const auto period = static_cast<std::uint64_t>(limit.emission().period);
    const auto within = static_cast<std::uint64_t>(*available.within_s);
    const Wide earned = Wide{within} * 1'000'000'000 * limit.emission().denominator;
    RC_ASSERT(Wide{tokens} * period <= earned);
    // And a second less would promise more.
    const Wide less = Wide{within - 1} * 1'000'000'000 * limit.emission().denominator;
    RC_ASSERT(within == 1 || Wide{tokens} * period > less);
  });
}

TEST(RateLimitNumbersLawTest, WindowLastsUntilItEnds) {
  CheckLaw(5'000, [] {
    const Limit limit = *rc::gen::oneOf(FixedWindows::AnyLimit(), CalendarWindows::AnyLimit());
    const Instant now = *AnyInstant();
    const Bucket bucket = limit.shape().has_calendar() ? *CalendarWindows::AnyBucket(limit, now)
                                                       : *FixedWindows::AnyBucket(limit, now);
    const Decision decision = FixedWindows::Decide(limit, bucket, now, *AnyCost(limit)).decision;
    if (!decision.allowed) return;
    const Available available = AvailableOf(limit, decision, 0, Nanos{0});
    RC_ASSERT(available.tokens == decision.remaining);
    if (!available.within_s) {
      RC_ASSERT(decision.remaining == limit.capacity_tokens());
      return;
    }
    const Nanos within = seconds{*available.within_s};
    RC_ASSERT(within >= decision.reset_after);
    RC_ASSERT(within - seconds{1} < decision.reset_after);
  });
}

TEST(RateLimitNumbersLawTest, RetryAfterIsNeverBeforeTheTimeOfALimit) {
  CheckLaw(10'000, [] {
    const Limit limit = *SometimesBan(rc::gen::oneOf(AnyLimit(), FixedWindows::AnyLimit()));
    const Instant now = *AnyInstant();
    const Bucket bucket = limit.shape().algorithm == Algorithm::kTokenBucket
                              ? *AnyBucket(limit, now, Nanos{0})
                              : *FixedWindows::AnyBucket(limit, now);
    const Decision decision = DecideOrBan(limit, bucket, now, *AnyCost(limit), Nanos{0}).decision;
    if (decision.allowed) return;
    Verdict verdict;
    // Of all limits the longest wait.
    verdict.retry_after = std::max(decision.retry_after, Nanos{*NumberUpTo(kCapacityMax.count())});
    const std::optional<std::int64_t> retry_after = RetryAfterSeconds(verdict);
    const Available available = AvailableOf(limit, decision, 0, decision.retry_after);
    RC_ASSERT(available.within_s.has_value() == (decision.retry_after != kNever));
    RC_ASSERT(retry_after.has_value() == (verdict.retry_after != kNever));
    if (!retry_after || !available.within_s) return;
    RC_ASSERT(*retry_after >= *available.within_s);
    RC_ASSERT(Nanos{seconds{*available.within_s}} >= decision.retry_after);
  });
}

}  // namespace
}  // namespace weir
