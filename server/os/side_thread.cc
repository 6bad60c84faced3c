#include "server/os/side_thread.h"

#include <utility>

namespace weir {

absl::Status SideThread::Run(std::function<void()> task, std::function<void()> done) {
  MutexLock lock(mutex_);
  if (is_busy_) {
    return absl::UnavailableError("another client has asked for it and is not answered yet");
  }
  is_busy_ = true;
  thread_.Await();  // the last `done`
  thread_.Begin([this, task = std::move(task), done = std::move(done)] {
    task();
    {
      MutexLock end(mutex_);
      is_busy_ = false;
    }
    done();
  });
  return absl::OkStatus();
}

}  // namespace weir
