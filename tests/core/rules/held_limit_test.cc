// Goal: a held limit has as many tokens as its holds leave, and no time gives any back. Method: a
// table of decisions; the law for random holds, compared with a list of those that are open.
#include "core/rules/held_limit.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "gtest/gtest.h"

#include "core/rules/settlement.h"
#include "tests/core/rules/rule_fixture.h"
#include "tests/random/property.h"
#include "tests/support/limit_shapes.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::seconds;

class HeldLimitTest : public RuleFixture {
 protected:
  HeldLimitTest() : RuleFixture("unlimited") { Use(*Limit::Create(HeldShape(5))); }

  // Takes tokens with a hold of `ttl`. Returns whether they were there.
  bool Hold(Nanos at, std::uint64_t tokens, Nanos ttl) {
    const bool allowed = Ask(kNow + at, tokens).allowed;
    if (allowed) bucket_ = ExtendHeld(bucket_, kNow + at + ttl);
    return allowed;
  }
};

TEST_F(HeldLimitTest, TokensAreOutUntilTheyAreReturned) {
  EXPECT_TRUE(Hold(seconds{0}, 3, seconds{60}));
  EXPECT_TRUE(Hold(seconds{10}, 2, seconds{5}));
  Expect({{seconds{10}, 0, Allowed(0, seconds{50})},
          {seconds{10}, 1, Denied(0, seconds{50}, seconds{50})},
          {seconds{10}, 6, Denied(0, kNever, seconds{50})}});
  bucket_ = ReturnHeld(bucket_, 2);
  Expect({{seconds{15}, 0, Allowed(2, seconds{45})},
          {seconds{15}, 3, Denied(2, seconds{45}, seconds{45})}});
  bucket_ = ReturnHeld(bucket_, 3);
  EXPECT_EQ(bucket_, Bucket{});
}

TEST_F(HeldLimitTest, AllTokensAreThereAtTheLatestExpiry) {
  EXPECT_TRUE(Hold(seconds{0}, 4, seconds{60}));
  EXPECT_TRUE(Hold(seconds{0}, 1, seconds{1}));
  EXPECT_FALSE(Hold(seconds{60} - Nanos{1}, 1, seconds{1}));
  EXPECT_TRUE(IsFull(limit_, bucket_, kNow + seconds{60}));
  EXPECT_EQ(TimeToFull(limit_, bucket_, kNow), seconds{60});
  EXPECT_TRUE(Hold(seconds{60}, 5, seconds{1}));
  EXPECT_EQ(UsedTokens(limit_, bucket_, kNow + seconds{60}, max_wait_), 5);
}

TEST_F(HeldLimitTest, CountedAgainTheBucketIsTheSumOfItsHolds) {
  EXPECT_TRUE(Hold(seconds{0}, 3, seconds{60}));
  EXPECT_TRUE(Hold(seconds{10}, 2, seconds{5}));
  Bucket counted = AddHeld(Bucket{}, 2, kNow + seconds{15});
  counted = AddHeld(counted, 3, kNow + seconds{60});
  EXPECT_EQ(counted, bucket_);
  counted = AddHeld(AddHeld(counted, UINT64_MAX, kNow), UINT64_MAX, kNow);
  EXPECT_EQ(UsedInHeld(counted, kNow), kBannedExtra - 1) << "as many as fit";
}

TEST_F(HeldLimitTest, TokensToKeepMustBeLeft) {
  EXPECT_TRUE(Hold(seconds{0}, 2, seconds{60}));
  const auto decide = [&](std::uint64_t cost, std::uint64_t keep) {
    return DecideHeld(limit_, bucket_, kNow, cost, keep).decision;
  };
  EXPECT_TRUE(decide(1, 2).allowed);
  EXPECT_EQ(decide(1, 3).retry_after, seconds{60});
  EXPECT_EQ(decide(0, 6).retry_after, kNever);
}

// A policy's count was lowered while more were out.
TEST_F(HeldLimitTest, HasNoRoomWhileMoreAreOutThanItsCount) {
  EXPECT_TRUE(Hold(seconds{0}, 5, seconds{60}));
  limit_ = *Limit::Create(HeldShape(2));
  Expect({{seconds{0}, 1, Denied(0, seconds{60}, seconds{60})}});
  bucket_ = ReturnHeld(bucket_, 4);
  Expect({{seconds{0}, 1, Allowed(0, seconds{60})}});
}

TEST_F(HeldLimitTest, NeitherRefundNorChargeMovesATokenAndAnySettlementReturnsAll) {
  EXPECT_TRUE(Hold(seconds{0}, 3, seconds{60}));
  const Bucket held = bucket_;
  Refund(seconds{0}, 3);
  EXPECT_EQ(bucket_, held);
  EXPECT_EQ(ChargeLimit(limit_, held, kNow, 2, max_wait_), held);
  SettlementSums sums;
  for (const std::uint64_t true_cost : {0U, 3U, 9U}) {
    const Estimate estimate = EstimateOf(limit_, held, 3, sums);
    EXPECT_EQ(SettleLimit(limit_, held, kNow, estimate, true_cost, max_wait_, sums), Bucket{});
  }
}

TEST_F(HeldLimitTest, ShareIsOfTheCount) {
  EXPECT_TRUE(Hold(seconds{0}, 2, seconds{60}));
  EXPECT_EQ(UsedShare(limit_, bucket_, kNow), kWholeShare * 2 / 5);
}

TEST_F(HeldLimitTest, HasACountAndNothingElse) {
  const auto error = [](LimitShape shape) {
    return std::string(Limit::Create(shape).status().message());
  };
  LimitShape shape = HeldShape(0);
  EXPECT_EQ(error(shape), "count must be 1 to 2147483647 for a held limit");
  shape = HeldShape(5);
  shape.period = seconds{1};
  EXPECT_EQ(error(shape), "a held limit has a count only, as in 5,held");
  shape = HeldShape(5);
  shape.ban = seconds{1};
  EXPECT_EQ(error(shape), "ban= is for token buckets and fixed windows");
}

// Random holds of a limit of 1 to 20 tokens that are admitted, end early, or expire.
TEST(HeldLimitLawTest, L22OpenHoldsNeverExceedTheCount) {
  struct Open {
    std::uint64_t tokens;
    Instant expiry;
  };
  std::int64_t admitted = 0;
  std::int64_t denied = 0;
  CheckLaw(2'000, [&] {
    const std::int64_t count = *Between<std::int64_t>(1, 20);
    const Limit limit = *Limit::Create(HeldShape(count));
    Instant now = kNow;
    Bucket bucket;
    std::vector<Open> open;
    for (int step = 0; step < 50; ++step) {
      now += Nanos{*Between<std::int64_t>(0, 3)};
      std::erase_if(open, [&](const Open& hold) {
        if (hold.expiry > now) return false;
        bucket = ReturnHeld(bucket, hold.tokens);
        return true;
      });
      if (!open.empty() && *Between(0, 3) == 0) {
        bucket = ReturnHeld(bucket, open.back().tokens);
        open.pop_back();
      }
      std::int64_t out = 0;
      Nanos latest{0};
      for (const Open& hold : open) {
        out += static_cast<std::int64_t>(hold.tokens);
        latest = std::max(latest, hold.expiry - now);
      }
      const auto tokens = static_cast<std::uint64_t>(*Between<std::int64_t>(1, count));
      const Step step_of = DecideHeld(limit, bucket, now, tokens);
      const bool fits = out + static_cast<std::int64_t>(tokens) <= count;
      RC_ASSERT(step_of.decision.allowed == fits);
      RC_ASSERT(UsedInHeld(bucket, now) == out);
      if (!fits) {
        ++denied;
        RC_ASSERT(step_of.decision.retry_after >= latest);
        continue;
      }
      ++admitted;
      const Instant expiry = now + Nanos{*Between<std::int64_t>(1, 10)};
      bucket = ExtendHeld(step_of.bucket, expiry);
      open.push_back({tokens, expiry});
    }
  });
  EXPECT_GE(admitted, InWholeRuns(10'000));
  EXPECT_GE(denied, InWholeRuns(10'000));
}

}  // namespace
}  // namespace weir
