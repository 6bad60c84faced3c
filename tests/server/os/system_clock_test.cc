// Goal: the clock keeps the promises of core/base/clock.h whatever the operating system's clocks
// do. Method: two clocks that the test sets.
#include "server/os/system_clock.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/rules/token_bucket.h"
#include "tests/random/generators.h"
#include "tests/support/printing.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr Instant At(Nanos since_epoch) { return Instant{since_epoch}; }

struct OsClocks {
  std::atomic<Nanos> wall{hours{500'000}};
  std::atomic<Nanos> boot{seconds{1000}};

  SystemClock::Source source() {
    return {.wall = [this] { return wall.load(); }, .boot = [this] { return boot.load(); }};
  }
};

TEST(SystemClockTest, StartsAtTheWallClockAndRunsWithTheBootClock) {
  OsClocks os;
  const SystemClock clock(os.source());
  EXPECT_EQ(clock.Now(), At(hours{500'000}));
  os.boot = seconds{1001};
  EXPECT_EQ(clock.Now(), At(hours{500'000} + seconds{1}));
}

TEST(SystemClockTest, SettingTheWallClockDoesNotMoveIt) {
  OsClocks os;
  const SystemClock clock(os.source());
  EXPECT_EQ(clock.OffsetToWallClock(), Nanos{0});
  for (const Nanos wall : {Nanos{hours{500'001}}, Nanos{hours{499'999}}, Nanos{0}}) {
    os.wall = wall;
    EXPECT_EQ(clock.Now(), At(hours{500'000}));
    EXPECT_EQ(clock.OffsetToWallClock(), wall - hours{500'000});
  }
}

TEST(SystemClockTest, NeverDecreases) {
  OsClocks os;
  const SystemClock clock(os.source());
  os.boot = seconds{1005};
  EXPECT_EQ(clock.Now(), At(hours{500'000} + seconds{5}));
  for (const Nanos boot : {seconds{1004}, seconds{999}, seconds{0}, seconds{-1}}) {
    os.boot = boot;
    EXPECT_EQ(clock.Now(), At(hours{500'000} + seconds{5}));
  }
  os.boot = seconds{1006};
  EXPECT_EQ(clock.Now(), At(hours{500'000} + seconds{6}));
}

TEST(SystemClockTest, StaysInItsRange) {
  for (const Nanos start : {Nanos::min(), Nanos{-1}, Nanos{0}, Nanos{1}, Nanos::max()}) {
    for (const Nanos boot_start : {Nanos::min(), Nanos{0}, Nanos::max()}) {
      OsClocks os;
      os.wall = start;
      os.boot = boot_start;
      const SystemClock clock(os.source());
      for (const Nanos boot : {Nanos::min(), Nanos{0}, Nanos{1}, Nanos::max()}) {
        os.boot = boot;
        EXPECT_GE(clock.Now(), Instant{});
        EXPECT_LE(clock.Now(), kInstantMax);
      }
    }
  }
}

TEST(SystemClockTest, NoThreadSeesItDecreaseThoughTheBootClockTrembles) {
  OsClocks os;
  const SystemClock clock(os.source());
  std::atomic<Nanos::rep> highest{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int step = 0; step < 20'000; ++step) {
        const Nanos::rep seen = highest.load();
        os.boot = seconds{1000} + Nanos{step + (step * 7 + i) % 13 - 6};
        const Nanos::rep now = clock.Now().time_since_epoch().count();
        EXPECT_GE(now, seen);
        Nanos::rep before = highest.load();
        while (before < now && !highest.compare_exchange_weak(before, now)) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SystemClockTest, TheOperatingSystemsIsNearTheWallClock) {
  const SystemClock clock;
  EXPECT_GT(clock.Now(), At(hours{24 * 365 * 55}));  // 2025
  EXPECT_LT(abs(clock.OffsetToWallClock()), hours{1});
  Instant last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const Instant now = clock.Now();
    EXPECT_GE(now, last);
    last = now;
  }
}

// Goal: a wall clock that went back between two runs creates no token and locks no key out; a wall
// clock that did not go back is believed, however short the time between the runs.
TEST(SystemClockTest, GoesOnFromThePastOnlyWhereTheWallClockIsBehindIt) {
  const auto start = [](Nanos wall, SystemClock::PreviousRun past) {
    return SystemClock({.wall = [wall] { return wall; }, .boot = [] { return Nanos{5}; }}, past)
        .Now()
        .time_since_epoch();
  };
  const SystemClock::PreviousRun past{.last_time = Instant{Nanos{1000}}, .uncertainty = Nanos{20}};
  EXPECT_EQ(start(Nanos{999}, past), Nanos{1020});
  EXPECT_EQ(start(Nanos{1000}, past), Nanos{1000});
  EXPECT_EQ(start(Nanos{1001}, past), Nanos{1001});
  EXPECT_EQ(start(Nanos{7}, {}), Nanos{7});
  OsClocks os;
  EXPECT_TRUE(SystemClock(os.source(), {.last_time = At(hours{600'000})}).began_past_wall_clock());
  EXPECT_FALSE(SystemClock(os.source(), {.last_time = At(hours{400'000})}).began_past_wall_clock());
}

// Goal: a wall clock that is an hour behind moves a bucket by no more than the unknown time.
// Method: a bucket is emptied in one run; in the next, its only token is available exactly when its
// period has passed on the running clock.
TEST(SystemClockTest, AWallClockThatWentBackCreatesNoTokenAndLocksNoKeyOut) {
  const Limit limit = LimitOf("1/m");
  OsClocks os;
  const Instant stopped = SystemClock(os.source()).Now();
  const Bucket bucket = DecideTokenBucket(limit, Bucket(), stopped, 1, Nanos{0}).bucket;

  os.wall = os.wall.load() - hours{1};
  const SystemClock after(os.source(), {.last_time = stopped, .uncertainty = seconds{2}});
  const auto allowed = [&] {
    return DecideTokenBucket(limit, bucket, after.Now(), 1, Nanos{0}).decision.allowed;
  };
  EXPECT_FALSE(allowed());
  os.boot = os.boot.load() + seconds{58} - Nanos{1};
  EXPECT_FALSE(allowed());
  os.boot = os.boot.load() + Nanos{1};
  EXPECT_TRUE(allowed());
}

// Goal: durations are right. Method: both clocks measure the same two milliseconds. A pause of this
// thread between two readings spoils a round, so one good round of many is enough.
TEST(SystemClockTest, TheStopwatchRunsAsTheClockDoes) {
  const SystemClock clock;
  bool agreed = false;
  for (int round = 0; round < 100 && !agreed; ++round) {
    const Instant begin = clock.Now();
    const Nanos lap = clock.Stopwatch();
    while (clock.Now() - begin < std::chrono::milliseconds{2}) {
    }
    const Nanos measured = clock.Stopwatch() - lap;
    const Nanos passed = clock.Now() - begin;
    agreed = measured > passed * 98 / 100 && measured < passed * 102 / 100;
  }
  EXPECT_TRUE(agreed);
}

// A clock of a test supplies the stopwatch's readings, too.
TEST(SystemClockTest, TheStopwatchOfATestIsItsBootTime) {
  const SystemClock clock({.wall = [] { return Nanos{5}; }, .boot = [] { return Nanos{1234}; }});
  EXPECT_EQ(clock.Stopwatch(), Nanos{1234});
}

}  // namespace
}  // namespace weir
