// Goal: a limiter that was restored from disk answers every later request as the saved limiter
// would. Method: random use of every kind (random_load.h), saved tick by tick to a model of the
// disk, a map. Some ticks fail, and use continues while a tick is running. After a clean stop both
// limiters are asked the same and compared. The lives of a server follow one another, and some end
// in a crash, so that ids and records of earlier lives are around.
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "gtest/gtest.h"

#include "core/limiter/change_reader.h"
#include "tests/random/random_load.h"
#include "tests/support/fake_clock.h"
#include "tests/support/model_disk.h"
#include "tests/support/take_all.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

// A limiter and its policies.
struct State {
  explicit State(const LimiterOptions& options) : limiter(options) { policies.StartLogging(); }
  Limiter limiter;
  Policies policies;
};

class SavedLives {
 public:
  SavedLives(std::uint64_t seed, bool clients_bring_time)
      : random_(seed), options_{.time_is_ordered = !clients_bring_time, .logs_changes = true} {
    Begin();
  }

  void Begin() {
    state_ = std::make_unique<State>(options_);
    unsaved_.reset();
    disk_.Load(state_->limiter, state_->policies, DropsBefore());
  }

  void Use(std::int64_t turns) {
    for (std::int64_t i = Draw(random_, turns); i > 0; --i) {
      Answer(RandomUse::AnyTurn(random_), *state_, NextInstant());
    }
  }

  void Tick(bool fails) {
    if (unsaved_) {
      if (fails) return;
      disk_.Save(unsaved_->changes, unsaved_->policies);
      unsaved_.reset();
    }
    const bool consistent_snapshot = Draw(random_, 1) == 0;
    Part part = {TakeAll(state_->limiter, DropsBefore(), consistent_snapshot), {}};
    Use(2);
    part.policies = state_->policies.TakeChanges();
    Use(2);
    // One that fails may have been written nevertheless.
    if (!fails || Draw(random_, 1) == 0) disk_.Save(part.changes, part.policies);
    if (!fails) return ChangeReader(state_->limiter.table()).EndSave();
    unsaved_ = std::move(part);
  }

  // Ends between the two steps in which a policy is deleted: the policy, then its buckets.
  void EndWithinADelete() {
    static_cast<void>(state_->policies.Delete("free"));
    Tick(false);
    Begin();
  }

  // Every answer was saved; the restored limiter takes over after some comparisons.
  void StopCleanly() {
    Tick(false);
    disk_.Save(TakeAll(state_->limiter, DropsBefore(), false), state_->policies.TakeChanges());
    State restored(options_);
    disk_.Load(restored.limiter, restored.policies, DropsBefore());
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); ++i) {
      const Instant now = NextInstant();
      const Turn turn = RandomUse::AnyTurn(random_);
      ASSERT_EQ(Answer(turn, *state_, now), Answer(turn, restored, now))
          << "turn " << i << " after the restart, at " << now << turn;
    }
    Begin();
  }

 private:
  struct Part {
    LimiterChanges changes;
    PolicyChanges policies;
  };

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
  std::optional<Part> unsaved_;  // of a tick that has failed
};

void LiveManyTimes(std::int64_t histories, bool clients_bring_time) {
  for (std::int64_t seed = 0; seed < ScaledRuns(histories); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(static_cast<std::uint64_t>(seed) + 1'000'000);
    SavedLives lives(static_cast<std::uint64_t>(seed), clients_bring_time);
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
