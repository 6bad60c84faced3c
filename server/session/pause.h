// CLIENT PAUSE: until a given time no commands are executed, or none that write. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>

#include "core/base/instant.h"

namespace weir {

class Pause {
 public:
  enum class What { kChanges, kEverything };

  // If two pauses overlap, the stronger one applies until the later end.
  void Begin(What what, Instant now, Instant until) noexcept {
    if (this->until() > now) {
      what = std::max(what, this->what());
      until = std::max(until, this->until());
    }
    what_.store(what, std::memory_order_relaxed);
    until_ns_.store(until.time_since_epoch().count(), std::memory_order_release);
  }
  void End() noexcept { until_ns_.store(0, std::memory_order_release); }

  // The end of the pause.
  [[nodiscard]] Instant until() const noexcept {
    return Instant{Nanos{until_ns_.load(std::memory_order_acquire)}};
  }
  [[nodiscard]] What what() const noexcept { return what_.load(std::memory_order_relaxed); }

 private:
  std::atomic<What> what_{What::kEverything};
  std::atomic<Instant::rep> until_ns_{0};
};

}  // namespace weir
