#include "server/tick_counter.h"

#include "core/wide.h"

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

}  // namespace

std::optional<TickCounter> TickCounter::Calibrate(const std::function<Nanos()>& clock) {
  if (!IsInvariant()) return std::nullopt;
  const Nanos begin = clock();
  const std::uint64_t first = Tick();
  Nanos passed{0};
  while (passed < kCalibrationTime) passed = clock() - begin;
  const std::uint64_t ticks = Tick() - first;
  const auto nanos = static_cast<Wide>(passed.count());
  if (ticks == 0) return std::nullopt;
  return TickCounter(first, static_cast<std::uint64_t>((nanos << kFractionBits) / ticks));
}

// Ticks of a processor that is behind the first one's count as none.
Nanos TickCounter::Elapsed() const noexcept {
  const std::uint64_t now = Tick();
  const std::uint64_t ticks = now > first_tick_ ? now - first_tick_ : 0;
  const auto nanos = static_cast<Wide>(ticks) * nanos_per_tick_fixed_;
  return Nanos{static_cast<Nanos::rep>(nanos >> kFractionBits)};
}

}  // namespace weir
