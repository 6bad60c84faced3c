#include "server/os/waiting_thread.h"

#include <utility>

#include "core/base/check.h"
#include "server/os/crash_report.h"

namespace weir {

WaitingThread::WaitingThread(const std::string& name)
    : thread_([this, name] {
        BeginThread(name.c_str());
        Run();
      }) {}

WaitingThread::~WaitingThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WaitingThread::Begin(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    WEIR_CHECK(!job_);
    job_ = std::move(job);
  }
  changed_.notify_all();
}

void WaitingThread::Await() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !job_; });
}

void WaitingThread::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return job_ || ends_; });
    if (!job_) return;
    lock.unlock();
    job_();  // Await reads it only
    lock.lock();
    job_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace weir
