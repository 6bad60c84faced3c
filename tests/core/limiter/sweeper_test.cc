// Goal: sweeping changes no answer, drops full buckets and nothing else, frees memory and ids, and
// says how fast to continue. Method: tables with full and other buckets, in one partition and over
// many.
#include "core/limiter/sweeper.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "core/base/check.h"
#include "core/limiter/limiter.h"
#include "core/table/key_bound.h"
#include "tests/random/generators.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SweeperTest : public testing::Test {
 protected:
  Verdict Ask(const std::string& key, const Limit& limit, Instant now, std::int64_t cost = 1) {
    const absl::StatusOr<Verdict> verdict = limiter_->Decide(
        {{.key = key, .limit = &limit, .cost = cost, .hash = limiter_->Hash(key)}}, now);
    WEIR_CHECK(verdict.ok());
    return *verdict;
  }

  // Sweeps every partition once.
  void Lap(Instant now) {
    for (std::size_t step = 1; step < kPartitionCount; ++step) EXPECT_FALSE(sweeper_.Step(now));
    EXPECT_TRUE(sweeper_.Step(now));
  }

  std::size_t buckets() { return upkeep_.size().buckets; }

  std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{.secret = {7}});
  LimiterUpkeep upkeep_{limiter_->table()};
  Sweeper sweeper_{limiter_->table()};
  const Limit limit_ = LimitOf("10/s");
  const Instant start_ = FakeClock::kStart;
};

TEST_F(SweeperTest, ALapVisitsEveryPartitionOnce) {
  for (std::uint64_t lap = 1; lap <= 3; ++lap) {
    Lap(start_);
    EXPECT_EQ(sweeper_.laps(), lap);
  }
  EXPECT_EQ(sweeper_.dropped(), 0U);
}

// Many holds that expire at once stop no request for long: a lap leaves some, and the next is soon.
TEST_F(SweeperTest, SettlesTheHoldsOfAPartitionInSeveralLaps) {
  constexpr std::size_t kPerLap = Sweeper::kVisitsPerHold / LimiterUpkeep::kSlotsPerSettled +
                                  Sweeper::kMoreDue * Sweeper::kDueAtOnce;
  for (std::size_t i = 0; i < 2 * kPerLap + 1; ++i) {
    const Request request = {
        {.key = "k", .limit = &limit_, .cost = 0, .hash = limiter_->Hash("k")}};
    ASSERT_TRUE(
        limiter_->DecideAndHold(request, {.id = std::to_string(i), .ttl = seconds{1}}, start_)
            .ok());
  }
  const Instant end = start_ + seconds{1};
  for (const std::size_t left : {kPerLap + 1, std::size_t{1}, std::size_t{0}}) {
    Lap(end);
    EXPECT_EQ(upkeep_.counts().open_holds, left);
    EXPECT_EQ(sweeper_.LapTime(), left > 0 ? Sweeper::kBusyLap : Sweeper::kCalmLap);
  }
}

TEST_F(SweeperTest, DropsFullBucketsAndNothingElse) {
  for (int i = 0; i < 100; ++i) Ask("one" + std::to_string(i), limit_, start_);
  for (int i = 0; i < 50; ++i) Ask("two" + std::to_string(i), limit_, start_, 2);
  Lap(start_ + milliseconds{100} - Nanos{1});
  EXPECT_EQ(buckets(), 150U);
  Lap(start_ + milliseconds{100});  // One token is back, so buckets that lacked one are full.
  EXPECT_EQ(buckets(), 50U);
  EXPECT_EQ(sweeper_.dropped(), 100U);
  Lap(start_ + milliseconds{200});
  EXPECT_EQ(buckets(), 0U);
  EXPECT_EQ(sweeper_.dropped(), 150U);
}

TEST_F(SweeperTest, ChangesNoAnswer) {
  std::unique_ptr<Limiter> swept = std::make_unique<Limiter>(LimiterOptions{.secret = {7}});
  Sweeper sweeper(swept->table());
  const std::vector<Limit> limits = {LimitOf("3/s"), LimitOf("7/11ms"), LimitOf("1/h,burst=2")};
  Instant now = start_;
  for (std::int64_t step = 0; step < Scaled(20'000); ++step) {
    const std::string key = std::to_string(step * 7 % 13);
    const Limit& limit = limits[static_cast<std::size_t>(step % 3)];
    const Request request = {
        {.key = key, .limit = &limit, .cost = step % 4, .hash = limiter_->Hash(key)}};
    const absl::StatusOr<Verdict> expected = limiter_->Decide(request, now);
    const absl::StatusOr<Verdict> verdict = swept->Decide(request, now);
    ASSERT_TRUE(expected.ok() && verdict.ok());
    ASSERT_EQ(verdict->decisions[0], expected->decisions[0]) << "step " << step;
    now += Nanos{step * 7919 % 1'000'003 * 100};
    for (int i = 0; i < 500; ++i) sweeper.Step(now);
  }
  EXPECT_GT(sweeper.dropped(), 0U);
}

// A step takes the lock repeatedly until it has visited the whole partition.
TEST_F(SweeperTest, OneStepEmptiesAPartitionOfAnySize) {
  const KeyHasher hasher({7});
  const std::size_t partition = hasher("0").partition;
  std::size_t count = 0;
  for (std::size_t i = 0; count <= 2 * Sweeper::kVisitsPerHold; ++i) {
    const std::string key = std::to_string(i);
    if (hasher(key).partition != partition) continue;
    for (std::size_t rate = 1; rate <= kKeyBucketsMax; ++rate, ++count) {
      Ask(key, LimitOf(std::to_string(rate) + "/h"), start_);
    }
  }
  EXPECT_EQ(buckets(), count);
  const Instant later = start_ + std::chrono::hours{1};
  std::size_t steps = 0;
  while (buckets() > 0) {
    const std::size_t before = buckets();
    sweeper_.Step(later);
    EXPECT_TRUE(buckets() == before || buckets() == 0);
    ASSERT_LE(++steps, kPartitionCount);
  }
  EXPECT_EQ(sweeper_.dropped(), count);
}

// Partitions that are small keep their memory: shrinking them is not worth its cost.
TEST_F(SweeperTest, GivesMemoryBack) {
  constexpr std::size_t kSlotBytes = 24;
  for (int i = 0; i < 100'000; ++i) Ask(std::to_string(i), limit_, start_);
  EXPECT_GT(upkeep_.size().table_bytes, 100'000 * kSlotBytes);
  Lap(start_ + seconds{1});
  EXPECT_LT(upkeep_.size().table_bytes, kPartitionCount * 16 * (kSlotBytes + 1) / 10);
}

TEST_F(SweeperTest, TakesIdsOfLimitsBackOnceManyAreIdle) {
  const std::size_t few = Sweeper::kIdleLimitsMin - 1;
  for (std::size_t i = 1; i <= few; ++i) Ask("k", LimitOf(std::to_string(i) + "/h"), start_);
  const Instant later = start_ + std::chrono::hours{1};
  Lap(later);
  EXPECT_EQ(buckets(), 0U);
  EXPECT_EQ(upkeep_.size().limits, few);  // Too few to lock the whole table for.
  Ask("k", LimitOf("1/d"), later);
  Ask("k", LimitOf("1/2d"), later);
  Lap(later + std::chrono::days{1});
  // 1/2d still has a bucket; all other limits are idle, and there are enough of them.
  EXPECT_EQ(buckets(), 1U);
  EXPECT_EQ(upkeep_.size().limits, 1U);
  EXPECT_EQ(limiter_->Inspect("k", later + std::chrono::days{1}).size(), 1U);
}

// Many more ids are idle than are reclaimed at a time.
TEST_F(SweeperTest, TakesAllIdleIdsBackInOneLap) {
  for (std::size_t i = 1; i <= 3 * Sweeper::kReclaimsPerStop + 5; ++i) {
    Ask(std::to_string(i), LimitOf(std::to_string(i) + "/h"), start_);
  }
  Lap(start_ + std::chrono::hours{1});
  EXPECT_LT(upkeep_.size().limits, Sweeper::kIdleLimitsMin);
}

// The sweeper is busy while a lap drops more than an eighth of what it leaves.
TEST_F(SweeperTest, ThePaceFollowsTheWork) {
  EXPECT_EQ(sweeper_.LapTime(), Sweeper::kBusyLap);
  Lap(start_);
  EXPECT_EQ(sweeper_.LapTime(), Sweeper::kCalmLap);
  const Limit slow = LimitOf("1/d");
  for (int i = 0; i < 80; ++i) Ask("slow" + std::to_string(i), slow, start_);
  for (int i = 0; i < 10; ++i) Ask("fast" + std::to_string(i), limit_, start_);
  Lap(start_ + seconds{1});  // Drops 10, leaves 80.
  EXPECT_EQ(sweeper_.LapTime(), Sweeper::kCalmLap);
  for (int i = 0; i < 11; ++i) Ask("fast" + std::to_string(i), limit_, start_ + seconds{1});
  Lap(start_ + seconds{2});  // Drops 11, leaves 80.
  EXPECT_EQ(sweeper_.LapTime(), Sweeper::kBusyLap);
  Lap(start_ + seconds{2});
  EXPECT_EQ(sweeper_.LapTime(), Sweeper::kCalmLap);
}

}  // namespace
}  // namespace weir
