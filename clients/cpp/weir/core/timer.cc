#include "weir/core/timer.h"

#include <algorithm>
#include <utility>

namespace weir::client {
namespace {

constexpr std::chrono::milliseconds kTimerCloseTime{200};

}  // namespace

std::function<void()> Timers::Start(std::chrono::milliseconds period,
                                    std::function<void()> function) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return [] {};
  Join();
  auto timer = std::make_shared<Timer>();
  timers_.push_back(timer);
  try {
    timer->thread = std::thread(
        [self = shared_from_this(), timer, period, function = std::move(function)]() mutable {
          self->Run(timer, period, std::exchange(function, nullptr));
        });
  } catch (...) {
    timers_.pop_back();
    throw;
  }
  return [self = shared_from_this(), timer] {
    const std::lock_guard stop(self->mutex_);
    timer->has_ended = true;
    self->changed_.notify_all();
  };
}

void Timers::Close() {
  std::unique_lock lock(mutex_);
  is_closed_ = true;
  for (const auto& timer : timers_) timer->has_ended = true;
  changed_.notify_all();
  changed_.wait_for(lock, kTimerCloseTime, [this] {
    return std::ranges::all_of(timers_, [](const auto& timer) {
      return timer->is_done || timer->thread.get_id() == std::this_thread::get_id();
    });
  });
  Join();
  for (const auto& timer : timers_) timer->thread.detach();
  timers_.clear();
}

void Timers::Run(const std::shared_ptr<Timer>& timer, std::chrono::milliseconds period,
                 const std::function<void()>& function) {
  std::unique_lock lock(mutex_);
  const auto next = [&] { return std::chrono::steady_clock::now() + period; };
  while (!changed_.wait_until(lock, next(), [&] { return timer->has_ended; })) {
    lock.unlock();
    function();
    lock.lock();
  }
  timer->is_done = true;
  changed_.notify_all();
}

void Timers::Join() {
  std::erase_if(timers_, [](const auto& timer) {
    if (timer->is_done) timer->thread.join();
    return timer->is_done;
  });
}

}  // namespace weir::client
