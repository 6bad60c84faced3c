// Goal: a limiter that was restored from disk answers every later request as the saved limiter
// would. Method: random use of every kind (random_load.h), saved tick by tick to a model of the
// disk, a map. Some ticks fail, and use continues while a tick is running. After a clean stop both
// limiters are asked the same and compared. The lives of a server follow one another, and some end
// in a crash, so that ids and records of earlier lives are around.
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

#include "core/rules/rule.h"
#include "tests/support/fake_clock.h"
#include "tests/support/random_load.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

// A limiter and its policies.
struct State {
  explicit State(const LimiterOptions& options) : limiter(options) { policies.StartNoting(); }
  Limiter limiter;
  Policies policies;
};

// A model of persistence/storage.h: what it stores, and how it loads it.
class ModelDisk {
 public:
  void Save(const LimiterChanges& limiter, const PolicyChanges& policies) {
    if (limiter.generation != generation_) buckets_.clear();
    generation_ = limiter.generation;
    for (const std::uint16_t partition : limiter.rewritten_partitions) {
      std::erase_if(buckets_, [=](const auto& one) { return std::get<0>(one.first) == partition; });
    }
    for (const BucketChange& change : limiter.buckets) {
      EXPECT_FALSE(IsMarked(change.bucket));
      const Name name{change.partition, change.key.key_hash(), change.algorithm, change.key.limit};
      buckets_.erase(name);
      if (!change.erased) buckets_.emplace(name, change.bucket);
    }
    for (const LimitChange& change : limiter.limits) {
      limits_.erase(change.id);
      if (change.limit) limits_.emplace(change.id, *change.limit);
    }
    for (const PolicyChanges::PolicyChange& change : policies.policies) {
      policies_[change.id] = change.policy;
    }
    for (const OverrideChange& change : policies.overrides) {
      overrides_[{change.policy, change.key}] = change.limits;
    }
    next_policy_ = policies.next_id;
  }

  // Without `now`, where clients supply the time, nothing is full.
  void Load(State& state, std::optional<Instant> now) {
    LoadPolicies(state.policies);
    std::map<LimitId, Limit> live;
    for (const auto& [id, limit] : limits_) {
      const LimitOwner owner = limit.owner();
      const bool has_owner = owner.policy != kNoPolicy && owner != kThrottleOwner;
      if (has_owner && !state.policies.FindById(owner.policy)) continue;
      EXPECT_TRUE(state.limiter.RestoreLimit(id, limit));
      live.emplace(id, limit);
    }
    std::map<std::uint16_t, std::vector<Limiter::RestoredBucket>> partitions;
    for (auto record = buckets_.begin(); record != buckets_.end();) {
      const auto& [partition, hash, algorithm, id] = record->first;
      const auto limit = live.find(id);
      const bool known = limit != live.end() && limit->second.shape().algorithm == algorithm;
      if (known && !(now && IsFull(limit->second, record->second, *now))) {
        partitions[partition].push_back({{hash, id}, record->second});
      } else if (!now || algorithm == Algorithm::kSlidingWindow ||
                 !IsTokenBucketFull(record->second, *now)) {
        record = buckets_.erase(record);  // It must not be read as another limit's bucket.
        continue;
      }
      ++record;
    }
    for (const auto& [partition, buckets] : partitions) {
      state.limiter.RestorePartition(partition, buckets, now.value_or(Instant{}));
    }
    state.limiter.EndRestore(generation_);
  }

 private:
  void LoadPolicies(Policies& policies) {
    for (const auto& [id, policy] : policies_) {
      EXPECT_TRUE(!policy || policies.Restore(*policy));
    }
    for (const auto& [name, limits] : overrides_) {
      EXPECT_TRUE(!limits || policies.RestoreOverride(name.first, name.second, *limits));
    }
    policies.RestoreNextId(next_policy_);
  }

  using Name = std::tuple<std::uint16_t, std::uint64_t, Algorithm, LimitId>;
  std::map<Name, Bucket> buckets_;
  std::map<LimitId, Limit> limits_;
  std::map<PolicyId, std::shared_ptr<const Policy>> policies_;
  std::map<std::pair<PolicyId, std::string>, std::shared_ptr<const PolicyLimits>> overrides_;
  TableGeneration generation_{};
  PolicyId next_policy_{};
};

class Lives {
 public:
  Lives(std::uint64_t seed, bool clients_bring_time)
      : random_(seed), options_{.time_is_ordered = !clients_bring_time, .notes_changes = true} {
    Begin();
  }

  void Begin() {
    state_ = std::make_unique<State>(options_);
    disk_.Load(*state_, DropsBefore());
  }

  void Use(std::int64_t turns) {
    for (std::int64_t i = Draw(random_, turns); i > 0; --i) {
      Answer(RandomUse::AnyTurn(random_), *state_, NextInstant());
    }
  }

  void Tick(bool fails) {
    const bool consistent_snapshot = Draw(random_, 1) == 0;
    if (Draw(random_, 9) == 0) state_->limiter.NoteEverything();
    const LimiterChanges changes = state_->limiter.TakeChanges(DropsBefore(), consistent_snapshot);
    Use(2);
    const PolicyChanges policies = state_->policies.TakeChanges();
    Use(2);
    if (!fails) return disk_.Save(changes, policies);
    if (Draw(random_, 1) == 0) disk_.Save(changes, policies);  // It was written nevertheless.
    state_->limiter.NoteAgain(changes);
    state_->policies.NoteAgain(policies);
  }

  // Ends between the two steps in which a policy is deleted: the policy, then its buckets.
  void EndWithinADelete() {
    static_cast<void>(state_->policies.Delete("free"));
    Tick(false);
    Begin();
  }

  // Every answer was saved; the restored limiter takes over after some comparisons.
  void StopCleanly() {
    disk_.Save(state_->limiter.TakeChanges(DropsBefore(), false), state_->policies.TakeChanges());
    State restored(options_);
    disk_.Load(restored, DropsBefore());
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); ++i) {
      const Instant now = NextInstant();
      const Turn turn = RandomUse::AnyTurn(random_);
      ASSERT_EQ(Answer(turn, *state_, now), Answer(turn, restored, now))
          << "turn " << i << " after the restart, at " << now << turn;
    }
    Begin();
  }

 private:
  std::string Answer(const Turn& turn, State& state, Instant now) const {
    return RandomUse(state.limiter, state.policies, now, options_.time_is_ordered).Answer(turn);
  }
  std::optional<Instant> DropsBefore() const {
    return options_.time_is_ordered ? std::optional(now_) : std::nullopt;
  }
  Instant NextInstant() {
    now_ += RandomPause(random_);
    if (options_.time_is_ordered) return now_;
    return now_ - std::min<Nanos>(RandomPause(random_), std::chrono::seconds{2});
  }

  std::mt19937_64 random_;
  const LimiterOptions options_;
  Instant now_ = FakeClock::kStart;
  ModelDisk disk_;
  std::unique_ptr<State> state_;
};

void LiveManyTimes(std::int64_t histories, bool clients_bring_time) {
  for (std::int64_t seed = 0; seed < Scaled(histories); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(static_cast<std::uint64_t>(seed) + 1'000'000);
    Lives lives(static_cast<std::uint64_t>(seed), clients_bring_time);
    for (int life = 0; life < 6; ++life) {
      for (std::int64_t tick = Draw(random, 5); tick > 0; --tick) {
        lives.Use(20);
        lives.Tick(Draw(random, 3) == 0);
      }
      lives.Use(10);
      const std::int64_t end = Draw(random, 7);
      if (end == 0) lives.EndWithinADelete();
      if (end == 1) lives.Begin();  // Unsaved changes are lost.
      if (end > 1) lives.StopCleanly();
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(SavingModelTest, RestoredLimiterAnswersAsTheSavedOne) { LiveManyTimes(150, false); }

TEST(SavingModelTest, RestoredLimiterAnswersAsTheSavedOneUnderExplicitTime) {
  LiveManyTimes(150, true);
}

}  // namespace
}  // namespace weir
