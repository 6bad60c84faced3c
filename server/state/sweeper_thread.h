// The thread that drives the Sweeper: it sweeps the table in small slices, one lap in the time that
// the sweeper asks for. Between slices, it frees what FLUSHALL has discarded, and the overrides of
// deleted policies, and calls a function of the server. At the end of a lap, it returns the heap's
// free memory to the system.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "core/limiter/sweeper.h"
#include "core/policies/policies.h"
#include "server/os/waiting_thread.h"

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

  // Begins to sweep on a thread that has no other job. All references must outlive the object; no
  // other thread calls sweeper.Step().
  SweeperThread(WaitingThread& thread, Sweeper& sweeper, Policies& policies, const Clock& clock,
                OnTick on_tick = nullptr, Sweeps sweeps = Sweeps::kYes);
  // Ends it: interrupts a wait, finishes a slice.
  ~SweeperThread();
  SweeperThread(const SweeperThread&) = delete;
  SweeperThread& operator=(const SweeperThread&) = delete;

 private:
  WaitingThread& thread_;
  std::stop_source stop_;
};

}  // namespace weir
