// How many of something there were in the last whole second.
//
//     rate.Add(7, now);                  // one thread
//     rate.InLastSecond(later)           // any thread
//
// Nothing ticks: what is counted goes into the place of its second, and the place of the second
// before the reader's has come to rest by then. (A turn that began in it and is not over yet counts
// when it is.)
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
  void Add(std::uint64_t n, Instant now) noexcept {
    const std::int64_t second = SecondOf(now);
    Place& place = PlaceOf(second);
    if (place.second.load(std::memory_order_relaxed) != second) {
      place.count.store(0, std::memory_order_relaxed);
      place.second.store(second, std::memory_order_release);
    }
    place.count.store(place.count.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t InLastSecond(Instant now) const noexcept {
    const std::int64_t second = SecondOf(now) - 1;
    const Place& place = places_[static_cast<std::size_t>(second) % places_.size()];
    if (place.second.load(std::memory_order_acquire) != second) return 0;
    return place.count.load(std::memory_order_relaxed);
  }

 private:
  struct Place {
    std::atomic<std::int64_t> second{-1};  // since the epoch
    std::atomic<std::uint64_t> count{0};
  };

  static std::int64_t SecondOf(Instant now) noexcept {
    return std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  }
  Place& PlaceOf(std::int64_t second) noexcept {
    return places_[static_cast<std::size_t>(second) % places_.size()];
  }

  std::array<Place, 4> places_;
};

}  // namespace weir
