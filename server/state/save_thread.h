// The thread that drives the Saver: one tick every snapshot-interval, and a tick at once when a
// client waits for one. A changed interval takes effect after the next tick.
//
// A session that must know that its change is on disk requests a ticket: the number of a tick that
// begins later. Sessions that request one while a tick is under way share the next tick, so the
// disk syncs once for all of them (group commit).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "persistence/saver.h"
#include "server/config/settings.h"
#include "server/os/waiting_thread.h"

namespace weir {

class SaveThread {
 public:
  // Called on the thread after a tick that was requested or that has failed: all tickets up to this
  // one have ended, with `saved`.
  using OnSaved = std::function<void(std::uint64_t ticket, const absl::Status& saved)>;

  // Called on the thread after a tick, with its result, before OnSaved.
  using Task = std::function<void(const absl::Status& saved)>;

  // Begins to save on a thread that has no other job. Requires: no other thread uses the saver
  // until Stop().
  SaveThread(WaitingThread& thread, Saver& saver, const Clock& clock, const Settings& settings,
             OnSaved on_saved);
  ~SaveThread();

  // Ends it after the present tick.
  void Stop();

  // Requests a tick at once and returns its ticket. Thread-safe.
  [[nodiscard]] std::uint64_t Request();
  // As Request, and calls `task` after the tick; Stop() drops a task whose tick has not begun. A
  // ticket that is requested later is one of that tick or of a later one. Thread-safe.
  void RunAfterSave(Task task);
  // True if the last tick failed.
  [[nodiscard]] bool failing() const noexcept { return failing_.load(std::memory_order_relaxed); }
  // True while a tick is under way.
  [[nodiscard]] bool saving() const noexcept { return saving_.load(std::memory_order_relaxed); }

 private:
  void Run(const std::stop_token& stop);
  absl::Status Tick();

  Saver& saver_;
  const Clock& clock_;
  const Settings& settings_;
  const OnSaved on_saved_;
  std::atomic<bool> failing_{false};
  std::atomic<bool> saving_{false};

  std::mutex mutex_;  // guards the tasks and the three counts
  std::condition_variable_any wake_;
  std::vector<Task> tasks_;     // for the end of the next tick
  std::uint64_t wanted_ = 0;    // the highest ticket given out
  std::uint64_t started_ = 0;   // the number of ticks that have begun
  std::uint64_t finished_ = 0;  // the number of ticks that have ended

  WaitingThread& thread_;
  std::stop_source stop_;
};

}  // namespace weir
