// LeaseState: a hold that is renewed by heartbeats, and lost if they are not answered.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "weir/core/engine.h"
#include "weir/core/hold_state.h"
#include "weir/limited.h"
#include "weir/words.h"

namespace weir::client {

// Thread-safe. lease.h says what its members do.
class LeaseState : public std::enable_shared_from_this<LeaseState> {
 public:
  LeaseState(const std::shared_ptr<Engine>& engine, milliseconds ttl, const Words& words);

  // Takes the slot, and begins the heartbeats. Throws Mistake. Call it once, and first.
  std::optional<Limited> Open();

  [[nodiscard]] bool lost() const;

  bool Release() noexcept;

 private:
  // Renews the lease. It is lost if weir has forgotten it.
  void Beat();

  void Lose();

  const std::shared_ptr<Engine> engine_;
  std::mutex turn_;  // held while weir is asked
  HoldState hold_;   // guarded by turn_
  std::function<void()> stop_beats_;

  mutable std::mutex mutex_;  // never held while weir is asked
  bool is_lost_ = false;      // guarded by mutex_
  // Guarded by mutex_: weir keeps the hold until then at least. Unset: there is no lease.
  std::optional<Clock::time_point> end_;
};

}  // namespace weir::client
