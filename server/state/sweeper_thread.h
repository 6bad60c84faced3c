// The thread that drives the Sweeper: it sweeps the table in small slices, one lap in the time that
// the sweeper asks for. Between slices, it frees what FLUSHALL has discarded, and the overrides of
// deleted policies, and calls a function of the server. At the end of a lap, it returns the heap's
// free memory to the system.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "core/limiter/sweeper.h"
#include "core/words/policies.h"

namespace weir {

// The partitions of a slice. In a table of ten million buckets a slice takes less than a
// millisecond, and a lap of one second wakes the thread 64 times.
inline constexpr std::size_t kPartitionsPerSlice = 64;

class SweeperThread {
 public:
  // Called between slices: six times a second or more often, unless a slice takes longer.
  using OnTick = std::function<void(Instant now)>;

  // Full buckets are dropped, unless clients give the time (--allow-explicit-time).
  enum class Sweeps : bool { kNo, kYes };

  // Starts the thread. The first three must outlive it; no other thread calls sweeper.Step().
  SweeperThread(Sweeper& sweeper, Policies& policies, const Clock& clock, OnTick on_tick = nullptr,
                Sweeps sweeps = Sweeps::kYes);
  // Stops the thread: interrupts a wait, finishes a slice.
  ~SweeperThread() = default;

 private:
  std::jthread thread_;
};

}  // namespace weir
