#include "weir/core/lease_state.h"

#include <algorithm>
#include <utility>

#include "weir/errors.h"

namespace weir::client {
namespace {

constexpr int kHeartbeats = 3;  // in a time to live

}  // namespace

LeaseState::LeaseState(const std::shared_ptr<Engine>& engine, milliseconds ttl, const Words& words)
    : engine_(engine), hold_(engine, ttl, words) {}

std::optional<Limited> LeaseState::Open() {
  const Clock::time_point begin = engine_->Now();
  {
    const std::lock_guard turn(turn_);
    if (std::optional<Limited> limited = hold_.Reserve()) return limited;
    if (!hold_.is_open()) return {};
  }
  {
    const std::lock_guard lock(mutex_);
    end_ = begin + hold_.ttl();
  }
  const milliseconds period = std::max(milliseconds(1), hold_.ttl() / kHeartbeats);
  stop_beats_ = engine_->StartTimer(period, [weak = weak_from_this()] {
    if (const std::shared_ptr<LeaseState> self = weak.lock()) self->Beat();
  });
  return {};
}

bool LeaseState::lost() const {
  const std::lock_guard lock(mutex_);
  return is_lost_ || (end_ && engine_->Now() >= *end_);
}

bool LeaseState::Release() noexcept {
  if (stop_beats_) std::exchange(stop_beats_, nullptr)();
  const std::lock_guard turn(turn_);
  bool was_lost = false;
  {
    const std::lock_guard lock(mutex_);
    if (!end_) return false;
    is_lost_ = was_lost = is_lost_ || engine_->Now() >= *end_;
    end_.reset();
  }
  try {
    return hold_.Settle(0) && !was_lost;
  } catch (const Mistake&) {
    engine_->counters().AddMistake();
    return false;  // it expires
  }
}

void LeaseState::Beat() {
  const std::lock_guard turn(turn_);
  const Clock::time_point now = engine_->Now();
  Clock::time_point end;
  {
    const std::lock_guard lock(mutex_);
    if (is_lost_ || !end_ || now >= *end_) return;  // released; or it would be a new request
    end = *end_;
  }
  if (!hold_.is_open()) return;
  Decision decision;
  try {
    decision = hold_.Ask();
  } catch (const Mistake&) {
    decision.reason = Reason::kDenied;
  }
  if (decision.reason == Reason::kUnavailable) return;  // the next may be answered
  if (decision.reason != Reason::kAllowed) {
    hold_.Forget();
    Lose();
  } else if (engine_->Now() >= end) {  // it may have been a new request
    Lose();
    hold_.Cancel();
  } else {
    const std::lock_guard lock(mutex_);
    end_ = now + hold_.ttl();
  }
}

void LeaseState::Lose() {
  const std::lock_guard lock(mutex_);
  is_lost_ = true;
}

}  // namespace weir::client
