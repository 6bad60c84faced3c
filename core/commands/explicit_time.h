// The latest execution time that a client has given with AT, and whether clients may give one.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/instant.h"

namespace weir {

// Thread-safe.
class ExplicitTime {
 public:
  explicit ExplicitTime(bool allowed) : allowed_(allowed) {}
  [[nodiscard]] bool allowed() const noexcept { return allowed_; }

  void Record(Instant at) noexcept {
    latest_.store(at.time_since_epoch().count(), std::memory_order_relaxed);
  }
  // The time at which buckets are shown: the latest AT, or `now` if there was none.
  [[nodiscard]] Instant View(Instant now) const noexcept {
    const std::int64_t latest = latest_.load(std::memory_order_relaxed);
    return latest == kNone ? now : Instant{Nanos{latest}};
  }

 private:
  static constexpr std::int64_t kNone = -1;
  const bool allowed_;
  std::atomic<std::int64_t> latest_{kNone};
};

}  // namespace weir
