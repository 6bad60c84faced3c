#include "server/state/sweeper_thread.h"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#include "core/table/key_hash.h"
#include "server/os/memory.h"

namespace weir {
namespace {

constexpr std::size_t kSlicesPerLap = kPartitionCount / kPartitionsPerSlice;
static_assert(kPartitionCount % kPartitionsPerSlice == 0);

// Returns true if a lap has ended.
bool SweepSlice(Sweeper& sweeper, Instant now) {
  bool lap_ended = false;
  for (std::size_t i = 0; i < kPartitionsPerSlice; ++i) lap_ended = sweeper.Step(now);
  return lap_ended;
}

void SweepUntilStopped(const std::stop_token& stop, Sweeper& sweeper, Policies& policies,
                       const Clock& clock, const SweeperThread::OnTick& on_tick,
                       SweeperThread::Sweeps sweeps) {
  std::mutex mutex;
  std::condition_variable_any wake;  // only the stop token notifies it
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    policies.FreeDeleted();
    while (!stop.stop_requested() && sweeper.FreeDiscarded()) {
    }
    const Instant now = clock.Now();
    if (on_tick) on_tick(now);
    // Threads that allocate wait for the return: 30 ms after a million holds have expired. So it
    // comes once, behind the last of them.
    const bool sweeps_now = sweeps == SweeperThread::Sweeps::kYes;
    if (sweeps_now && SweepSlice(sweeper, now) && !sweeper.has_left_due()) ReturnFreeMemory();
    wake.wait_for(lock, stop, sweeper.LapTime() / kSlicesPerLap, [] { return false; });
  }
}

}  // namespace

SweeperThread::SweeperThread(WaitingThread& thread, Sweeper& sweeper, Policies& policies,
                             const Clock& clock, OnTick on_tick, Sweeps sweeps)
    : thread_(thread) {
  thread_.Begin([stop = stop_.get_token(), &sweeper, &policies, &clock,
                 on_tick = std::move(on_tick),
                 sweeps] { SweepUntilStopped(stop, sweeper, policies, clock, on_tick, sweeps); });
}

SweeperThread::~SweeperThread() {
  stop_.request_stop();
  thread_.Await();
}

}  // namespace weir
