// The events that were reported lately, so that each is reported once an interval.
//
//     if (recent.Note(hash, now, interval)) Report(...);
//
// A direct-mapped cache: two events that share a place forget each other, so that one may be
// reported again too early, but none is left out. (Two different events with the same 64 bits would
// be taken for one.) Memory: 64 KiB from the first event on. Cost: one cache line. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/instant.h"

namespace weir {

class RecentEvents {
 public:
  static constexpr std::size_t kPlaces = 4096;

  // Returns false if the event with this hash was noted less than `interval` before `now`; else
  // notes it. A time that has gone back counts as an interval.
  [[nodiscard]] bool Note(std::uint64_t hash, Instant now, Nanos interval) {
    if (!places_) places_ = std::make_unique<std::array<Place, kPlaces>>();
    Place& place = (*places_)[hash % kPlaces];
    const bool is_recent =
        place.is_used && place.hash == hash && now >= place.noted && now - place.noted < interval;
    if (is_recent) return false;
    place = {hash, now, true};
    return true;
  }

 private:
  struct Place {
    std::uint64_t hash = 0;
    Instant noted{};
    bool is_used = false;
  };

  std::unique_ptr<std::array<Place, kPlaces>> places_;
};

}  // namespace weir
