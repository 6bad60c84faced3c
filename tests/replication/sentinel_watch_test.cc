// Goal: law R12: a hello of an epoch at or below the floor deposes no primary, and for all
// interleavings of promotions, hellos and commands of Sentinel two servers end with one primary,
// the one that the Sentinels name. Method: small cases by hand; then two servers and three model
// Sentinels whose hellos are late by any time, with failovers in which the old primary yields,
// dies, or is cut off and comes back; the same with planted mistakes, which must be found. A
// primary that starts again during a failover does not open its gate before it is deposed.
#include "replication/sentinel_watch.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using Meaning = SentinelWatch::Meaning;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr HostInstant kFirst = FakeClock::kHostStart;

TEST(SentinelWatchTest, OnlyANewerEpochDeposes) {
  SentinelWatch watch(5);
  EXPECT_EQ(watch.Observe(4, false, kFirst), Meaning::kNothing);
  EXPECT_EQ(watch.Observe(5, false, kFirst), Meaning::kNothing);
  EXPECT_EQ(watch.Observe(5, true, kFirst), Meaning::kConfirms);
  EXPECT_EQ(watch.Observe(6, false, kFirst), Meaning::kDeposes);
  watch.RoleChanged();
  EXPECT_EQ(watch.floor(), 6U);
}

TEST(SentinelWatchTest, AConfirmationRaisesTheFloor) {
  SentinelWatch watch(5);
  EXPECT_EQ(watch.Observe(7, true, kFirst), Meaning::kConfirms);
  EXPECT_EQ(watch.Observe(6, false, kFirst), Meaning::kNothing);
  EXPECT_EQ(watch.Observe(7, false, kFirst), Meaning::kNothing);
  EXPECT_EQ(watch.floor(), 7U);
}

TEST(SentinelWatchTest, AServerThatStartsWithoutAFloorIsDeposedByAnyHello) {
  SentinelWatch watch;
  EXPECT_EQ(watch.Observe(0, false, kFirst), Meaning::kDeposes);
}

// Sentinel has promoted it, and hellos of before are still on their way.
TEST(SentinelWatchTest, AServerThatWasJustPromotedIsDeposedByNone) {
  SentinelWatch watch;
  watch.Promoted(kFirst);
  EXPECT_EQ(watch.Observe(0, false, kFirst), Meaning::kNothing);
  EXPECT_EQ(watch.Observe(1, false, kFirst), Meaning::kNothing);
  EXPECT_EQ(watch.Observe(2, true, kFirst), Meaning::kConfirms);
  EXPECT_EQ(watch.Observe(3, false, kFirst + kPromotionTime - Nanos{1}), Meaning::kNothing);
  EXPECT_EQ(watch.Observe(4, false, kFirst + kPromotionTime), Meaning::kDeposes);
}

TEST(SentinelWatchTest, TheFloorFallsWhenAllHellosAreBelowItForLong) {
  SentinelWatch watch(100);
  for (HostInstant now = kFirst; now < kFirst + kFloorFallTime; now += seconds{2}) {
    EXPECT_EQ(watch.Observe(3, false, now), Meaning::kNothing);
    EXPECT_EQ(watch.floor(), 100U);
  }
  EXPECT_EQ(watch.Observe(4, false, kFirst + kFloorFallTime), Meaning::kNothing);
  EXPECT_EQ(watch.floor(), 4U);
  EXPECT_EQ(watch.Observe(4, false, kFirst + kFloorFallTime), Meaning::kNothing);
  EXPECT_EQ(watch.Observe(5, false, kFirst + kFloorFallTime), Meaning::kDeposes);
}

TEST(SentinelWatchTest, TwoHellosFarApartAreNotAllOfThatTime) {
  SentinelWatch watch(100);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(watch.Observe(3, false, kFirst + i * kFloorFallTime), Meaning::kNothing);
  }
  EXPECT_EQ(watch.floor(), 100U);
}

TEST(SentinelWatchTest, OneHelloOfTheFloorKeepsIt) {
  SentinelWatch watch(100);
  for (HostInstant now = kFirst; now < kFirst + 3 * kFloorFallTime; now += seconds{2}) {
    EXPECT_EQ(watch.Observe(3, false, now), Meaning::kNothing);
    EXPECT_EQ(watch.Observe(100, true, now), Meaning::kConfirms);
  }
  EXPECT_EQ(watch.floor(), 100U);
}

TEST(SentinelWatchTest, ItIsConfirmedByTheSecondHelloOfASentinel) {
  SentinelWatch watch(5);
  const auto confirm = [&] {
    EXPECT_EQ(watch.Observe(5, true, kFirst), Meaning::kConfirms);
    EXPECT_EQ(watch.Observe(5, true, kFirst + kConfirmationTime - Nanos{1}), Meaning::kConfirms);
    EXPECT_FALSE(watch.is_confirmed());
    EXPECT_EQ(watch.Observe(5, true, kFirst + kConfirmationTime), Meaning::kConfirms);
    EXPECT_TRUE(watch.is_confirmed());
  };
  confirm();
  watch.RoleChanged();
  EXPECT_FALSE(watch.is_confirmed());
  confirm();
  watch.Promoted(kFirst);
  EXPECT_FALSE(watch.is_confirmed());
}

// The server was suspended, and the second one was sent before that.
TEST(SentinelWatchTest, ConfirmationsThatAreFarApartAreNone) {
  SentinelWatch watch(5);
  EXPECT_EQ(watch.Observe(5, true, kFirst), Meaning::kConfirms);
  EXPECT_EQ(watch.Observe(5, true, kFirst + 2 * kHelloTime + Nanos{1}), Meaning::kConfirms);
  EXPECT_FALSE(watch.is_confirmed());
}

TEST(SentinelWatchTest, ConfirmationsOfEarlierSentinelsAreNone) {
  SentinelWatch watch(100);
  EXPECT_EQ(watch.Observe(100, true, kFirst), Meaning::kConfirms);
  for (HostInstant now = kFirst; now <= kFirst + kFloorFallTime; now += seconds{2}) {
    EXPECT_EQ(watch.Observe(3, true, now), Meaning::kNothing);
  }
  EXPECT_EQ(watch.Observe(3, true, kFirst + kFloorFallTime), Meaning::kConfirms);
  EXPECT_FALSE(watch.is_confirmed());
}

enum class WatchBug {
  kNone,
  kNaive,    // no floor: every hello that names another server deposes
  kAtFloor,  // a hello of the floor's epoch deposes, too
  kNoRest,   // hellos depose at once after a promotion
};

// The watch of a server, with a mistake or without.
class BuggyWatch {
 public:
  explicit BuggyWatch(WatchBug bug) : bug_(bug) {}

  bool Deposes(std::uint64_t epoch, bool names_us, HostInstant now) {
    const std::optional<std::uint64_t> floor = watch_.floor();
    const Meaning meaning = watch_.Observe(epoch, names_us, now);
    if (bug_ == WatchBug::kNaive) return !names_us;
    if (bug_ == WatchBug::kAtFloor && floor == epoch) return !names_us;
    return meaning == Meaning::kDeposes;
  }
  void Promoted(HostInstant now) {
    if (bug_ == WatchBug::kNoRest) return watch_.RoleChanged();
    watch_.Promoted(now);
  }
  void RoleChanged() { watch_.RoleChanged(); }

 private:
  WatchBug bug_;
  SentinelWatch watch_;
};

constexpr Nanos kHelloAgeMax = seconds{2};
constexpr Nanos kFailoverTimeMax = seconds{1};

class PairSimulation {
 public:
  PairSimulation(std::uint64_t seed, WatchBug bug)
      : chance_(seed), servers_{Server{BuggyWatch(bug)}, Server{BuggyWatch(bug)}} {
    servers_[0].is_primary = true;
    link_lives_ = Below(2) == 0;
  }

  // The first law that is broken, or an empty text.
  std::string Run() {
    for (int step = 0; step < 200 && broken_.empty(); ++step) {
      now_ += milliseconds{static_cast<std::int64_t>(Below(200))};
      if (now_ - failover_.begun > kFailoverTimeMax) GoOnWithFailover();
      switch (Below(6)) {
        case 0:
          BeginFailover();
          break;
        case 1:
          GoOnWithFailover();
          break;
        default:
          SendHello();
      }
      Deliver(Below(3));
    }
    while (failover_.step != 0) GoOnWithFailover();
    Settle();
    if (!broken_.empty()) return broken_;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (servers_[i].is_primary != (views_[0].primary == i)) return "not the one that is named";
    }
    return {};
  }

 private:
  struct Server {
    BuggyWatch watch;
    bool is_primary = false;
  };
  struct View {
    std::size_t primary = 0;
    std::uint64_t epoch = 0;
  };
  struct Message {
    std::size_t to;
    View view;
    HostInstant sent;
  };
  struct Failover {
    int step = 0;  // 0: none
    HostInstant begun{};
    std::size_t leader = 0;
    View to;
    bool yields = false;
  };

  std::size_t Below(std::size_t bound) { return chance_() % bound; }
  View& newest() { return *std::ranges::max_element(views_, {}, &View::epoch); }

  void BeginFailover() {
    if (failover_.step != 0) return;
    const View from = newest();
    failover_ = {.step = 1,
                 .begun = now_,
                 .leader = Below(views_.size()),
                 .to = {1 - from.primary, from.epoch + 1},
                 .yields = link_lives_ || Below(2) == 0};
    // The leader has heard of the last failover: it was elected by the others.
    views_[failover_.leader] = from;
  }

  // SLAVEOF NO ONE; then Sentinel looks whether that server is a primary; then SLAVEOF to the
  // other.
  void GoOnWithFailover() {
    Server& chosen = servers_[failover_.to.primary];
    Server& old = servers_[1 - failover_.to.primary];
    switch (failover_.step) {
      case 1:
        if (!chosen.is_primary) {
          chosen.is_primary = true;
          chosen.watch.Promoted(now_);
          if (failover_.yields && old.is_primary) Demote(old);
        }
        break;
      case 2:
        if (!chosen.is_primary) {
          broken_ = "the promoted server went back before Sentinel saw it";
          failover_.step = 0;
          return;
        }
        views_[failover_.leader] = failover_.to;
        break;
      case 3:
        if (old.is_primary) Demote(old);
        failover_.step = 0;
        return;
      default:
        return;
    }
    ++failover_.step;
  }

  void SendHello() {
    const View& view = views_[Below(views_.size())];
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      if (Below(4) > 0) messages_.push_back({i, view, now_});
    }
  }

  // Any message may overtake others: each Sentinel has a connection of its own.
  void Deliver(std::size_t count) {
    for (; count > 0 && !messages_.empty(); --count) {
      const std::size_t index = Below(messages_.size());
      const Message message = messages_[index];
      messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(index));
      if (now_ - message.sent > kHelloAgeMax) continue;  // The connection has broken.
      Server& server = servers_[message.to];
      const bool names_us = message.view.primary == message.to;
      if (server.watch.Deposes(message.view.epoch, names_us, now_) && server.is_primary) {
        if (link_lives_) broken_ = "a primary was deposed that had not yielded";
        Demote(server);
      }
      // Sentinels hear each other through the servers.
      View& other = views_[Below(views_.size())];
      if (message.view.epoch > other.epoch) other = message.view;
    }
  }

  void Settle() {
    views_.fill(View(newest()));
    for (int round = 0; round < 4; ++round) {
      Deliver(messages_.size());
      now_ += seconds{1};
      for (std::size_t i = 0; i < servers_.size(); ++i) messages_.push_back({i, views_[0], now_});
    }
    Deliver(messages_.size());
  }

  void Demote(Server& server) {
    server.is_primary = false;
    server.watch.RoleChanged();
  }

  std::mt19937_64 chance_;
  std::array<Server, 2> servers_;
  std::array<View, 3> views_;  // of the Sentinels
  std::vector<Message> messages_;
  Failover failover_;
  bool link_lives_;  // every old primary yields
  HostInstant now_ = kFirst;
  std::string broken_;
};

// Runs a simulation with the seeds 1 to `runs`. Returns the first law that is broken and its seed,
// or an empty text.
template <typename Simulation, typename Bug>
std::string FirstBroken(Bug bug, std::int64_t runs) {
  for (std::int64_t seed = 1; seed <= runs; ++seed) {
    const std::string broken = Simulation(static_cast<std::uint64_t>(seed), bug).Run();
    if (!broken.empty()) return broken + ", seed " + std::to_string(seed);
  }
  return {};
}

constexpr std::int64_t kWatchRuns = 20'000;
constexpr std::int64_t kWatchRunsUntilFound = 2'000;

TEST(SentinelWatchTest, APairEndsWithTheOnePrimaryThatIsNamed) {
  EXPECT_EQ(FirstBroken<PairSimulation>(WatchBug::kNone, Scaled(kWatchRuns)), "");
}

TEST(SentinelWatchTest, PlantedMistakesAreFound) {
  for (const WatchBug bug : {WatchBug::kNaive, WatchBug::kAtFloor, WatchBug::kNoRest}) {
    EXPECT_NE(FirstBroken<PairSimulation>(bug, kWatchRunsUntilFound), "") << static_cast<int>(bug);
  }
}

enum class GateBug {
  kNone,
  kFirstIsEnough,  // the first confirmation counts unless a deposition comes within kHelloTime
  kAnySecond,      // two confirmations of different Sentinels count, too
};

constexpr std::size_t kDelayMax = 50;      // of a hello, in ms
constexpr std::size_t kNewsTimeMax = 150;  // until all Sentinels know of a failover, in ms

// A primary that was stopped starts again. Each Sentinel says every two seconds that it is the
// primary. A failover may be under way. When it ends, each Sentinel is silent for two seconds, and
// then names the other server.
class GateSimulation {
 public:
  GateSimulation(std::uint64_t seed, GateBug bug) : chance_(seed), bug_(bug) {}

  // The first law that is broken, or an empty text.
  std::string Run() {
    const bool fails_over = Below(2) == 0;
    const std::size_t sentinels = 1 + Below(3);
    const HostInstant first = kFirst + After(2000);  // the first hello that is sent
    // Most failovers end by then. A longer one may end after the gate has opened.
    const HostInstant end = fails_over ? first + After(1700) : kHostInstantMax;
    for (std::size_t sentinel = 0; sentinel < sentinels; ++sentinel) {
      const HostInstant told = fails_over ? end + After(kNewsTimeMax) : kHostInstantMax;
      HostInstant next = sentinel == 0 ? first : first + After(2000);
      for (; next < std::min(told, first + seconds{10}); next += kPeriod + After(100))
        Say(next, true);
      if (fails_over) Say(told + kPeriod + After(300), false);
    }
    std::ranges::sort(hellos_, {}, &Heard::at);
    const std::optional<HostInstant> open = Opens();
    if (fails_over) return open ? "it serves before it is deposed" : "";
    // The first Sentinel's second hello is there by then.
    return open && *open < first + kPeriod + milliseconds{200} ? "" : "it does not serve";
  }

 private:
  struct Heard {
    HostInstant at;
    bool names_us;
  };
  static constexpr seconds kPeriod{2};

  std::size_t Below(std::size_t bound) { return chance_() % bound; }
  Nanos After(std::size_t bound) { return milliseconds{static_cast<std::int64_t>(Below(bound))}; }
  void Say(HostInstant when, bool names_us) {
    hellos_.push_back({when + After(kDelayMax), names_us});
  }

  // The time at which the server begins to serve, if none deposes it before that.
  std::optional<HostInstant> Opens() {
    SentinelWatch watch(5);
    std::optional<HostInstant> first;
    for (const Heard& hello : hellos_) {
      if (bug_ == GateBug::kFirstIsEnough && first && hello.at - *first > kHelloTime) {
        return *first + kHelloTime;
      }
      const Meaning meaning = watch.Observe(hello.names_us ? 5 : 6, hello.names_us, hello.at);
      if (meaning == Meaning::kDeposes) return std::nullopt;
      if (watch.is_confirmed() || (bug_ == GateBug::kAnySecond && first)) return hello.at;
      if (!first) first = hello.at;
    }
    return std::nullopt;
  }

  std::mt19937_64 chance_;
  GateBug bug_;
  std::vector<Heard> hellos_;
};

TEST(SentinelWatchTest, AStoppedPrimaryDoesNotServeDuringAFailover) {
  EXPECT_EQ(FirstBroken<GateSimulation>(GateBug::kNone, Scaled(kWatchRuns)), "");
}

TEST(SentinelWatchTest, PlantedMistakesOfTheGateAreFound) {
  for (const GateBug bug : {GateBug::kFirstIsEnough, GateBug::kAnySecond}) {
    EXPECT_NE(FirstBroken<GateSimulation>(bug, kWatchRunsUntilFound), "") << static_cast<int>(bug);
  }
}

}  // namespace
}  // namespace weir
