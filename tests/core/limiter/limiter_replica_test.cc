// Goal: a limiter that follows becomes what its primary is, whatever happened there and however
// late it hears of that (R1, R2); promoted, it answers as the primary would. Method: random use of
// every kind (random_load.h), holds and slots in use besides, over a link without bytes
// (replica_link.h) to a replica, and from there to a replica of that; all tables are compared by
// value, but for full buckets.
#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/change_hub.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_restore.h"
#include "tests/core/limiter/replica_link.h"
#include "tests/random/random_load.h"
#include "tests/support/fake_clock.h"
#include "tests/support/model_disk.h"
#include "tests/support/table_contents.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

struct Node {
  Node(const LimiterOptions& options, const Clock& clock)
      : limiter(options), hub(limiter.table(), policies, clock, true) {
    policies.StartLogging();
  }
  Limiter limiter;
  LimiterUpkeep upkeep{limiter.table()};
  LimiterRestore restore{limiter.table()};
  Policies policies;
  ChangeHub hub;
};

// Notes the policies that a hub hands out, for a server that is to have the same.
class PolicyRecorder final : public ChangeConsumer {
 public:
  void Consume(const ChangeBatch& batch) override { disk_.Save({}, batch.policies); }
  void Restore(Policies& policies) {
    Limiter unused{LimiterOptions{}};
    disk_.Load(unused, policies, std::nullopt);
  }

 private:
  ModelDisk disk_;
};

// A primary, its replica, and a replica of that.
class Chain {
 public:
  Chain(std::uint64_t seed, std::size_t limits_max)
      : random_(seed),
        primary_({.limits_max = limits_max, .logs_changes = true}, clock_),
        replica_({.logs_changes = true}, clock_),
        last_({}, clock_) {
    replica_.restore.SetFollowing(true);
    last_.restore.SetFollowing(true);
    primary_.hub.Attach(recorder_);
    for (int i = 0; crowd_.size() < 60; ++i) {
      std::string key = "crowd:" + std::to_string(i);
      const std::uint16_t partition = primary_.limiter.Hash(key).partition;
      if (partition % (kPartitionCount / 2) == 7) crowd_.push_back(std::move(key));
    }
  }
  ~Chain() { primary_.hub.Detach(recorder_); }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  void Use(std::int64_t turns) {
    for (std::int64_t i = Draw(random_, turns); i > 0; --i) {
      clock_.Advance(RandomPause(random_));
      const std::int64_t kind = Draw(random_, 39);
      if (kind == 0) {
        Crowd();
      } else if (kind < 12) {
        Slots();
      } else {
        Answer(RandomUse::AnyTurn(random_), primary_);
      }
    }
  }
  // A step of one of the links, or of a sweeper.
  void Carry() {
    switch (Draw(random_, 7)) {
      case 0:
      case 1:
        return to_replica_.Take();
      case 2:
        return to_replica_.Copy();
      case 3:
      case 4:
        return to_replica_.Deliver(static_cast<std::size_t>(Draw(random_, 5)));
      case 5:
        to_last_.Take();
        return to_last_.Deliver(static_cast<std::size_t>(Draw(random_, 5)));
      default:
        for (const Node* const node : {&primary_, &replica_, &last_}) SweepUsed(*node);
    }
  }
  void Compare() {
    to_replica_.Sync();
    to_last_.Sync();
    ASSERT_EQ(to_replica_.dropped(), 0U);
    ASSERT_EQ(to_last_.dropped(), 0U);
    LimitNumbers numbers;
    const TableContents primary = ContentsOf(primary_.limiter, clock_.Now(), numbers);
    const TableContents replica = ContentsOf(replica_.limiter, clock_.Now(), numbers);
    ASSERT_EQ(DifferenceOf(primary, replica), "");
    ASSERT_EQ(DifferenceOf(replica, ContentsOf(last_.limiter, clock_.Now(), numbers)), "");
    EXPECT_EQ(primary_.upkeep.counts().open_holds, replica_.upkeep.counts().open_holds);
    EXPECT_EQ(primary_.upkeep.counts().open_holds, last_.upkeep.counts().open_holds);
    holds_ += primary.holds.size();
    sums_ += primary.sums.size();
    buckets_ += primary.buckets.size();
  }
  // The replica takes over, and is asked the same as the primary, which has not noticed.
  void Promote() {
    Compare();
    recorder_.Restore(replica_.policies);
    replica_.restore.SetFollowing(false);
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); ++i) {
      clock_.Advance(RandomPause(random_));
      const Turn turn = RandomUse::AnyTurn(random_);
      ASSERT_EQ(Answer(turn, primary_), Answer(turn, replica_))
          << "turn " << i << " after the promotion, at " << clock_.Now() << turn;
    }
  }

  [[nodiscard]] std::size_t overflowed() const { return to_replica_.overflowed(); }
  [[nodiscard]] std::size_t holds() const { return holds_; }
  [[nodiscard]] std::size_t sums() const { return sums_; }
  [[nodiscard]] std::size_t buckets() const { return buckets_; }
  [[nodiscard]] std::uint64_t expired() const { return primary_.upkeep.counts().expired_holds; }

 private:
  std::string Answer(const Turn& turn, Node& node) {
    return RandomUse(node.limiter, node.policies, clock_.Now(), true).Answer(turn);
  }
  // Buckets of a few partitions come and go, until logs overflow.
  void Crowd() {
    const std::string word = std::to_string(1 + Draw(random_, 20)) + "/h";
    const Limit limit = LimitOf(word);
    const bool resets = Draw(random_, 2) > 0;
    for (const std::string& key : crowd_) {
      static_cast<void>(primary_.limiter.Decide(
          {{.key = key, .limit = &limit, .hash = primary_.limiter.Hash(key)}}, clock_.Now()));
      if (resets && Draw(random_, 9) > 0) primary_.limiter.Reset(key, {}, clock_.Now());
    }
  }
  // Slots in use, and tokens beside them.
  void Slots() {
    static constexpr std::array<std::string_view, 4> kWords = {"10/s", "3/10s,sliding", "9/m,fixed",
                                                               "4/s,ban=5s"};
    const std::string key = "slots:" + std::to_string(Draw(random_, 3));
    const std::string id = "id" + std::to_string(Draw(random_, 9));
    const HashedKey hashed{key, primary_.limiter.Hash(key)};
    if (Draw(random_, 2) == 0) {
      SettledKey settled{hashed, std::nullopt};
      if (Draw(random_, 1) == 0) settled.cost = Draw(random_, 5);
      static_cast<void>(primary_.limiter.SettleHold(
          {.id = id, .keys = std::span(&settled, 1), .named = {}}, clock_.Now()));
      return;
    }
    const Limit held = LimitOf("5,held");
    const Limit tokens = LimitOf(DrawOne(random_, kWords));
    if (Draw(random_, 3) == 0) {  // counted in the sums
      primary_.limiter.Refund({{.key = key, .limit = &tokens, .cost = 1, .hash = hashed.hash}},
                              clock_.Now());
      return;
    }
    static_cast<void>(primary_.limiter.DecideAndHold(
        {{.key = key, .limit = &held, .cost = Draw(random_, 2), .hash = hashed.hash},
         {.key = key, .limit = &tokens, .cost = Draw(random_, 3), .hash = hashed.hash}},
        {.id = id, .ttl = Nanos{1 + Draw(random_, 4'000'000'000)}, .words = 1}, clock_.Now()));
  }
  void SweepUsed(const Node& node) {
    // The limiters are members of this chain.
    auto& limiter = const_cast<Limiter&>(node.limiter);
    LimiterUpkeep upkeep(limiter.table());
    for (const std::string& key : crowd_) upkeep.Sweep(limiter.Hash(key).partition, clock_.Now());
    for (std::size_t i = 0; i < 6; ++i) {
      for (const char* name : {"user:", "slots:"}) {
        upkeep.Sweep(limiter.Hash(name + std::to_string(i)).partition, clock_.Now());
      }
    }
    while (upkeep.ReclaimLimits(1, 100) > 0) {
    }
  }

  FakeClock clock_;
  std::mt19937_64 random_;
  Node primary_;
  Node replica_;
  Node last_;
  PolicyRecorder recorder_;
  std::vector<std::string> crowd_;
  ReplicaLink to_replica_{primary_.hub, replica_.limiter};
  ReplicaLink to_last_{replica_.hub, last_.limiter};
  std::size_t holds_ = 0;
  std::size_t sums_ = 0;
  std::size_t buckets_ = 0;
};

// Sums of settled holds are rare when the tables are compared: fewer seeds may have none.
constexpr std::uint64_t kSeedsWithSums = 30;

void Follow(std::uint64_t seeds, std::size_t limits_max) {
  std::size_t overflowed = 0;
  std::size_t holds = 0;
  std::size_t sums = 0;
  std::uint64_t expired = 0;
  const auto end = static_cast<std::uint64_t>(Scaled(static_cast<std::int64_t>(seeds)));
  for (std::uint64_t seed = 0; seed < end && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Chain chain(seed, limits_max);
    for (int round = 0; round < 4 && !testing::Test::HasFailure(); ++round) {
      for (int i = 0; i < 30; ++i) {
        chain.Use(4);
        chain.Carry();
      }
      chain.Compare();
    }
    // Where limits are refused, the two may refuse other ones.
    if (!testing::Test::HasFailure() && limits_max == kLimitsMax) chain.Promote();
    overflowed += chain.overflowed();
    holds += chain.holds();
    sums += chain.sums();
    expired += chain.expired();
  }
  if (testing::Test::HasFailure()) return;
  EXPECT_GT(overflowed, 0U);
  EXPECT_GT(holds, 0U);
  if (end >= kSeedsWithSums) {
    EXPECT_GT(sums, 0U);
  }
  EXPECT_GT(expired, 0U);
}

TEST(LimiterReplicaTest, R1TablesAreEqualAfterAnyUse) { Follow(120, kLimitsMax); }

TEST(LimiterReplicaTest, R1TablesAreEqualWhileIdsAreReused) { Follow(120, 12); }

}  // namespace
}  // namespace weir
