#include "server/os/tick_counter.h"

#include <algorithm>

#include "core/base/wide.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace weir {
namespace {

constexpr int kFractionBits = 32;

#ifdef __x86_64__

bool IsInvariant() {
  constexpr unsigned kPowerManagement = 0x80000007;
  constexpr unsigned kInvariantTsc = 1U << 8;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(kPowerManagement, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariantTsc) != 0;
}

std::uint64_t Tick() noexcept { return __rdtsc(); }

#else

bool IsInvariant() { return false; }

std::uint64_t Tick() noexcept { return 0; }

#endif

struct Reading {
  Nanos time;
  std::uint64_t tick;
};

// Reads clock and counter at one instant. The thread may be stopped between the two, so this takes
// several readings and keeps the one that took the least time.
Reading ReadBoth(const std::function<Nanos()>& clock) {
  Reading best{};
  Nanos least = Nanos::max();
  for (int i = 0; i < 8; ++i) {
    const Nanos before = clock();
    const std::uint64_t tick = Tick();
    const Nanos around = clock() - before;
    if (around < least) best = {before + around / 2, tick};
    least = std::min(least, around);
  }
  return best;
}

}  // namespace

std::optional<TickCounter> TickCounter::Calibrate(const std::function<Nanos()>& clock) {
  if (!IsInvariant()) return std::nullopt;
  const Reading first = ReadBoth(clock);
  while (clock() - first.time < kCalibrationTime) {
  }
  const Reading last = ReadBoth(clock);
  if (last.tick == first.tick) return std::nullopt;
  const auto nanos = static_cast<Wide>((last.time - first.time).count());
  const auto fixed = (nanos << kFractionBits) / (last.tick - first.tick);
  return TickCounter(first.tick, static_cast<std::uint64_t>(fixed));
}

// Returns 0 on a processor whose counter is behind the first tick.
Nanos TickCounter::Elapsed() const noexcept {
  const std::uint64_t now = Tick();
  const std::uint64_t ticks = now > first_tick_ ? now - first_tick_ : 0;
  const auto nanos = static_cast<Wide>(ticks) * nanos_per_tick_fixed_;
  return Nanos{static_cast<Nanos::rep>(nanos >> kFractionBits)};
}

}  // namespace weir
