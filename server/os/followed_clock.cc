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

Clock::Reading LineageClock::Read() const {
  Lineage* const lineage = present_.load(std::memory_order_acquire);
  if (lineage == nullptr) [[likely]]
    return own_.Read();
  const bool follows = lineage->follows.load(std::memory_order_acquire);
  const Nanos shift{lineage->shift.load(std::memory_order_relaxed)};
  const HostInstant host_now = own_.HostNow();
  // The time is at most 2^62, and so is the shift, so the sum fits.
  const Nanos::rep now = std::clamp(host_now.time_since_epoch() + shift, Nanos{0}, kLatest).count();
  const Nanos::rep told = follows ? RaiseTo(lineage->latest, now)
                                  : std::max(now, lineage->latest.load(std::memory_order_relaxed));
  return {Instant{Nanos{told}}, host_now};
}

void LineageClock::RunOn(Instant last) { Begin(last - own_.Now(), false); }

void LineageClock::Rebase(Nanos shift) { Begin(shift, true); }

void LineageClock::Begin(Nanos shift, bool is_told) {
  WEIR_CHECK(shift >= -kLatest && shift <= kLatest);
  Lineage& lineage = lineages_[next_];
  next_ = 1 - next_;
  lineage.shift.store(shift.count(), std::memory_order_relaxed);
  lineage.latest.store(0, std::memory_order_relaxed);
  lineage.follows.store(true, std::memory_order_relaxed);
  lineage.is_told = is_told;
  present_.store(&lineage, std::memory_order_release);
}

void LineageClock::SetShift(Nanos shift) {
  WEIR_CHECK(shift >= -kLatest && shift <= kLatest);
  Lineage* const lineage = present_.load(std::memory_order_relaxed);
  WEIR_CHECK(lineage != nullptr);
  WEIR_CHECK(lineage->follows.load(std::memory_order_relaxed));
  lineage->shift.store(shift.count(), std::memory_order_relaxed);
}

// A thread that has read `follows` before may still use an earlier, greater shift. It raises
// `latest`, and Now() returns nothing below `latest`.
Nanos LineageClock::Fix(Instant at_least) {
  Lineage* const lineage = present_.load(std::memory_order_relaxed);
  if (lineage == nullptr || !lineage->follows.load(std::memory_order_relaxed)) return Nanos{0};
  const Nanos own = own_.HostNow().time_since_epoch();
  const Nanos told{lineage->latest.load(std::memory_order_relaxed)};
  const Nanos shift{lineage->shift.load(std::memory_order_relaxed)};
  const Nanos least = lineage->is_told ? shift : std::max(shift, Nanos{0});
  const Nanos fixed = std::max({least, at_least.time_since_epoch() - own, told - own});
  lineage->shift.store(fixed.count(), std::memory_order_relaxed);
  lineage->follows.store(false, std::memory_order_release);
  return least - shift;
}

void LineageClock::Continue(Nanos shift) {
  Begin(shift, true);
  present_.load(std::memory_order_relaxed)->follows.store(false, std::memory_order_release);
}

Nanos LineageClock::shift() const noexcept {
  const Lineage* const lineage = present_.load(std::memory_order_acquire);
  return lineage == nullptr ? Nanos{0} : Nanos{lineage->shift.load(std::memory_order_relaxed)};
}

}  // namespace weir
