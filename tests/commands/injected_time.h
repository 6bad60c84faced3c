// The time of a process, as set by a test: it lies in a file that both have mapped.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

// The environment variable with the name of the file.
inline constexpr char kInjectedTimeVariable[] = "WEIR_INJECTED_TIME";

struct InjectedTime {
  std::atomic<std::int64_t> wall_ns;  // since the epoch: all of the time of day; 0: the system's
  std::atomic<std::int64_t> skew_ns;  // how far the monotonic clock is ahead of the system's
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

}  // namespace weir
