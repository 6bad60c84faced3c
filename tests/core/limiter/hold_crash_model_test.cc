// Goal: holds survive a crash by the promises that buckets have. Whenever it comes, the restarted
// limiter has the holds, the buckets and the free slots of the last save, and cancels what has
// expired meanwhile at its instant. So no token and no slot is lost for longer than its hold lasts,
// and where every request is saved before its answer, none is given twice (L20 to L22). Method:
// random histories (hold_history.h) in each mode of durability, saved to a model of the disk
// (model_disk.h); saves that fail, or fail although they were written; requests between the taking
// and the writing of changes; crashes before, after and between them.
#include <cstdint>
#include <memory>
#include <optional>

#include "gtest/gtest.h"

#include "core/limiter/change_reader.h"
#include "core/limiter/limiter_upkeep.h"
#include "tests/random/hold_history.h"
#include "tests/random/property.h"
#include "tests/support/model_disk.h"
#include "tests/support/take_all.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

enum class Mode { kNone, kSnapshot, kAlways };

class Lives {
 public:
  Lives(HoldTally& tally, Mode mode)
      : mode_(mode),
        options_{.max_wait = HoldHistory::kMaxWait,
                 .time_is_ordered = *Between(0, 1) == 0,
                 .logs_changes = true},
        limiter_(std::make_unique<Limiter>(options_)),
        history_(tally, *limiter_) {}

  void Turn() {
    if (*Between(0, 24) == 0) return Restart();
    history_.Turn();
    if (*Between(0, 9) == 0) {
      while (LimiterUpkeep(limiter_->table()).ReclaimLimits(1, 100) > 0) {
      }
    }
    if (mode_ == Mode::kNone) return;
    const bool is_due = mode_ == Mode::kAlways || *Between(0, 7) == 0;
    const bool crashes = *Between(0, 49) == 0;  // before the answer, or before a part of the ticks
    if (is_due && !crashes) Tick();
    if (crashes) Restart();
  }
  void End() { history_.CheckAll(); }

  [[nodiscard]] std::int64_t restored() const { return restored_; }

 private:
  struct Taken {
    LimiterChanges changes;
    HoldHistory::State state;
  };

  void Tick() {
    if (unsaved_) {
      if (*Between(0, 3) == 0) return;  // It fails again.
      disk_.Save(unsaved_->changes, {});
      saved_.emplace(unsaved_->state);
      unsaved_.reset();
    }
    const bool consistent_snapshot = mode_ == Mode::kAlways;
    const LimiterChanges changes = TakeAll(*limiter_, DropsBefore(), consistent_snapshot);
    const HoldHistory::State taken = history_.Remember();
    // Others are answered after the save that follows.
    const bool is_used_meanwhile = mode_ == Mode::kSnapshot && *Between(0, 2) == 0;
    if (is_used_meanwhile) history_.Turn();
    const bool fails = mode_ == Mode::kSnapshot && *Between(0, 3) == 0;
    if (!fails || *Between(0, 1) == 0) {
      disk_.Save(changes, {});
      saved_.emplace(taken);
    }
    if (fails) {
      unsaved_ = Taken{changes, taken};
    } else {
      ChangeReader(limiter_->table()).EndSave();
    }
  }

  void Restart() {
    if (*Between(0, 1) == 0) history_.PassTime();
    auto next = std::make_unique<Limiter>(options_);
    Policies no_policies;
    disk_.Load(*next, no_policies, DropsBefore());
    restored_ += static_cast<std::int64_t>(LimiterUpkeep(next->table()).counts().open_holds);
    limiter_ = std::move(next);
    unsaved_.reset();
    if (saved_) {
      history_.GoOnWith(*limiter_, *saved_);
    } else {
      history_.GoOnWithout(*limiter_);
    }
  }

  // Nothing is full, and nothing has expired, where clients supply the time.
  [[nodiscard]] std::optional<Instant> DropsBefore() const {
    return options_.time_is_ordered ? std::optional(history_.now()) : std::nullopt;
  }

  const Mode mode_;
  const LimiterOptions options_;
  std::unique_ptr<Limiter> limiter_;
  HoldHistory history_;
  ModelDisk disk_;
  std::optional<HoldHistory::State> saved_;  // of the disk
  std::optional<Taken> unsaved_;             // by a tick that has failed
  std::int64_t restored_ = 0;
};

void LiveManyTimes(Mode mode) {
  HoldTally tally;
  std::int64_t restored = 0;
  constexpr std::int64_t kHistories = 400;
  CheckLaw(kHistories, [&] {
    Lives lives(tally, mode);
    for (int turn = 0; turn < 80; ++turn) lives.Turn();
    lives.End();
    restored += lives.restored();
  });
  const std::int64_t few = InWholeRuns(kHistories);
  EXPECT_GE(tally.opened, 5 * few);
  EXPECT_GE(tally.settled, few);
  EXPECT_GE(tally.expired, few);
  if (mode == Mode::kNone) {
    EXPECT_EQ(restored, 0);
  } else {
    EXPECT_GE(restored, few);
  }
}

TEST(HoldCrashModelTest, L20L21L22WithoutADisk) { LiveManyTimes(Mode::kNone); }

TEST(HoldCrashModelTest, L20L21L22WithASaveNowAndThen) { LiveManyTimes(Mode::kSnapshot); }

TEST(HoldCrashModelTest, L20L21L22WithASaveBeforeEachAnswer) { LiveManyTimes(Mode::kAlways); }

}  // namespace
}  // namespace weir
