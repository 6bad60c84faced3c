#include "server/state/save_thread.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "core/base/check.h"
#include "core/base/status.h"
#include "server/os/log.h"

namespace weir {

SaveThread::SaveThread(WaitingThread& thread, Saver& saver, const Clock& clock,
                       const Settings& settings, OnSaved on_saved)
    : saver_(saver),
      clock_(clock),
      settings_(settings),
      on_saved_(std::move(on_saved)),
      thread_(thread) {
  thread_.Begin([this] { Run(stop_.get_token()); });
}

SaveThread::~SaveThread() { Stop(); }

void SaveThread::Stop() {
  stop_.request_stop();
  thread_.Await();
}

void SaveThread::RunAfterSave(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  static_cast<void>(Request());
}

std::uint64_t SaveThread::Request() {
  const std::lock_guard lock(mutex_);
  // The tick under way may have missed the caller's change.
  wanted_ = started_ + 1;
  wake_.notify_one();
  return wanted_;
}

void SaveThread::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  Nanos begun = clock_.Stopwatch();
  while (!stop.stop_requested()) {
    // A tick that takes longer than the interval is followed by the next one at once. After a
    // failure the next tick comes soon, however long the interval is.
    const Nanos interval = settings_.Get(&Options::snapshot_interval);
    const Nanos period = failing() ? std::min(interval, Saver::kRetryMin) : interval;
    const Nanos rest = std::max(begun + period - clock_.Stopwatch(), Nanos{0});
    wake_.wait_for(lock, stop, rest, [this] { return wanted_ > finished_; });
    if (stop.stop_requested()) return;
    begun = clock_.Stopwatch();
    WEIR_CHECK(started_ == finished_);
    const std::uint64_t tick = ++started_;
    WEIR_CHECK(wanted_ <= tick);
    const std::vector<Task> tasks = std::exchange(tasks_, {});
    lock.unlock();
    const absl::Status saved = Tick();
    for (const Task& task : tasks) task(saved);
    lock.lock();
    const bool awaited = wanted_ > finished_;
    finished_ = tick;
    if (!awaited && saved.ok()) continue;
    lock.unlock();
    on_saved_(tick, saved);
    lock.lock();
  }
}

absl::Status SaveThread::Tick() {
  saving_.store(true, std::memory_order_relaxed);
  absl::Status saved = saver_.Save();
  saving_.store(false, std::memory_order_relaxed);
  const bool failed_before = failing_.exchange(!saved.ok(), std::memory_order_relaxed);
  if (!saved.ok() && !failed_before) {
    spdlog::error("cannot save the state, will retry: {}", EscapedForLog(StdView(saved.message())));
  } else if (saved.ok() && failed_before) {
    spdlog::info("saving the state works again");
  }
  return saved;
}

}  // namespace weir
