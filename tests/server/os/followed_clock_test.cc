// Goal: the clock shows the primary's time, and goes back only when it begins to follow another
// primary. Method: a host's clock that the test moves; threads that read while another one changes
// the shift.
#include "server/os/followed_clock.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/printing.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kStart = FakeClock::kStart;

TEST(FollowedClockTest, IsTheHostsClockUntilItFollows) {
  FakeClock own;
  FollowedClock clock(own);
  EXPECT_EQ(clock.Now(), kStart);
  EXPECT_EQ(clock.shift(), Nanos{0});
  own.Advance(seconds{1});
  EXPECT_EQ(clock.Now(), kStart + seconds{1});
  clock.Fix(kStart + hours{1});  // It does not follow.
  EXPECT_EQ(clock.Now(), kStart + seconds{1});
}

TEST(FollowedClockTest, BeginsAtThePrimarysTimeWhichMayBeEarlier) {
  FakeClock own;
  FollowedClock clock(own);
  for (const Nanos shift : {Nanos{hours{2}}, Nanos{-hours{3}}, Nanos{hours{1}}, Nanos{0}}) {
    clock.Rebase(shift);
    EXPECT_EQ(clock.Now(), kStart + shift);
    EXPECT_EQ(clock.shift(), shift);
  }
}

TEST(FollowedClockTest, TheTimeOfTheHostIsThatOfItsOwnClockWhateverTheShift) {
  FakeClock own;
  FollowedClock clock(own);
  for (const Nanos shift : {Nanos{hours{2}}, Nanos{-hours{3}}, Nanos{0}}) {
    clock.Rebase(shift);
    own.Advance(seconds{1});
    EXPECT_EQ(clock.HostNow(), own.HostNow());
    EXPECT_EQ(clock.Read().now, clock.Now());
    EXPECT_EQ(clock.Read().host_now, own.HostNow());
    clock.Fix(Instant{});
    EXPECT_EQ(clock.HostNow(), own.HostNow());
  }
}

TEST(FollowedClockTest, StandsStillAfterASmallerShift) {
  FakeClock own;
  FollowedClock clock(own);
  clock.Rebase(milliseconds{500});
  EXPECT_EQ(clock.Now(), kStart + milliseconds{500});
  clock.SetShift(milliseconds{300});
  own.Advance(milliseconds{100});
  EXPECT_EQ(clock.Now(), kStart + milliseconds{500});
  own.Advance(milliseconds{200});
  EXPECT_EQ(clock.Now(), kStart + milliseconds{600});
  clock.SetShift(milliseconds{400});
  EXPECT_EQ(clock.Now(), kStart + milliseconds{700});
}

TEST(FollowedClockTest, APromotedClockGoesOnFromTheLatestOfAllTimes) {
  struct Case {
    Nanos told, shift, at_least, expected;
  };
  for (const Case& c :
       {Case{milliseconds{50}, milliseconds{20}, milliseconds{10}, milliseconds{50}},
        Case{milliseconds{50}, milliseconds{50}, milliseconds{70}, milliseconds{70}},
        Case{milliseconds{-90}, milliseconds{-80}, milliseconds{-95}, milliseconds{-80}}}) {
    FakeClock own;
    FollowedClock clock(own);
    clock.Rebase(c.told);
    EXPECT_EQ(clock.Now(), kStart + c.told);
    clock.SetShift(c.shift);
    clock.Fix(kStart + c.at_least);
    EXPECT_EQ(clock.Now(), kStart + c.expected);
    EXPECT_EQ(clock.shift(), c.expected);
    own.Advance(seconds{1});
    EXPECT_EQ(clock.Now(), kStart + c.expected + seconds{1});
    clock.Fix(kStart + hours{1});  // It leads already.
    EXPECT_EQ(clock.Now(), kStart + c.expected + seconds{1});
  }
}

// The time on disk holds the clock back until a promotion, and a primary's time beyond it.
TEST(FollowedClockTest, OnlyAPrimarysTimeIsKeptByAPromotion) {
  FakeClock own;
  FollowedClock clock(own);
  clock.RunOn(kStart - hours{8});
  EXPECT_EQ(clock.Now(), kStart - hours{8});
  own.Advance(seconds{1});
  EXPECT_EQ(clock.Now(), kStart - hours{8} + seconds{1});
  EXPECT_EQ(clock.Fix({}), Nanos{hours{8}});
  EXPECT_EQ(clock.Now(), kStart + seconds{1});
  EXPECT_EQ(clock.shift(), Nanos{0});

  clock.RunOn(kStart - hours{8});
  clock.Rebase(-hours{2});
  EXPECT_EQ(clock.Fix({}), Nanos{0});
  EXPECT_EQ(clock.Now(), kStart - hours{2} + seconds{1});
}

TEST(FollowedClockTest, ATimeOnDiskThatIsAheadIsKept) {
  FakeClock own;
  FollowedClock clock(own);
  clock.RunOn(kStart + hours{1});
  EXPECT_EQ(clock.Fix({}), Nanos{0});
  EXPECT_EQ(clock.Now(), kStart + hours{1});
}

// A host's clock that is read while something else happens.
class InterruptedClock final : public FakeClock {
 public:
  [[nodiscard]] Reading Read() const override {
    if (const auto interrupts = std::exchange(interrupts_, nullptr)) interrupts();
    return FakeClock::Read();
  }
  void InterruptNext(std::function<void()> interrupts) { interrupts_ = std::move(interrupts); }

 private:
  mutable std::function<void()> interrupts_;
};

TEST(FollowedClockTest, AnEarlierRunsShiftIsContinuedAndFixed) {
  for (const Nanos shift : {-Nanos{hours{2}}, Nanos{hours{2}}}) {
    FakeClock own;
    FollowedClock clock(own);
    clock.Continue(shift);
    EXPECT_EQ(clock.shift(), shift);
    EXPECT_EQ(clock.Now(), kStart + shift);
    EXPECT_EQ(clock.Fix(kStart + hours{3}), Nanos{0}) << "it does not follow";
    own.Advance(hours{1});
    EXPECT_EQ(clock.Now(), kStart + shift + hours{1});
    clock.Rebase(Nanos{hours{5}});
    EXPECT_EQ(clock.Now(), kStart + hours{6}) << "it may follow another primary";
  }
}

TEST(FollowedClockTest, AReaderDuringThePromotionTellsNoTimeThatIsTakenBack) {
  InterruptedClock own;
  FollowedClock clock(own);
  clock.Rebase(seconds{2});
  own.InterruptNext([&] {
    clock.SetShift(seconds{1});
    clock.Fix(kStart);
  });
  const Instant told = clock.Now();
  EXPECT_EQ(told, kStart + seconds{2});
  EXPECT_EQ(clock.Now(), told);
  own.Advance(seconds{3});
  EXPECT_EQ(clock.Now(), kStart + seconds{4});
}

TEST(FollowedClockTest, StaysInTheRangeOfAClock) {
  FakeClock own;
  FollowedClock clock(own);
  clock.Rebase(kInstantMax.time_since_epoch());
  EXPECT_EQ(clock.Now(), kInstantMax);
  clock.Rebase(-kInstantMax.time_since_epoch());
  EXPECT_EQ(clock.Now(), Instant{});
}

TEST(FollowedClockTest, NeverDecreasesOnAnyThreadWhileItFollowsAndAfter) {
  FakeClock own;
  FollowedClock clock(own);
  clock.Rebase(seconds{1});
  std::atomic<bool> stop{false};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      for (Instant last{}; !stop.load();) {
        const Instant now = clock.Now();
        ASSERT_GE(now, last);
        last = now;
      }
    });
  }
  std::minstd_rand random(1);
  std::uniform_int_distribution<Nanos::rep> step_ns(0, 1000);
  std::uniform_int_distribution<Nanos::rep> shift_ns(-1'000'000, 1'000'000);
  for (int step = 0; step < 20'000; ++step) {
    own.Advance(Nanos{step_ns(random)});
    clock.SetShift(seconds{1} + Nanos{shift_ns(random)});
  }
  clock.Fix(kStart);
  for (int step = 0; step < 1000; ++step) own.Advance(Nanos{100});
  stop = true;
}

}  // namespace
}  // namespace weir
