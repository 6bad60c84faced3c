// Counts events and returns their number in the last whole second.
//
//     rate.Add(7, now);                  // one thread
//     rate.InLastSecond(later)           // any thread
//
// It needs no timer: an event adds to the count of its second, and a reader takes the count of the
// second before its own, which no longer changes. (A turn that began in that second and still runs
// adds its events when it ends.)
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/base/instant.h"

namespace weir {

class Rate {
 public:
  void Add(std::uint64_t n, HostInstant now) noexcept {
    const std::int64_t second = SecondOf(now);
    SecondCount& second_count = CountOf(second);
    if (second_count.second.load(std::memory_order_relaxed) != second) {
      second_count.count.store(0, std::memory_order_relaxed);
      second_count.second.store(second, std::memory_order_release);
    }
    second_count.count.store(second_count.count.load(std::memory_order_relaxed) + n,
                             std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t InLastSecond(HostInstant now) const noexcept {
    const std::int64_t second = SecondOf(now) - 1;
    const SecondCount& second_count = counts_[static_cast<std::size_t>(second) % counts_.size()];
    if (second_count.second.load(std::memory_order_acquire) != second) return 0;
    return second_count.count.load(std::memory_order_relaxed);
  }

 private:
  struct SecondCount {
    std::atomic<std::int64_t> second{-1};  // since the epoch
    std::atomic<std::uint64_t> count{0};
  };

  static std::int64_t SecondOf(HostInstant now) noexcept {
    return std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  }
  SecondCount& CountOf(std::int64_t second) noexcept {
    return counts_[static_cast<std::size_t>(second) % counts_.size()];
  }

  std::array<SecondCount, 4> counts_;
};

}  // namespace weir
