// The events of a simulation: they happen in the order of their times, and those of one time in the
// order in which they were added. For one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>

#include "core/base/instant.h"

namespace weir {

class EventQueue {
 public:
  explicit EventQueue(Nanos begin) : now_(begin) {}

  [[nodiscard]] Nanos now() const noexcept { return now_; }
  // Adds an event. One whose time is over happens next.
  void At(Nanos at, std::function<void()> happens) {
    events_.push({std::max(at, now_), ++last_, std::move(happens)});
  }
  // Has all events up to `end` happen, those that they add included. Then it is that time.
  void RunUntil(Nanos end) {
    while (!events_.empty() && events_.top().at <= end) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      event.happens();
    }
    now_ = end;
  }

 private:
  struct Event {
    Nanos at;
    std::uint64_t number;
    std::function<void()> happens;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  Nanos now_;
  std::uint64_t last_ = 0;
  std::priority_queue<Event> events_;
};

}  // namespace weir
