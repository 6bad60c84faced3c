// A thread for long tasks, such as reading a large file, beside the threads that serve clients.
// They run one after the other.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"

#include "core/base/mutex.h"
#include "server/os/waiting_thread.h"

namespace weir {

// Thread-safe. The destructor waits for all tasks.
class SideThread {
 public:
  // `tasks_max`: of those that run or wait at a time.
  explicit SideThread(std::size_t tasks_max = 1) : tasks_max_(tasks_max) {}

  // Runs the task, when it is its turn, and then `done`, which must be short. Fails with
  // kUnavailable, and runs neither, if too many wait.
  absl::Status Run(std::function<void()> task, std::function<void()> done);

 private:
  struct Task {
    std::function<void()> run;
    std::function<void()> done;
  };
  void RunAll();

  const std::size_t tasks_max_;
  Mutex mutex_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);  // the first one runs
  WaitingThread thread_{"weir-side"};
};

}  // namespace weir
