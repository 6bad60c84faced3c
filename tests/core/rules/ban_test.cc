// Goal: a ban shuts its limit for as long as was told, and leaves one token, or a window's count.
// Method: tables of decisions; the law for random limits, buckets and instants; random histories,
// each answer compared with that of a log of admissions (any_oracle.h).
#include <chrono>
#include <sstream>
#include <vector>

#include "gtest/gtest.h"

#include "core/rules/fixed_window.h"
#include "core/rules/rule.h"
#include "core/rules/token_bucket.h"
#include "tests/core/rules/difference.h"
#include "tests/core/rules/rule_fixture.h"
#include "tests/random/histories.h"
#include "tests/random/windows.h"
#include "tests/support/any_oracle.h"
#include "tests/support/decide_or_ban.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class BanTest : public RuleFixture {
 protected:
  BanTest() : RuleFixture("5/m,ban=15m") {}

  void ExpectOrBan(const std::vector<Row>& table) {
    for (const Row& row : table) {
      const Step step = DecideOrBan(limit_, bucket_, kNow + row.at, row.cost, max_wait_);
      EXPECT_EQ(step.decision, row.decision) << "at " << row.at.count() << " ns, cost " << row.cost;
      bucket_ = step.bucket;
    }
  }
  [[nodiscard]] Nanos LeftAt(Nanos at) const {
    return BanLeft(limit_, bucket_, kNow + at, max_wait_);
  }
};

TEST_F(BanTest, EndsWithOneTokenAndIsNotProlonged) {
  ExpectOrBan({{seconds{0}, 5, Allowed(0, seconds{60})},
               {seconds{1}, 1, Denied(0, minutes{15}, minutes{15} + seconds{48})}});
  const Bucket banned = bucket_;
  const Nanos end = minutes{15} + seconds{1};
  ExpectOrBan({{seconds{13}, 1, Denied(0, minutes{15} - seconds{12}, end + seconds{35})},
               {end - Nanos{1}, 1, Denied(0, Nanos{1}, seconds{48} + Nanos{1})},
               {end - seconds{1}, 2, Denied(0, seconds{13}, seconds{49})}});
  EXPECT_EQ(bucket_, banned) << "one write";
  ExpectOrBan({{end, 1, Allowed(0, seconds{60})}, {end + seconds{12}, 1, Allowed(0, seconds{60})}});
}

TEST_F(BanTest, WindowIsShutWhateverIsLeftOfIt) {
  Use("5/m,fixed,ban=15m");
  ExpectOrBan({{seconds{0}, 3, Allowed(2, seconds{60})},
               {seconds{1}, 3, Denied(0, minutes{15}, minutes{15})},
               {seconds{61}, 1, Denied(0, minutes{14}, minutes{14})},
               {minutes{15} + seconds{1}, 5, Allowed(0, seconds{60})}});
}

TEST_F(BanTest, AlignedWindowOpensAtItsMultipleAfterTheBan) {
  Use("5/m,fixed,aligned,ban=90s");
  ExpectOrBan({{seconds{0}, 5, Allowed(0, seconds{60})},
               {seconds{1}, 1, Denied(0, seconds{90}, seconds{90})},
               {seconds{91}, 5, Allowed(0, seconds{29})}});
}

TEST_F(BanTest, ShorterThanTheWaitWritesNothing) {
  Use("5/h,ban=1m");
  ExpectOrBan({{seconds{0}, 5, Allowed(0, hours{1})}});
  Bucket before = bucket_;
  ExpectOrBan({{seconds{0}, 1, Denied(0, minutes{12}, hours{1})}});
  EXPECT_EQ(bucket_, before);
  Use("5/h,fixed,ban=1m");
  ExpectOrBan({{seconds{0}, 5, Allowed(0, hours{1})}});
  before = bucket_;
  ExpectOrBan({{seconds{0}, 1, Denied(0, hours{1}, hours{1})}});
  EXPECT_EQ(bucket_, before);
  EXPECT_EQ(LeftAt(seconds{0}), seconds{0});
}

// More of a bucket's tokens than it has at once, after the ban: that denial is no longer in it.
TEST_F(BanTest, IsFollowedByAnotherAfterItsEnd) {
  ExpectOrBan({{seconds{0}, 5, Allowed(0, seconds{60})},
               {seconds{0}, 1, Denied(0, minutes{15}, minutes{15} + seconds{48})},
               {minutes{15}, 2, Denied(0, minutes{15} + seconds{12}, minutes{15} + seconds{48})},
               {minutes{30}, 1, Allowed(0, seconds{60})}});
}

TEST_F(BanTest, RefundShortensThatOfABucketAndNotThatOfAWindow) {
  ExpectOrBan({{seconds{0}, 5, Allowed(0, seconds{60})},
               {seconds{0}, 1, Denied(0, minutes{15}, minutes{15} + seconds{48})}});
  Refund(seconds{0}, 0);
  EXPECT_EQ(LeftAt(seconds{0}), minutes{15}) << "of nothing";
  Refund(seconds{0}, 1);
  EXPECT_EQ(LeftAt(seconds{0}), seconds{0});
  Expect({{seconds{0}, 1, Denied(0, minutes{15} - seconds{12}, minutes{15} + seconds{36})}});
  Use("5/m,fixed,ban=15m");
  ExpectOrBan({{seconds{0}, 5, Allowed(0, seconds{60})},
               {seconds{0}, 1, Denied(0, minutes{15}, minutes{15})}});
  Refund(seconds{0}, 5);
  EXPECT_EQ(LeftAt(seconds{0}), minutes{15});
}

// A ban is dropped for want of memory as late as a used-up limit, up to its last nanosecond.
TEST_F(BanTest, CountsAsTheWholeShareToItsEnd) {
  for (const char* word : {"1/m,ban=15m", "5/m,ban=15m", "5/m,fixed,ban=15m"}) {
    Use(word);
    ExpectOrBan({{seconds{0}, static_cast<std::uint64_t>(limit_.capacity_tokens()),
                  Allowed(0, seconds{60})}});
    bucket_ = DecideOrBan(limit_, bucket_, kNow, 1, max_wait_).bucket;
    EXPECT_EQ(UsedShare(limit_, bucket_, kNow + minutes{15} - Nanos{1}), kWholeShare) << word;
    EXPECT_LT(UsedShare(limit_, bucket_, kNow + minutes{15}), kWholeShare) << word;
  }
}

// A fraction of a nanosecond is not mistaken for a mark, and a mark not for a fraction.
TEST_F(BanTest, MarkIsNoFraction) {
  Use("4294967291/s,burst=7,ban=1h");
  bucket_ = {.low = 5, .extra = 4294967290};  // the greatest fraction that there is
  EXPECT_EQ(BanLeft(limit_, bucket_, Instant{}, max_wait_), Nanos{0});
  bucket_ = {.low = 5, .extra = kBannedExtra};
  EXPECT_EQ(TatOf(bucket_, limit_.emission().denominator), (ExactNanos{5, 0}));
  EXPECT_FALSE(IsFull(limit_, bucket_, Instant{Nanos{4}}));
  EXPECT_TRUE(IsFull(limit_, bucket_, Instant{Nanos{5}}));
}

// A waiter gets the first token after the ban. A denial before the next one starts no ban.
TEST_F(BanTest, TokensReservedInABanMoveItsEnd) {
  max_wait_ = hours{1};
  ExpectOrBan({{seconds{0}, 5, Allowed(0, seconds{60})},
               {seconds{0}, 1, Denied(0, minutes{15}, minutes{15} + seconds{48})}});
  const Step waits = DecideLimit(limit_, bucket_, kNow, 1, max_wait_, hours{1});
  EXPECT_EQ(waits.decision.retry_after, minutes{15});
  EXPECT_TRUE(waits.decision.allowed);
  bucket_ = waits.bucket;
  ExpectOrBan({{minutes{5}, 1, Denied(0, minutes{10} + seconds{12}, minutes{11})},
               {minutes{15} + seconds{12}, 1, Allowed(0, seconds{60})}});
}

TEST_F(BanTest, LastsWhenThePolicysBanIsShortenedOrRemoved) {
  for (const char* word : {"5/m,ban=15d", "5/m,fixed,ban=15d"}) {
    const Limit banning = LimitOf(word);
    const LimitOwner policy{PolicyId{1}, 0};
    LimitShape shape = banning.shape();
    Use(banning.OwnedBy(policy));
    ExpectOrBan({{seconds{0}, 5, Allowed(0, seconds{60})}});
    bucket_ = DecideOrBan(limit_, bucket_, kNow, 1, max_wait_).bucket;
    for (const Nanos ban : {Nanos{0}, Nanos{minutes{1}}}) {
      shape.ban = ban;
      limit_ = Limit::Create(shape)->OwnedBy(policy, {.ban = banning.shape().ban});
      EXPECT_EQ(LeftAt(hours{1}), hours{24 * 15 - 1});
      EXPECT_EQ(TimeToFull(limit_, bucket_, kNow),
                DecideLimit(limit_, bucket_, kNow, 0, max_wait_).decision.reset_after);
      EXPECT_EQ(UsedShare(limit_, bucket_, kNow), kWholeShare);
    }
    // A limit that never banned so long takes the time for a wrong one.
    limit_ = Limit::Create(shape)->OwnedBy(policy);
    EXPECT_EQ(LeftAt(hours{1}), seconds{0});
    EXPECT_GT(TimeToFull(limit_, bucket_, kNow), hours{24 * 15 - 1})
        << "it depends on the identity";
  }
}

// A limit that bans, with a bucket of it.
struct Offence {
  Limit limit = *SometimesBan(rc::gen::oneOf(AnyLimit(), FixedWindows::AnyLimit()));
  Nanos max_wait = *AnyMaxWait();
  // The last millisecond is for an end that is rounded up (WrittenEnd).
  Instant now =
      *AnyInstant(2 * kPeriodMax + limit.capacity() + max_wait + std::chrono::milliseconds{1});
  Bucket bucket = limit.shape().algorithm == Algorithm::kTokenBucket
                      ? *AnyBucket(limit, now, max_wait)
                      : *FixedWindows::AnyBucket(limit, now);

  [[nodiscard]] Step Decide(Bucket from, Instant at, std::uint64_t cost) const {
    return DecideOrBan(limit, from, at, cost, max_wait);
  }
};

TEST(BanLawTest, L24EndsAtTheInstantThatWasTold) {
  std::int64_t bans = 0;
  std::int64_t none = 0;
  CheckLaw(100'000, [&] {
    const Offence s;
    const Nanos length = s.limit.shape().ban;
    const std::uint64_t cost = *AnyCost(s.limit);
    const Decision denial = DecideLimit(s.limit, s.bucket, s.now, cost, s.max_wait).decision;
    if (length == Nanos{0} || denial.allowed || denial.retry_after == kNever) return;
    const Bucket after = s.Decide(s.bucket, s.now, cost).bucket;
    const Nanos left = BanLeft(s.limit, after, s.now, s.max_wait);
    if (left == Nanos{0}) {
      ++none;
      RC_ASSERT(!s.Decide(after, s.now + length - Nanos{1}, 1).decision.allowed);
      return;
    }
    ++bans;
    const bool is_bucket = s.limit.shape().algorithm == Algorithm::kTokenBucket;
    RC_ASSERT(left >= length);
    if (is_bucket) RC_ASSERT(left <= length + Nanos{1});
    // Denials, at any time before its end, change nothing.
    Instant at = s.now;
    for (int i = 0; i < 5; ++i) {
      at += Nanos{*Between<std::int64_t>(0, (s.now + left - at).count() - 1)};
      const Step step = s.Decide(after, at, *AnyCost(s.limit));
      RC_ASSERT(step.bucket == after);
      RC_ASSERT(step.decision.remaining == 0);
    }
    const Instant end = s.now + left;
    RC_ASSERT(!s.Decide(after, end - Nanos{1}, 1).decision.allowed);
    const Decision first = DecideLimit(s.limit, after, end, 0, s.max_wait).decision;
    // The end is rounded up to a whole nanosecond, in which more tokens may come back.
    const std::int64_t more = is_bucket
                                  ? 1 + s.limit.emission().denominator / s.limit.emission().period
                                  : s.limit.shape().count;
    RC_ASSERT(first.remaining >= (is_bucket ? 1 : s.limit.shape().count));
    RC_ASSERT(first.remaining <= more);
  });
  EXPECT_GE(bans, InWholeRuns(1'000));
  EXPECT_GE(none, InWholeRuns(100));
}

TEST(BanModelTest, RandomHistories) {
  std::int64_t bans = 0;
  CheckLaw(20'000, [&] {
    const Limit limit = *SometimesBan(rc::gen::oneOf(AnyLimit(), FixedWindows::AnyLimit()));
    Instant now = *AnyInstant();
    AnyOracle oracle(limit);
    Bucket bucket;
    Decision last = oracle.Look(now, 0);
    for (const Move& move : *AnyHistory()) {
      now = NextInstant(move, limit, last, now);
      const std::uint64_t cost = CostOf(move, limit, last);
      if (move.part % 8 == 0 && cost > 0) {
        bucket = RefundLimit(limit, bucket, now, cost, Nanos{0});
        oracle.Refund(now, cost);
      }
      const Step step = DecideOrBan(limit, bucket, now, cost, Nanos{0});
      last = oracle.Look(now, cost);
      if (!last.allowed && last.retry_after != kNever && oracle.Ban(now)) {
        ++bans;
        last = oracle.Look(now, cost);
      }
      oracle.Charge(now, cost);
      if (step.decision != last) RC_FAIL(Difference(now, cost, step.decision, last));
      RC_ASSERT(BanLeft(limit, step.bucket, now, Nanos{0}) == oracle.BanLeft(now));
      bucket = step.bucket;
    }
  });
  EXPECT_GE(bans, InWholeRuns(10'000));
}

}  // namespace
}  // namespace weir
