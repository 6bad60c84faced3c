// Goal: a bucket whose limit got new numbers keeps its debt as long as its owner allows, and no
// longer. Method: one debt of an hour, decided by limits of a minute.
#include "core/rules/rule.h"

#include <chrono>

#include "gtest/gtest.h"

#include "core/rules/fixed_window.h"
#include "core/rules/sliding_window.h"
#include "tests/core/rules/rule_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

class DebtTest : public testing::Test {
 protected:
  // How long the debt lasts under a limit.
  [[nodiscard]] Nanos SeenBy(const Limit& limit, Nanos max_wait = Nanos{0}) const {
    return DecideLimit(limit, bucket_, kNow, 0, max_wait).decision.reset_after;
  }

  const Limit longer_ = LimitOf("10/h");
  const Limit shorter_ = LimitOf("10/m");
  const LimitOwner policy_{PolicyId{1}, 0};
  const Bucket bucket_ = DecideLimit(longer_, Bucket{}, kNow, 10, Nanos{0}).bucket;
};

// Empty, and then as much again or the longest wait.
TEST_F(DebtTest, IsCutToTwiceTheCapacityOfALimitWithoutAnOwner) {
  EXPECT_EQ(SeenBy(longer_), hours{1});
  EXPECT_EQ(SeenBy(shorter_), minutes{2});
  EXPECT_EQ(SeenBy(shorter_, minutes{5}), minutes{6});
}

TEST_F(DebtTest, LastsIfThePolicysLimitHasHadThatCapacity) {
  EXPECT_EQ(SeenBy(shorter_.OwnedBy(policy_, {.capacity = longer_.capacity()})), hours{1});
  EXPECT_EQ(SeenBy(shorter_.OwnedBy(policy_, {.capacity = minutes{20}})), minutes{40});
  EXPECT_EQ(SeenBy(shorter_.OwnedBy(policy_, {.capacity = minutes{20}}), minutes{25}), minutes{45});
  EXPECT_EQ(SeenBy(shorter_.OwnedBy(policy_)), minutes{2});
}

// The numbers that are asked now bound what a charge may leave, whatever they were.
TEST_F(DebtTest, OfAChargeIsBoundedByThePresentNumbers) {
  const Limit lowered = shorter_.OwnedBy(policy_, {.capacity = longer_.capacity()});
  const Bucket charged = ChargeLimit(lowered, Bucket{}, kNow, 1000, Nanos{0});
  EXPECT_EQ(DecideLimit(lowered, charged, kNow, 0, Nanos{0}).decision.reset_after, minutes{2});
  EXPECT_EQ(UsedTokens(lowered, charged, kNow, Nanos{0}), 20);
  EXPECT_EQ(ChargeLimit(lowered, bucket_, kNow, 1000, Nanos{0}), bucket_);
}

// Windows that are cut keep what a charge may have left under the greatest count.
TEST_F(DebtTest, OfAWindowIsCutToTwiceTheGreatestCount) {
  const Bucket fixed = BucketOf(FixedWindow{kNow + hours{9}, kBannedUsed});
  EXPECT_EQ(UsedTokens(LimitOf("10/m,fixed"), fixed, kNow, Nanos{0}), 20);
  EXPECT_EQ(UsedTokens(LimitOf("10/m,fixed").OwnedBy(policy_), fixed, kNow, Nanos{0}),
            2 * kWindowCountMax);
  const auto number = static_cast<std::uint32_t>(kNow.time_since_epoch() / minutes{1});
  const Bucket sliding = BucketOf(SlidingWindow{number + 9, INT32_MAX, 0});
  EXPECT_EQ(UsedTokens(LimitOf("10/m,sliding"), sliding, kNow, Nanos{0}), 20);
  EXPECT_EQ(UsedTokens(LimitOf("10/m,sliding").OwnedBy(policy_), sliding, kNow, Nanos{0}),
            INT32_MAX);
}

TEST_F(DebtTest, LastsUnderAnyNumbersOfClThrottle) {
  EXPECT_EQ(SeenBy(shorter_.OwnedBy(kThrottleOwner)), hours{1});
}

}  // namespace
}  // namespace weir
