// A library for LD_PRELOAD that answers a process's calls for the time with the test's time
// (injected_time.h).
//
// It allocates nothing, since allocators ask for the time, too, and may do so before any
// constructor has run. All other clocks are left to the system.
#include "tests/commands/injected_time.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>

namespace weir {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

// The process ends with the thread of the test that started it, however that thread ends.
const InjectedTime& Map() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const char* const path = std::getenv(kInjectedTimeVariable);
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  void* const bytes = mmap(nullptr, sizeof(InjectedTime), PROT_READ, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) std::abort();
  return *static_cast<const InjectedTime*>(bytes);
}

const InjectedTime& Injected() {
  static const InjectedTime& time = Map();
  return time;
}

std::int64_t SystemNanos(clockid_t clock) {
  timespec time{};
  syscall(SYS_clock_gettime, clock, &time);
  return time.tv_sec * kNanosPerSecond + time.tv_nsec;
}

std::int64_t WallNanos() {
  const std::int64_t injected = Injected().wall_ns.load();
  return injected != 0 ? injected : SystemNanos(CLOCK_REALTIME);
}

std::int64_t MonotonicNanos() { return SystemNanos(CLOCK_MONOTONIC) + Injected().skew_ns.load(); }

}  // namespace
}  // namespace weir

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  std::int64_t nanos = 0;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    nanos = weir::WallNanos();
  } else if (clock == CLOCK_MONOTONIC) {
    nanos = weir::MonotonicNanos();
  } else {
    return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  }
  *time = {.tv_sec = nanos / weir::kNanosPerSecond, .tv_nsec = nanos % weir::kNanosPerSecond};
  return 0;
}

int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  const std::int64_t nanos = weir::WallNanos();
  *time = {.tv_sec = nanos / weir::kNanosPerSecond,
           .tv_usec = nanos % weir::kNanosPerSecond / 1000};
  return 0;
}

time_t time(time_t* copy) noexcept {
  const time_t seconds = weir::WallNanos() / weir::kNanosPerSecond;
  if (copy != nullptr) *copy = seconds;
  return seconds;
}
}
