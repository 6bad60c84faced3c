// Goal: no other thread's call comes between the calls of an isolation, and a watched key counts as
// changed exactly when a request has charged or refunded it. Method: one change after the other by
// hand; threads at a frozen clock, whose isolations must always see two keys equal.
#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/isolation.h"
#include "core/limiter/limiter.h"
#include "tests/core/limiter/limiter_fixture.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LimiterIsolationTest : public LimiterFixture {
 protected:
  bool IsUnchanged(const WatchedKey& watched) {
    return weir::IsUnchanged(limiter_->table(), watched, now_);
  }
};

TEST_F(LimiterIsolationTest, ChargesAndRefundsAreChanges) {
  Decide({{"k", "10/s"}});
  const WatchedKey watched = Watch(limiter_->table(), "k", now_);
  EXPECT_TRUE(IsUnchanged(watched));
  Decide({{"other", "10/s"}});
  EXPECT_TRUE(IsUnchanged(watched));
  Decide({{"k", "10/s"}});
  EXPECT_FALSE(IsUnchanged(watched));
  limiter_->Refund(Of({{"k", "10/s"}}), now_);
  EXPECT_TRUE(IsUnchanged(watched)) << "it is as it was";
  limiter_->Refund(Of({{"k", "10/s"}}), now_);
  EXPECT_FALSE(IsUnchanged(watched));
}

TEST_F(LimiterIsolationTest, DenialsLooksAndZeroCostsAreNoChanges) {
  Decide({{"k", "1/m"}});
  const WatchedKey watched = Watch(limiter_->table(), "k", now_);
  Decide({{"k", "1/m"}});
  Decide({{"k", "1/m", 0}});
  Peek({{"k", "1/m"}, {"k", "7/h"}});
  EXPECT_TRUE(IsUnchanged(watched));
}

TEST_F(LimiterIsolationTest, ABucketThatFillsUpIsNoChange) {
  Decide({{"k", "10/s"}, {"k", "100/h,fixed"}, {"k", "100/h,sliding"}});
  const WatchedKey watched = Watch(limiter_->table(), "k", now_);
  now_ += milliseconds{50};
  EXPECT_TRUE(IsUnchanged(watched));
  now_ += std::chrono::hours{3};
  EXPECT_TRUE(IsUnchanged(watched));
  SweepAll();
  EXPECT_TRUE(IsUnchanged(watched));
  Decide({{"k", "10/s"}});
  EXPECT_FALSE(IsUnchanged(watched));
  now_ += seconds{1};
  EXPECT_TRUE(IsUnchanged(watched)) << "full again: as if nothing had been";
}

TEST_F(LimiterIsolationTest, BucketsThatComeAndGoAreChanges) {
  const WatchedKey absent = Watch(limiter_->table(), "k", now_);
  EXPECT_TRUE(IsUnchanged(absent));
  Decide({{"k", "10/s"}});
  EXPECT_FALSE(IsUnchanged(absent));
  const WatchedKey one = Watch(limiter_->table(), "k", now_);
  Decide({{"k", "5/s"}});
  EXPECT_FALSE(IsUnchanged(one)) << "another limit";
  const WatchedKey two = Watch(limiter_->table(), "k", now_);
  Reset("k", {"5/s"});
  EXPECT_FALSE(IsUnchanged(two));
  EXPECT_TRUE(IsUnchanged(one));
  upkeep_.Clear();
  EXPECT_FALSE(IsUnchanged(one));
  EXPECT_TRUE(IsUnchanged(absent));
}

TEST_F(LimiterIsolationTest, AnIsolationOfAllKeysMayClearAndReset) {
  Decide({{"a", "10/s"}});
  {
    const Isolation isolation(limiter_->table());
    EXPECT_EQ(upkeep_.size().buckets, 1U);
    EXPECT_EQ(upkeep_.CountLive(now_), 1U);
    upkeep_.Clear();
    Decide({{"b", "10/s"}});
    EXPECT_EQ(Reset("b"), 1U);
    SweepAll();
  }
  EXPECT_EQ(upkeep_.size().buckets, 0U);
}

// Two keys are touched only in isolation, one token of each at a time. So every look sees equally
// many tokens left of both, unless another thread comes between. The threads name the keys in both
// orders, and one thread clears everything in between.
TEST_F(LimiterIsolationTest, NoOtherThreadComesBetween) {
  const Limit limit = LimitOf("1/m,burst=1000000");
  const std::vector<std::string_view> keys = {"a", "b"};
  std::atomic<int> working = 2;
  const auto left = [&](std::string_view key) {
    return limiter_->Peek({{key, &limit, 0, nullptr, limiter_->Hash(key)}}, now_).remaining;
  };
  const auto charge = [&](bool backwards) {
    for (std::int64_t i = 0; i < Scaled(20'000); ++i) {
      const Isolation isolation(limiter_->table(), keys, {});
      EXPECT_EQ(left("a"), left("b"));
      for (const std::string_view key : {keys[backwards ? 1 : 0], keys[backwards ? 0 : 1]}) {
        EXPECT_TRUE(
            limiter_->Decide({{key, &limit, 1, nullptr, limiter_->Hash(key)}}, now_)->allowed);
      }
    }
    --working;
  };
  std::thread one(charge, false);
  std::thread other(charge, true);
  std::thread clearer([&] {
    while (working > 0) {
      {
        const Isolation isolation(limiter_->table());
        EXPECT_EQ(left("a"), left("b"));
        upkeep_.Clear();
        while (upkeep_.FreeDiscarded()) {
        }
        upkeep_.ReclaimLimits(1, 1);
      }
      upkeep_.Clear();
    }
  });
  one.join();
  other.join();
  clearer.join();
  EXPECT_EQ(left("a"), left("b"));
}

}  // namespace
}  // namespace weir
