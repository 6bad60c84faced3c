// SliceState: tokens that are taken at once and spent one by one without asking.
//
//     RL.SLICE words NEED 1 UNIT 1 UPTO size HOLD id TTL time
//     RL.COMMIT keys COST spent HOLD id          what is left comes back with it
//
// It is spent until its life is over, counted from when it was asked for, less a thousandth and 1
// ms. A commit that comes too late changes nothing, nor does one of a slice that is all spent,
// which is not sent. Where weir gives no slices of these limits, or a slice comes later than its
// life, each token is asked for by RL.ALLOW, and a slice again after 10 s. Several keys, and for
// 10 s a weir that does not know RL.SLICE, have a hold:
//
//     RL.TAKE words UPTO size HOLD id TTL time + 4 deadlines
//     RL.COMMIT keys COST spent HOLD id
//     RL.CHARGE words COST spent                 if the commit came too late: all has come back
//
// A commit without an answer is owed. It is repeated when the slice is asked next, or by its timer,
// once a deadline has passed, until it is answered or the slice has lapsed. weir forgets a settled
// hold after a minute at most; a repetition that comes later charges twice, which never admits too
// much.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
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

  // A slice to be settled.
  struct Owed {
    std::string hold{};      // its id; empty: there is none
    std::int64_t spent = 0;  // tokens
    bool lapses = false;     // it is of RL.SLICE
    Clock::time_point end = Clock::time_point::max();
    Clock::time_point due{};  // not before that
    bool is_repeated = false;
  };

  std::optional<Limited> SpendInTurn();
  std::optional<Limited> Ask();
  std::optional<Limited> Take(Clock::time_point begin, const std::string& id);
  void AskOtherwise(std::string_view command, Clock::time_point begin);
  void Hold(Owed taken, std::int64_t tokens, Clock::time_point end);
  void Begin();
  void Settle() noexcept;

  // Settles it. Returns whether there was an answer.
  bool SettleOne(const Owed& owed);

  void StopTimer();
  void StartTimer(milliseconds time);

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
  std::string_view otherwise_{};  // the command in place of RL.SLICE; empty: none
  Clock::time_point otherwise_until_ = Clock::time_point::max();
  Owed present_;
  Clock::time_point end_{};  // it is not spent then or later
  std::int64_t left_ = 0;    // tokens
  std::int64_t number_ = 0;  // of slices taken
  std::vector<Owed> owed_;   // the oldest first
  std::function<void()> stop_timer_;
};

}  // namespace weir::client
