#include "server/os/side_thread.h"

#include <utility>

namespace weir {

absl::Status SideThread::Run(std::function<void()> task, std::function<void()> done) {
  MutexLock lock(mutex_);
  if (tasks_.size() >= tasks_max_) {
    return absl::UnavailableError("others have asked for long work and are not answered yet");
  }
  tasks_.push_back({std::move(task), std::move(done)});
  if (tasks_.size() > 1) return absl::OkStatus();
  thread_.Await();  // the last `done`
  thread_.Begin([this] { RunAll(); });
  return absl::OkStatus();
}

void SideThread::RunAll() {
  for (bool has_more = true; has_more;) {
    std::function<void()> run;
    {
      MutexLock lock(mutex_);
      run = std::move(tasks_.front().run);
    }
    run();
    std::function<void()> done;
    {
      MutexLock lock(mutex_);
      done = std::move(tasks_.front().done);
      tasks_.pop_front();
      has_more = !tasks_.empty();
    }
    done();
  }
}

}  // namespace weir
