// Goal: law R6: with as many replicas as there are, the times in which two servers admit are
// disjoint. Method: a primary and replicas with clocks of their own that drift, frames and ACKs
// with any delay, servers that freeze, leases whose length changes, and at last a promotion without
// a word to the primary; the same with planted mistakes, which must be found.
#include "replication/lease.h"

#include <deque>
#include <vector>

#include "gtest/gtest.h"

#include "tests/replication/drifting_clock.h"
#include "tests/replication/sim_server.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kBegin = FakeClock::kStart;

enum class Bug {
  kNone,
  kReceipt,    // the lease begins when the ACK is received
  kNewLength,  // a longer lease counts before the replica has heard of it
  kNoDrift,    // the replica waits no longer than the lease
};

// What a primary knows of one replica, with a mistake or without.
class Judge {
 public:
  explicit Judge(Bug bug) : bug_(bug) {}

  void OnHeartbeatSent(Nanos length, Instant at) { lease_.OnHeartbeatSent(length, at); }
  void OnAck(Instant echoed, bool synced, Instant receipt) {
    lease_.OnAck(bug_ == Bug::kReceipt ? receipt : echoed, synced);
  }
  [[nodiscard]] Instant Until(Nanos length) const {
    return bug_ == Bug::kNewLength ? lease_.HeardUntil(length) : lease_.PromisedUntil(length);
  }
  [[nodiscard]] Nanos asked() const { return lease_.asked(); }

 private:
  Bug bug_;
  ReplicaLease lease_;
};

class LeaseSimulation {
 public:
  LeaseSimulation(std::uint64_t seed, Bug bug) : chance_(seed), bug_(bug) {
    primary_ = AnyClock();
    const std::int64_t count = Between(1, 3);
    for (std::int64_t i = 0; i < count; ++i)
      replicas_.push_back({.clock = AnyClock(), .judge = Judge(bug)});
    slow_ = Between(0, 1) == 0;
    ChangeLength();
  }

  // Runs until one replica has been promoted for a while. Returns whether both ever admitted.
  bool FindsTwoPrimaries() {
    const std::int64_t steps = Between(50, 300);
    for (std::int64_t i = 0; i < steps; ++i) Step();
    Replica& next = replicas_.front();
    next.is_cut = true;
    const HostInstant free = next.promise.until();
    if (free != HostInstant{}) {
      const Nanos promoted = std::max(now_, next.clock.ElapsedAt(Instant{free.time_since_epoch()}));
      while (now_ < promoted) {
        Step();
        now_ = std::min(now_, promoted);
      }
    }
    bool found = admits();
    for (int i = 0; i < 100; ++i) {
      Step();
      found = found || admits();
    }
    return found;
  }

  // The steps of a calm run in which the primary may not admit.
  int CountLapses() {
    slow_ = false;
    calm_ = true;
    for (int i = 0; i < 100; ++i) Step();
    int lapses = 0;
    for (int i = 0; i < 300; ++i) {
      Step();
      lapses += admits() ? 0 : 1;
    }
    return lapses;
  }

 private:
  struct Frame {
    Nanos due;
    Instant time;
    std::optional<Nanos> length;  // of a heartbeat
  };
  struct Ack {
    Nanos due;
    Instant echoed;
    bool synced;
  };
  struct Replica {
    DriftingClock clock;
    Judge judge;
    std::deque<Frame> frames{};  // on their way, as the ACKs
    std::deque<Ack> acks{};
    Instant newest{};
    Nanos length{0};
    LeasePromise promise{};
    Nanos frozen_until{0};
    bool is_cut = false;  // it hears and says nothing any more
  };

  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(chance_.Below(static_cast<std::size_t>(high - low + 1)));
  }

  DriftingClock AnyClock() { return {kBegin + seconds{Between(0, 100'000)}, Between(-100, 100)}; }

  void ChangeLength() { length_ = milliseconds{Between(100, 60'000)}; }

  Nanos AnyDelay() {
    const bool is_late = slow_ && Between(0, 9) == 0;
    return Nanos{Between(0, is_late ? 20'000'000'000 : 2'000'000)};
  }

  bool Happens(std::int64_t one_in) { return !calm_ && Between(1, one_in) == 1; }

  [[nodiscard]] bool admits() const {
    std::vector<Instant> promised;
    for (const Replica& replica : replicas_) promised.push_back(replica.judge.Until(length_));
    return primary_.At(now_) < NthLatest(promised, replicas_.size());
  }

  void Step() {
    now_ += Nanos{Between(1, length_.count() / 8)};
    if (Happens(50)) ChangeLength();
    for (Replica& replica : replicas_) {
      if (Happens(40)) {
        replica.frozen_until = now_ + Nanos{Between(0, 30'000'000'000)};
      }
      if (now_ >= frozen_until_) Send(replica);
      if (now_ >= replica.frozen_until && !replica.is_cut) Receive(replica);
      if (now_ >= frozen_until_) ReceiveAcks(replica);
    }
    if (Happens(60)) {
      frozen_until_ = now_ + Nanos{Between(0, 30'000'000'000)};
    }
  }

  // A frame, or a heartbeat; the first with another length is followed by a second one.
  void Send(Replica& replica) {
    const auto put = [&](std::optional<Nanos> length) {
      const Nanos before = replica.frames.empty() ? now_ : replica.frames.back().due;
      replica.frames.push_back({std::max(before, now_ + AnyDelay()), primary_.At(now_), length});
    };
    if (!calm_ && Happens(2)) return put(std::nullopt);
    const bool is_new = replica.judge.asked() != length_;
    put(length_);
    replica.judge.OnHeartbeatSent(length_, primary_.At(now_));
    if (!is_new) return;
    now_ += Nanos{1'000};
    put(length_);
    replica.judge.OnHeartbeatSent(length_, primary_.At(now_));
  }

  void Receive(Replica& replica) {
    while (!replica.frames.empty() && replica.frames.front().due <= now_) {
      const Frame frame = replica.frames.front();
      replica.frames.pop_front();
      replica.newest = std::max(replica.newest, frame.time);
      if (frame.length) replica.length = *frame.length;
      const HostInstant own{replica.clock.At(now_).time_since_epoch()};
      // A frame that was just received is acknowledged in that moment, which is the worst case.
      replica.promise.Acked(bug_ == Bug::kNoDrift ? replica.length * 1'000 / 1'001 : replica.length,
                            own);
      const Nanos before = replica.acks.empty() ? now_ : replica.acks.back().due;
      replica.acks.push_back(
          {std::max(before, now_ + AnyDelay()), replica.newest, calm_ || !Happens(10)});
    }
  }

  void ReceiveAcks(Replica& replica) {
    while (!replica.acks.empty() && replica.acks.front().due <= now_) {
      const Ack ack = replica.acks.front();
      replica.acks.pop_front();
      replica.judge.OnAck(ack.echoed, ack.synced, primary_.At(now_));
    }
  }

  SimRandom chance_;
  const Bug bug_;
  DriftingClock primary_{};
  std::vector<Replica> replicas_;
  Nanos now_{0};  // true time
  Nanos length_{0};
  Nanos frozen_until_{0};  // the primary
  bool slow_ = false;      // some frames and ACKs take long
  bool calm_ = false;
};

// The number of runs in which two servers admitted at a time.
int CountRunsWithTwoPrimaries(Bug bug, int runs) {
  int found = 0;
  for (int seed = 0; seed < runs; ++seed) {
    LeaseSimulation simulation(static_cast<std::uint64_t>(seed), bug);
    if (simulation.FindsTwoPrimaries()) ++found;
    if (found == 0) continue;
    if (bug == Bug::kNone) ADD_FAILURE() << "seed " << seed;
    break;
  }
  return found;
}

TEST(LeaseTest, TwoServersNeverAdmitAtATime) {
  EXPECT_EQ(CountRunsWithTwoPrimaries(Bug::kNone, static_cast<int>(ScaledRuns(20'000))), 0);
}

TEST(LeaseTest, PlantedMistakesAreFound) {
  for (const Bug bug : {Bug::kReceipt, Bug::kNewLength, Bug::kNoDrift}) {
    EXPECT_EQ(CountRunsWithTwoPrimaries(bug, 20'000), 1) << static_cast<int>(bug);
  }
}

TEST(LeaseTest, InACalmNetworkItNeverLapses) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_EQ(LeaseSimulation(seed, Bug::kNone).CountLapses(), 0) << "seed " << seed;
  }
}

TEST(LeaseTest, TheNthLatestTimeCounts) {
  const Instant a = kBegin;
  const Instant b = kBegin + seconds{1};
  const Instant c = kBegin + seconds{2};
  EXPECT_EQ(NthLatest({}, 0), kInstantMax);
  EXPECT_EQ(NthLatest({a}, 0), kInstantMax);
  EXPECT_EQ(NthLatest({}, 1), Instant{});
  EXPECT_EQ(NthLatest({a, c, b}, 1), c);
  EXPECT_EQ(NthLatest({a, c, b}, 2), b);
  EXPECT_EQ(NthLatest({c, b, a}, 3), a);
  EXPECT_EQ(NthLatest({a, c, b}, 4), Instant{});
  EXPECT_EQ(NthLatest({b, b}, 2), b);
}

TEST(LeaseTest, APrimaryCountsOnWhatTheReplicaHasHeard) {
  ReplicaLease lease;
  const seconds length{2};
  EXPECT_EQ(lease.PromisedUntil(length), Instant{});
  lease.OnHeartbeatSent(length, kBegin);
  lease.OnAck(kBegin, true);  // perhaps of a frame before that heartbeat
  EXPECT_EQ(lease.PromisedUntil(length), kBegin);
  const Instant later = kBegin + milliseconds{1};
  lease.OnAck(later, true);
  EXPECT_EQ(lease.PromisedUntil(length), later + length);
  EXPECT_EQ(lease.PromisedUntil(seconds{1}), later + seconds{1}) << "a shorter one counts at once";
  EXPECT_EQ(lease.PromisedUntil(seconds{9}), later + length) << "a longer one does not";
  lease.OnAck(later + seconds{1}, false);
  EXPECT_EQ(lease.PromisedUntil(length), later + length) << "a replica that is not synced";
  lease.OnHeartbeatSent(Nanos{0}, later + seconds{1});
  lease.OnAck(later + seconds{2}, true);
  EXPECT_EQ(lease.PromisedUntil(length), later + length) << "it promises no more";
  EXPECT_EQ(lease.HeardUntil(length), later + seconds{2} + length);
}

TEST(LeaseTest, APromiseIsKeptWhateverTheNextPrimaryAsks) {
  constexpr HostInstant kOwn = FakeClock::kHostStart;
  LeasePromise promise;
  promise.Acked(Nanos{0}, kOwn);
  EXPECT_EQ(promise.until(), HostInstant{});
  promise.Acked(seconds{2}, kOwn);
  const HostInstant until = promise.until();
  EXPECT_GT(until, kOwn + milliseconds{2001});
  EXPECT_LT(until, kOwn + milliseconds{2003});
  promise.Acked(milliseconds{100}, kOwn + seconds{1});
  promise.Acked(Nanos{0}, kOwn + seconds{9});
  EXPECT_EQ(promise.until(), until);
}

}  // namespace
}  // namespace weir
