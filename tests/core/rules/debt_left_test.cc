// Goal: DebtLeft tells the first instant at which no more than all is used and no ban runs. Method:
// a table for each algorithm; the law for random limits, buckets and instants.
#include <chrono>

#include "gtest/gtest.h"

#include "core/rules/rule.h"
#include "tests/core/rules/rule_fixture.h"
#include "tests/random/windows.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class DebtLeftTest : public RuleFixture {
 protected:
  DebtLeftTest() : RuleFixture("3/m") {}

  void Charge(std::uint64_t cost, Nanos at = Nanos{0}) {
    bucket_ = ChargeLimit(limit_, bucket_, kNow + at, cost, max_wait_);
  }
  [[nodiscard]] Nanos LeftAt(Nanos at) const {
    return DebtLeft(limit_, bucket_, kNow + at, max_wait_);
  }
};

TEST_F(DebtLeftTest, TokenBucketOwesUntilOneTokenMoreWouldBeThere) {
  EXPECT_EQ(LeftAt(Nanos{0}), Nanos{0});
  Charge(3);
  EXPECT_EQ(LeftAt(Nanos{0}), Nanos{0}) << "it is used up";
  Charge(2);
  EXPECT_EQ(LeftAt(Nanos{0}), seconds{40});
  EXPECT_EQ(LeftAt(seconds{40} - Nanos{1}), Nanos{1});
  EXPECT_EQ(LeftAt(seconds{40}), Nanos{0});
}

TEST_F(DebtLeftTest, FixedWindowOwesUntilItsEnd) {
  Use("3/m,fixed,aligned");
  Charge(3, seconds{10});
  EXPECT_EQ(LeftAt(seconds{10}), Nanos{0});
  Charge(1, seconds{10});
  EXPECT_EQ(LeftAt(seconds{10}), seconds{50});
  EXPECT_EQ(LeftAt(seconds{60}), Nanos{0});
}

TEST_F(DebtLeftTest, SlidingWindowOwesUntilEnoughHasFaded) {
  Use("3/m,sliding");
  Charge(4);
  EXPECT_EQ(LeftAt(Nanos{0}), seconds{75});
  EXPECT_EQ(LeftAt(seconds{75} - Nanos{1}), Nanos{1});
  EXPECT_EQ(LeftAt(seconds{75}), Nanos{0});
}

TEST_F(DebtLeftTest, BanCountsAsADebt) {
  for (const char* limit : {"3/m,ban=1h", "3/m,fixed,ban=1h"}) {
    Use(limit);
    Charge(3);
    bucket_ = BanLimit(limit_, bucket_, kNow, max_wait_);
    EXPECT_EQ(LeftAt(minutes{1}), minutes{59}) << limit;
    EXPECT_EQ(LeftAt(hours{1}), Nanos{0}) << limit;
  }
}

TEST_F(DebtLeftTest, LimitsWithoutABucket) {
  Use(Limit::Unlimited());
  EXPECT_EQ(LeftAt(Nanos{0}), Nanos{0});
  Use(Limit::None());
  EXPECT_EQ(LeftAt(Nanos{0}), kNever);
}

// Requires: instants with room for every wait.
void ExpectFirstWithoutDebt(const Limit& limit, Bucket bucket, Instant now) {
  if (*Between(0, 1) == 0) {
    bucket = ChargeLimit(limit, bucket, now, *AnyCost(limit), kMaxWaitMax);
  }
  const Nanos left = DebtLeft(limit, bucket, now, kMaxWaitMax);
  const std::int64_t used = UsedTokens(limit, bucket, now, kMaxWaitMax);
  if (used < kCountMax) RC_ASSERT((left > Nanos{0}) == (used > limit.capacity_tokens()));
  if (left == Nanos{0}) return;
  RC_ASSERT(DebtLeft(limit, bucket, now + left - Nanos{1}, kMaxWaitMax) == Nanos{1});
  RC_ASSERT(DebtLeft(limit, bucket, now + left, kMaxWaitMax) == Nanos{0});
}

TEST(DebtLeftLawTest, TokenBuckets) {
  CheckLaw(10'000, [] {
    const Limit limit = *AnyLimit();
    const Instant now = *AnyInstant(kCapacityMax);
    ExpectFirstWithoutDebt(limit, *AnyBucket(limit, now, kMaxWaitMax), now);
  });
}

template <typename Windows>
class DebtLeftOfWindowsTest : public testing::Test {};
TYPED_TEST_SUITE(DebtLeftOfWindowsTest, EveryWindows, WindowsName);

TYPED_TEST(DebtLeftOfWindowsTest, EndsWhenToldAndNotSooner) {
  CheckLaw(5'000, [] {
    const Limit limit = *TypeParam::AnyLimit();
    const Instant now = *AnyWindowInstant(limit);
    ExpectFirstWithoutDebt(limit, *TypeParam::AnyBucket(limit, now), now);
  });
}

}  // namespace
}  // namespace weir
