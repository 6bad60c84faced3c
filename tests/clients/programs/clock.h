// A clock that does not advance, and the timers that are due when it is moved.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace weir {

class Clock {
 public:
  std::chrono::steady_clock::time_point Now() {
    const std::int64_t ms = ms_.fetch_add(late_ms_.exchange(0));
    return std::chrono::steady_clock::time_point(std::chrono::milliseconds(ms));
  }

  // The next reading moves the clock, as if what is done after it took a while.
  void Delay(std::int64_t ms) { late_ms_ = ms; }

  std::function<void()> Every(std::chrono::milliseconds period, std::function<void()> function) {
    const auto timer =
        std::make_shared<Timer>(Timer{ms_ + period.count(), period.count(), std::move(function)});
    timers_.push_back(timer);
    return [this, timer] { std::erase(timers_, timer); };
  }

  [[nodiscard]] std::size_t timers() const { return timers_.size(); }

  void Move(std::int64_t ms) {
    const std::int64_t end = ms_ + ms;
    while (const std::shared_ptr<Timer> timer = NextTimer(end)) {
      ms_ = std::max<std::int64_t>(ms_, timer->due);
      timer->due += timer->period;
      timer->function();
    }
    ms_ = std::max<std::int64_t>(ms_, end);
  }

 private:
  struct Timer {
    std::int64_t due;
    std::int64_t period;
    std::function<void()> function;
  };

  // Null if none is due by then.
  [[nodiscard]] std::shared_ptr<Timer> NextTimer(std::int64_t end) const {
    const auto next =
        std::ranges::min_element(timers_, {}, [](const auto& timer) { return timer->due; });
    return next == timers_.end() || (*next)->due > end ? nullptr : *next;
  }

  std::atomic<std::int64_t> ms_ = 0;
  std::atomic<std::int64_t> late_ms_ = 0;
  std::vector<std::shared_ptr<Timer>> timers_;
};

}  // namespace weir
