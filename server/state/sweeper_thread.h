// The thread that drives the Sweeper: a lap over the table in the time that the sweeper asks for,
// in small slices. Between slices it frees the overrides of deleted policies. At a lap's end the
// heap's free memory goes back to the system.
#pragma once

#include <cstddef>
#include <thread>

#include "core/base/clock.h"
#include "core/limiter/sweeper.h"
#include "core/words/policies.h"

namespace weir {

// Partitions swept between two waits. A slice takes under a millisecond of work in a table of ten
// million buckets, and a lap of a second wakes the thread 64 times.
inline constexpr std::size_t kPartitionsPerSlice = 64;

class SweeperThread {
 public:
  // Starts the thread. All three must outlive it; no other thread calls sweeper.Step().
  SweeperThread(Sweeper& sweeper, Policies& policies, const Clock& clock);
  // Stops it at once: a wait is interrupted, a slice is finished.
  ~SweeperThread() = default;

 private:
  std::jthread thread_;
};

}  // namespace weir
