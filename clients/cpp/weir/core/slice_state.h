// SliceState: tokens that are taken at once, as a hold, and spent one by one.
//
//     RL.TAKE words UPTO size HOLD id TTL time + 4 deadlines
//     RL.COMMIT keys COST spent HOLD id          what is left comes back with it
//     RL.CHARGE words COST spent                 if the commit came too late: all has come back
//
// A commit without an answer is owed. It is repeated when the slice is asked next, or by its timer,
// once a deadline has passed, until it is answered. weir forgets a settled hold after a minute at
// most; a repetition that comes later charges twice, which never admits too much.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "weir/core/engine.h"
#include "weir/core/request.h"
#include "weir/limited.h"
#include "weir/words.h"

namespace weir::client {

// Thread-safe. slice.h says what its members do.
class SliceState : public std::enable_shared_from_this<SliceState> {
 public:
  // Throws Mistake.
  SliceState(const std::shared_ptr<Engine>& engine, std::int64_t size, milliseconds time,
             const Words& words);

  // Why no token is spent, if none is. Throws Mistake.
  std::optional<Limited> Spend();

  void GiveBack() noexcept;

 private:
  // The right to ask weir and to change the slice, for one thread at a time.
  class Turn;

  std::optional<Limited> SpendInTurn();
  std::optional<Limited> Take();
  void Settle() noexcept;

  // A slice to be settled.
  struct Owed {
    std::string hold;
    std::int64_t spent = 0;   // tokens
    Clock::time_point due{};  // not before that
  };

  // Settles it. Returns whether there was an answer.
  bool SettleOne(const Owed& owed);

  void StopTimer();
  void RestartTimer();

  // Settles the slice of this number, if it is the present one, and what is owed.
  void EndOf(std::int64_t number);

  std::optional<Limited> Checked(const Decision& decision) const;

  const std::shared_ptr<Engine> engine_;
  const Request request_;
  const std::int64_t size_;
  const milliseconds time_;

  std::mutex mutex_;
  std::condition_variable turn_ended_;
  bool is_taken_ = false;  // guarded by mutex_: a thread has the turn

  // The thread that has the turn uses these alone.
  std::string hold_;  // the id of the present one; empty: none
  Clock::time_point end_{};
  std::int64_t left_ = 0;    // tokens
  std::int64_t spent_ = 0;   // tokens
  std::int64_t number_ = 0;  // of slices taken
  std::vector<Owed> owed_;   // the oldest first
  std::function<void()> stop_timer_;
};

}  // namespace weir::client
