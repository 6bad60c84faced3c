// Goal: a bucket that is trimmed to new numbers never makes a cost wait longer than before, nor
// longer than a bucket of the new numbers that was just used up; a second trim changes nothing, and
// a ban ends no later than announced. Method: a table of the two cases that users meet; the laws
// for random old and new numbers, buckets, costs and later instants, of every algorithm.
#include <algorithm>
#include <chrono>
#include <vector>

#include "gtest/gtest.h"

#include "core/rules/rule.h"
#include "core/rules/settlement.h"
#include "core/rules/sliding_window.h"
#include "tests/core/rules/rule_fixture.h"
#include "tests/random/windows.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::days;
using std::chrono::minutes;
using std::chrono::seconds;

class TrimTest : public RuleFixture {
 protected:
  TrimTest() : RuleFixture("1000/d") {}

  // Gives the bucket other numbers at kNow + at, and trims it.
  void TrimTo(std::string_view limit, Nanos at) {
    const Limit before = limit_;
    Change(limit);
    bucket_ = TrimLimit(before, limit_, bucket_, kNow + at, max_wait_);
  }
};

TEST_F(TrimTest, UsedUpBucketPassesAfterOneEmissionInterval) {
  Expect({{Nanos{0}, 1000, Allowed(0, days{1})}});
  TrimTo("100/m", seconds{60});
  Expect({{seconds{60}, 1, Denied(0, std::chrono::milliseconds{600}, minutes{1})},
          {seconds{60} + std::chrono::milliseconds{600}, 1, Allowed(0, minutes{1})}});
  Use("5/h,burst=5");
  Expect({{Nanos{0}, 5, Allowed(0, minutes{60})}});
  TrimTo("500/h,burst=5", seconds{1});
  Expect({{seconds{1}, 1, Denied(0, std::chrono::milliseconds{7200}, seconds{36})}});
}

TEST_F(TrimTest, SmallDebtStaysAsATime) {
  Expect({{Nanos{0}, 1, Allowed(999, std::chrono::milliseconds{86400})}});
  const Bucket before = bucket_;
  TrimTo("2/h", Nanos{0});
  EXPECT_EQ(bucket_, before);
}

TEST_F(TrimTest, BanEndsWhenItWasToldToEnd) {
  Use("5/h,ban=15m");
  Expect({{Nanos{0}, 5, Allowed(0, minutes{60})}});
  bucket_ = BanLimit(limit_, bucket_, kNow, max_wait_);
  TrimTo("500/h,burst=5,ban=15m", minutes{5});
  EXPECT_EQ(BanLeft(limit_, bucket_, kNow + minutes{5}, max_wait_), minutes{10});
  Expect({{minutes{15} - Nanos{1}, 1,
           Denied(0, Nanos{1}, std::chrono::milliseconds{28800} + Nanos{1})},
          {minutes{15}, 1, Allowed(0, seconds{36})}});
}

TEST_F(TrimTest, WindowsHaveAtMostTheCountUsed) {
  Use("1000/m,fixed");
  Expect({{Nanos{0}, 900, Allowed(100, minutes{1})}});
  TrimTo("10/m,fixed", seconds{1});
  EXPECT_EQ(UsedTokens(limit_, bucket_, kNow + seconds{1}, max_wait_), 10);
  Use("1000/m,sliding");
  Expect({{seconds{0}, 900, Allowed(100, minutes{2})}});
  TrimTo("10/m,sliding", seconds{90});
  Expect({{seconds{90}, 1, Denied(0, seconds{3}, seconds{30})}});
}

// Any limit that a policy may have in a position, and other numbers that share its buckets.
struct Change {
  Limit before;
  Limit limit;
};
Change ChangeOf(const Limit& before, const Limit& limit) {
  const LimitOwner owner{PolicyId{1}, 0};
  const GreatestNumbers greatest{std::max(before.capacity(), limit.capacity()),
                                 std::max(before.shape().ban, limit.shape().ban)};
  return {before.OwnedBy(owner, greatest), limit.OwnedBy(owner, greatest)};
}
rc::Gen<Change> AnyChange() {
  return rc::gen::exec([] {
    const int kind = *Between(0, 5);
    if (kind <= 2) return ChangeOf(*SometimesBan(AnyLimit()), *SometimesBan(AnyLimit()));
    const Limit before = kind == 3   ? *SometimesBan(FixedWindows::AnyLimit())
                         : kind == 4 ? *CalendarWindows::AnyLimit()
                                     : *SlidingWindows::AnyLimit();
    LimitShape shape = before.shape();
    shape.count = *AnyWindowCount(shape);
    return ChangeOf(before, *Limit::Create(shape));
  });
}

// A bucket that the old numbers may have left, often in debt or in a ban.
Bucket AnyBucketOf(const Limit& limit, Instant now, Nanos max_wait) {
  Bucket bucket;
  switch (limit.shape().algorithm) {
    case Algorithm::kFixedWindow:
      bucket = limit.shape().has_calendar() ? *CalendarWindows::AnyBucket(limit, now)
                                            : *FixedWindows::AnyBucket(limit, now);
      break;
    case Algorithm::kSlidingWindow:
      bucket = *SlidingWindows::AnyBucket(limit, now);
      break;
    default:
      bucket = *AnyBucket(limit, now, max_wait);
  }
  const int more = *Between(0, 3);
  if (more == 1) bucket = ChargeLimit(limit, bucket, now, UINT64_MAX, max_wait);
  if (more == 2 && limit.shape().ban > Nanos{0} && !IsFull(limit, bucket, now)) {
    bucket = BanLimit(limit, bucket, now, max_wait);
  }
  return bucket;
}

struct Trim {
  Trim() {
    bucket = AnyBucketOf(change.before, now, max_wait);
    trimmed = TrimLimit(change.before, change.limit, bucket, now, max_wait);
    const auto most = static_cast<std::uint64_t>(change.limit.capacity_tokens());
    used_up = ChargeTo(most);
  }
  [[nodiscard]] Bucket ChargeTo(std::uint64_t tokens) const {
    return DecideLimit(change.limit, Bucket{}, now, tokens, max_wait).bucket;
  }
  [[nodiscard]] bool IsBanned() const {
    return BanLeft(change.before, bucket, now, max_wait) > Nanos{0};
  }
  [[nodiscard]] bool Passes(Bucket from, Instant at, std::uint64_t cost) const {
    return DecideLimit(change.limit, from, at, cost, max_wait).decision.allowed;
  }

  Change change = *AnyChange();
  Nanos max_wait = *AnyMaxWait();
  Instant now = *AnyInstant(3 * kCapacityMax);
  Bucket bucket;
  Bucket trimmed;
  Bucket used_up;  // a bucket of the new numbers that was just used up
};

// A later instant, often at an end of a wait or 1 ns beside it.
Instant AnyLater(const Trim& trim) {
  const Limit& limit = trim.change.limit;
  const Bucket among = *rc::gen::element(trim.bucket, trim.trimmed, trim.used_up);
  const Decision denial = DecideLimit(limit, among, trim.now, 1, trim.max_wait).decision;
  const Nanos wait =
      denial.allowed || denial.retry_after == kNever
          ? DecideLimit(limit, among, trim.now, 0, trim.max_wait).decision.reset_after
          : denial.retry_after;
  const Nanos beside{*rc::gen::element<std::int64_t>(-1, 0, 0, 1)};
  // A sliding window knows its age for 2^31 windows.
  const bool is_sliding = limit.shape().algorithm == Algorithm::kSlidingWindow;
  const std::int64_t most = is_sliding ? limit.shape().period.count() : kCapacityMax.count() / 8;
  const Nanos any{8 * (*NumberUpTo(most) - 1)};
  return trim.now + std::max(Nanos{0}, *rc::gen::element(wait + beside, any, Nanos{0}));
}

TEST(TrimLawTest, NothingPassesLaterThanBefore) {
  CheckLaw(50'000, [] {
    const Trim s;
    const Instant at = AnyLater(s);
    const std::uint64_t cost = *AnyCost(s.change.limit);
    if (s.Passes(s.bucket, at, cost)) RC_ASSERT(s.Passes(s.trimmed, at, cost));
  });
}

TEST(TrimLawTest, NothingPassesLaterThanInABucketThatWasJustUsedUp) {
  CheckLaw(50'000, [] {
    const Trim s;
    if (s.IsBanned()) return;
    const Instant at = AnyLater(s);
    const std::uint64_t cost = *AnyCost(s.change.limit);
    if (s.Passes(s.used_up, at, cost)) RC_ASSERT(s.Passes(s.trimmed, at, cost));
  });
}

TEST(TrimLawTest, WhatIsWithinTheNewNumbersStays) {
  CheckLaw(50'000, [] {
    const Trim s;
    const Limit& limit = s.change.limit;
    const auto cost = static_cast<std::uint64_t>(*NumberUpTo(limit.capacity_tokens()));
    const Bucket within = s.ChargeTo(cost);
    RC_ASSERT(TrimLimit(s.change.before, limit, within, s.now, s.max_wait) == within);
  });
}

TEST(TrimLawTest, SecondTrimChangesNothing) {
  CheckLaw(50'000, [] {
    const Trim s;
    const Instant at = AnyLater(s);
    RC_ASSERT(TrimLimit(s.change.limit, s.change.limit, s.trimmed, s.now, s.max_wait) == s.trimmed);
    RC_ASSERT(TrimLimit(s.change.limit, s.change.limit, s.trimmed, at, s.max_wait) == s.trimmed);
  });
}

TEST(TrimLawTest, BanEndsNoLaterThanWasTold) {
  std::int64_t bans = 0;
  CheckLaw(50'000, [&bans] {
    const Trim s;
    const Nanos told = BanLeft(s.change.before, s.bucket, s.now, s.max_wait);
    if (told == Nanos{0}) return;
    ++bans;
    const Nanos untrimmed = BanLeft(s.change.limit, s.bucket, s.now, s.max_wait);
    const Nanos left = BanLeft(s.change.limit, s.trimmed, s.now, s.max_wait);
    RC_ASSERT(left == std::min(told, untrimmed));
  });
  EXPECT_GE(bans, InWholeRuns(500));
}

// What the bucket owes: time for a token bucket, tokens for a window.
std::int64_t Owed(const Limit& limit, Bucket bucket, Instant now) {
  switch (limit.shape().algorithm) {
    case Algorithm::kTokenBucket:
      return TimeToFull(limit, bucket, now).count();
    case Algorithm::kSlidingWindow:
      return TokensInSlidingWindow(limit, bucket, now);
    default:
      return UsedTokens(limit, bucket, now, Nanos{0});
  }
}

// A reservation that is cancelled after a trim gets back at most the part of its charge that the
// trim has left, whatever was taken after it.
TEST(TrimLawTest, WhatWasCutIsNotGivenBackOnceMore) {
  CheckLaw(20'000, [] {
    const Change change = *AnyChange();
    const Limit& before = change.before;
    const Instant now = *AnyInstant(3 * kCapacityMax);
    const auto cost = static_cast<std::uint64_t>(*NumberUpTo(before.capacity_tokens()));
    SettlementSums sums;
    const Bucket left = DecideLimit(before, Bucket{}, now, cost, Nanos{0}).bucket;
    const Estimate estimate = EstimateOf(before, left, cost, sums);
    const Bucket used = ChargeLimit(before, left, now, *AnyCost(before), Nanos{0});
    const Bucket trimmed = TrimLimit(before, change.limit, used, now, Nanos{0});
    CountTrim(change.limit, used, trimmed, now, Nanos{0}, sums);
    const Bucket cancelled = SettleLimit(before, trimmed, now, estimate, 0, Nanos{0}, sums);
    const std::int64_t cut = Owed(before, used, now) - Owed(before, trimmed, now);
    const std::int64_t given_back = Owed(before, trimmed, now) - Owed(before, cancelled, now);
    RC_ASSERT(cut >= 0);
    RC_ASSERT(cut + given_back <= std::max(Owed(before, left, now), cut) + 1);
  });
}

// Beside other debt, from before and from after the reservation, a cancelled one leaves no less
// owed than if it had never been made (L20), but for a nanosecond: the fractions of two emission
// intervals may differ.
TEST(TrimLawTest, ACancelledReservationLeavesWhatOthersOwe) {
  CheckLaw(20'000, [] {
    const Change change = *AnyChange();
    const Limit& before = change.before;
    const Instant now = *AnyInstant(3 * kCapacityMax);
    const Bucket debt = ChargeLimit(before, Bucket{}, now, *AnyCost(before), Nanos{0});
    const auto cost = static_cast<std::uint64_t>(*NumberUpTo(before.capacity_tokens()));
    const Step reserved = DecideLimit(before, debt, now, cost, Nanos{0});
    RC_PRE(reserved.decision.allowed);
    const std::uint64_t later = *AnyCost(before);
    SettlementSums sums;
    const Estimate estimate = EstimateOf(before, reserved.bucket, cost, sums);
    const Bucket used = ChargeLimit(before, reserved.bucket, now, later, Nanos{0});
    CountCharge(before, reserved.bucket, used, now, later, Nanos{0}, sums);
    const Bucket trimmed = TrimLimit(before, change.limit, used, now, Nanos{0});
    CountTrim(change.limit, used, trimmed, now, Nanos{0}, sums);
    const Bucket cancelled = SettleLimit(change.limit, trimmed, now, estimate, 0, Nanos{0}, sums);

    const Bucket true_used = ChargeLimit(before, debt, now, later, Nanos{0});
    const Bucket true_trimmed = TrimLimit(before, change.limit, true_used, now, Nanos{0});
    RC_ASSERT(Owed(change.limit, cancelled, now) + 1 >= Owed(change.limit, true_trimmed, now));
  });
}

}  // namespace
}  // namespace weir
