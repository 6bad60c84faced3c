// Goal: a bucket whose limit got new numbers keeps its debt as long as its owner allows, and no
// longer. Method: one debt of an hour, decided by limits of a minute.
#include "core/rules/rule.h"

#include <chrono>

#include "gtest/gtest.h"

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

TEST_F(DebtTest, IsCutToTheCapacityOfALimitWithoutAnOwner) {
  EXPECT_EQ(SeenBy(longer_), hours{1});
  EXPECT_EQ(SeenBy(shorter_), minutes{1});
  EXPECT_EQ(SeenBy(shorter_, minutes{5}), minutes{6});
}

TEST_F(DebtTest, LastsIfThePolicysLimitHasHadThatCapacity) {
  EXPECT_EQ(SeenBy(shorter_.OwnedBy(policy_, longer_.capacity())), hours{1});
  EXPECT_EQ(SeenBy(shorter_.OwnedBy(policy_, minutes{30})), minutes{30});
  EXPECT_EQ(SeenBy(shorter_.OwnedBy(policy_, minutes{30}), minutes{5}), minutes{35});
  EXPECT_EQ(SeenBy(shorter_.OwnedBy(policy_)), minutes{1});
}

TEST_F(DebtTest, LastsUnderAnyNumbersOfClThrottle) {
  EXPECT_EQ(SeenBy(shorter_.OwnedBy(kThrottleOwner)), hours{1});
}

}  // namespace
}  // namespace weir
