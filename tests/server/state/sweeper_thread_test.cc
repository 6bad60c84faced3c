// Goal: a thread drops full buckets without any request, and stops when asked to. Method: a real
// thread, over a table whose buckets become full by a fake clock.
#include "server/state/sweeper_thread.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "server/os/waiting_thread.h"
#include "tests/random/generators.h"
#include "tests/server/loopback.h"
#include "tests/support/fake_clock.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

TEST(SweeperThreadTest, DropsBucketsThatBecameFull) {
  FakeClock clock;
  Limiter limiter({.secret = RandomHashSecret()});
  Sweeper sweeper(limiter.table());
  Policies policies;
  const Limit minute = LimitOf("1/m");
  const Limit hour = LimitOf("1/h");
  constexpr std::size_t kKeys = 10'000;
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::string key = std::to_string(i);
    const Request request = {{.key = key, .limit = &minute, .hash = limiter.Hash(key)},
                             {.key = key, .limit = &hour, .hash = limiter.Hash(key)}};
    ASSERT_TRUE(limiter.Decide(request, clock.Now()).ok());
  }
  clock.Advance(std::chrono::minutes{1});
  WaitingThread waits("sweeper");
  const SweeperThread thread(waits, sweeper, policies, clock);
  EXPECT_TRUE(Eventually([&] { return sweeper.laps() >= 1; }));
  EXPECT_EQ(sweeper.dropped(), kKeys);
  EXPECT_EQ(LimiterUpkeep(limiter.table()).size().buckets, kKeys);
}

// The memos of limits may still use the overrides.
TEST(SweeperThreadTest, FreesTheOverridesOfDeletedPolicies) {
  FakeClock clock;
  Limiter limiter({.secret = RandomHashSecret()});
  Sweeper sweeper(limiter.table());
  Policies policies;
  WaitingThread waits("sweeper");
  const SweeperThread thread(waits, sweeper, policies, clock);
  ASSERT_TRUE(policies.Set("p", LimitsOf({"1/h"})).ok());
  ASSERT_TRUE(policies.Override("p", "k", LimitsOf({"2/h"})).ok());
  const std::shared_ptr<Overrides> overrides = policies.Find("p")->overrides;
  ASSERT_TRUE(policies.Delete("p").ok());
  EXPECT_TRUE(Eventually([&] { return overrides->empty(); }));
}

TEST(SweeperThreadTest, FreesWhatWasDiscarded) {
  for (const auto sweeps : {SweeperThread::Sweeps::kNo, SweeperThread::Sweeps::kYes}) {
    FakeClock clock;
    Limiter limiter({.secret = RandomHashSecret()});
    Sweeper sweeper(limiter.table());
    Policies policies;
    const Limit hour = LimitOf("1/h");
    ASSERT_TRUE(
        limiter.Decide({{.key = "k", .limit = &hour, .hash = limiter.Hash("k")}}, clock.Now())
            .ok());
    WaitingThread waits("sweeper");
    const SweeperThread thread(waits, sweeper, policies, clock, nullptr, sweeps);
    LimiterUpkeep(limiter.table()).Clear();
    EXPECT_TRUE(
        Eventually([&] { return LimiterUpkeep(limiter.table()).ReclaimLimits(1, 1) == 1; }));
  }
}

// Goal: many buckets that become full at one instant do not disturb other requests. Method: two
// thousand such buckets, and a bucket that is asked continuously: it counts down one by one.
TEST(SweeperThreadTest, ManyBucketsThatFillTogetherDisturbNoDecision) {
  FakeClock clock;
  Limiter limiter({.secret = RandomHashSecret()});
  Sweeper sweeper(limiter.table());
  Policies policies;
  const Limit minute = LimitOf("1/m");
  constexpr std::size_t kKeys = 2'000;
  for (std::size_t i = 0; i < kKeys; ++i) {
    const std::string key = std::to_string(i);
    ASSERT_TRUE(
        limiter.Decide({{.key = key, .limit = &minute, .hash = limiter.Hash(key)}}, clock.Now())
            .ok());
  }
  clock.Advance(std::chrono::minutes{1});
  const Limit year = LimitOf("1000000000/365d");
  std::int64_t left = 1'000'000'000;
  WaitingThread waits("sweeper");
  const SweeperThread thread(waits, sweeper, policies, clock);
  while (sweeper.laps() < 1) {
    const absl::StatusOr<Verdict> verdict = limiter.Decide(
        {{.key = "other", .limit = &year, .hash = limiter.Hash("other")}}, clock.Now());
    ASSERT_TRUE(verdict.ok());
    ASSERT_EQ(verdict->decisions[0].remaining, --left);
  }
  EXPECT_EQ(sweeper.dropped(), kKeys);
  EXPECT_EQ(LimiterUpkeep(limiter.table()).size().buckets, 1U);
}

TEST(SweeperThreadTest, TellsTheTimeBetweenSlices) {
  FakeClock clock;
  Limiter limiter({.secret = RandomHashSecret()});
  Sweeper sweeper(limiter.table());
  Policies policies;
  std::atomic<Instant> told{Instant{}};
  WaitingThread waits("sweeper");
  const SweeperThread thread(waits, sweeper, policies, clock, [&](Instant now) { told = now; });
  EXPECT_TRUE(Eventually([&] { return told.load() == FakeClock::kStart; }));
  clock.Advance(std::chrono::seconds{1});
  EXPECT_TRUE(Eventually([&] { return told.load() == clock.Now(); }));
}

TEST(SweeperThreadTest, StopsInTheMiddleOfALap) {
  FakeClock clock;
  Limiter limiter({.secret = RandomHashSecret()});
  Sweeper sweeper(limiter.table());
  Policies policies;
  WaitingThread waits("sweeper");
  for (int i = 0; i < 100; ++i) const SweeperThread thread(waits, sweeper, policies, clock);
  EXPECT_LT(sweeper.laps(), 100U);
}

}  // namespace
}  // namespace weir
