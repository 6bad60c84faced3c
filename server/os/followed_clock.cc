#include "server/os/followed_clock.h"

#include <algorithm>

#include "core/base/check.h"

namespace weir {
namespace {

constexpr Nanos kLatest = kInstantMax.time_since_epoch();

// Raises `latest`, and returns what it is then.
Nanos::rep RaiseTo(std::atomic<Nanos::rep>& latest, Nanos::rep now) {
  Nanos::rep before = latest.load(std::memory_order_relaxed);
  while (before < now && !latest.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
  return std::max(before, now);
}

}  // namespace

Clock::Reading FollowedClock::Read() const {
  PrimaryTime* const time = present_.load(std::memory_order_acquire);
  if (time == nullptr) [[likely]]
    return own_.Read();
  const bool follows = time->follows.load(std::memory_order_acquire);
  const Nanos shift{time->shift.load(std::memory_order_relaxed)};
  const HostInstant host_now = own_.HostNow();
  // The time is at most 2^62, and so is the shift, so the sum fits.
  const Nanos::rep now = std::clamp(host_now.time_since_epoch() + shift, Nanos{0}, kLatest).count();
  const Nanos::rep told = follows ? RaiseTo(time->latest, now)
                                  : std::max(now, time->latest.load(std::memory_order_relaxed));
  return {Instant{Nanos{told}}, host_now};
}

void FollowedClock::RunOn(Instant last) { Begin(last - own_.Now(), false); }

void FollowedClock::Rebase(Nanos shift) { Begin(shift, true); }

void FollowedClock::Begin(Nanos shift, bool is_told) {
  WEIR_CHECK(shift >= -kLatest && shift <= kLatest);
  PrimaryTime& time = times_[next_];
  next_ = 1 - next_;
  time.shift.store(shift.count(), std::memory_order_relaxed);
  time.latest.store(0, std::memory_order_relaxed);
  time.follows.store(true, std::memory_order_relaxed);
  time.is_told = is_told;
  present_.store(&time, std::memory_order_release);
}

void FollowedClock::SetShift(Nanos shift) {
  WEIR_CHECK(shift >= -kLatest && shift <= kLatest);
  PrimaryTime* const time = present_.load(std::memory_order_relaxed);
  WEIR_CHECK(time != nullptr);
  WEIR_CHECK(time->follows.load(std::memory_order_relaxed));
  time->shift.store(shift.count(), std::memory_order_relaxed);
}

// A thread that has read `follows` before may still use an earlier, greater shift. It raises
// `latest`, and Now() returns nothing below `latest`.
Nanos FollowedClock::Fix(Instant at_least) {
  PrimaryTime* const time = present_.load(std::memory_order_relaxed);
  if (time == nullptr || !time->follows.load(std::memory_order_relaxed)) return Nanos{0};
  const Nanos own = own_.HostNow().time_since_epoch();
  const Nanos told{time->latest.load(std::memory_order_relaxed)};
  const Nanos shift{time->shift.load(std::memory_order_relaxed)};
  const Nanos least = time->is_told ? shift : std::max(shift, Nanos{0});
  const Nanos fixed = std::max({least, at_least.time_since_epoch() - own, told - own});
  time->shift.store(fixed.count(), std::memory_order_relaxed);
  time->follows.store(false, std::memory_order_release);
  return least - shift;
}

void FollowedClock::Continue(Nanos shift) {
  Begin(shift, true);
  present_.load(std::memory_order_relaxed)->follows.store(false, std::memory_order_release);
}

Nanos FollowedClock::shift() const noexcept {
  const PrimaryTime* const time = present_.load(std::memory_order_acquire);
  return time == nullptr ? Nanos{0} : Nanos{time->shift.load(std::memory_order_relaxed)};
}

}  // namespace weir
