// A thread for one long task at a time, such as reading a large file, beside the threads that serve
// clients.
#pragma once

#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"

#include "core/base/mutex.h"
#include "server/os/waiting_thread.h"

namespace weir {

// Thread-safe. The destructor waits for the task.
class SideThread {
 public:
  // Runs the task, and then `done`, when the next task may begin; `done` must be short. Fails with
  // kUnavailable, and runs neither, if another task runs.
  absl::Status Run(std::function<void()> task, std::function<void()> done);

 private:
  Mutex mutex_;
  bool is_busy_ ABSL_GUARDED_BY(mutex_) = false;
  WaitingThread thread_{"weir-side"};
};

}  // namespace weir
