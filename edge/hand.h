// The hand: the units of a form's slices that an edge has and may spend.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"

#include "core/base/check.h"
#include "core/base/instant.h"

namespace weir {

// Units that the primary has charged in advance, under a hold of their own.
struct Slice {
  std::uint64_t number = 0;  // in the id of the hold
  std::int64_t left = 0;     // units; above 0 while it is in the hand
  std::int64_t used = 0;     // units
  HostInstant stop{};        // It is spent before.

  friend bool operator==(const Slice&, const Slice&) = default;
};

// When a slice of this life may be spent no longer, by a clock that may drift 500 ppm from the
// truth, as may the primary's. `sent`: the ask, which is no later than the charge.
[[nodiscard]] constexpr HostInstant StopOf(HostInstant sent, Nanos life) noexcept {
  return sent + life - life / 1000 - std::chrono::milliseconds{1};
}

class Hand {
 public:
  static constexpr std::size_t kSlicesMax = 8;

  [[nodiscard]] std::int64_t units() const noexcept { return units_; }
  // The oldest first.
  [[nodiscard]] std::span<const Slice> slices() const noexcept { return slices_; }
  [[nodiscard]] bool is_full() const noexcept { return slices_.size() == kSlicesMax; }

  // Requires: not is_full(), units left.
  void Add(const Slice& slice) {
    WEIR_DCHECK(!is_full());
    WEIR_DCHECK(slice.left > 0);
    slices_.push_back(slice);
    units_ += slice.left;
  }
  // Takes the units from the oldest slices. One that is spent is gone: nothing is sent about it.
  // Requires: units() >= units; no slice has ended.
  void Spend(std::int64_t units) {
    WEIR_DCHECK(units_ >= units);
    units_ -= units;
    while (units > 0) {
      Slice& oldest = slices_.front();
      const std::int64_t taken = std::min(units, oldest.left);
      oldest.left -= taken;
      oldest.used += taken;
      units -= taken;
      if (oldest.left == 0) slices_.erase(slices_.begin());
    }
  }
  // Removes a slice, to be given back, and returns it.
  Slice Take(std::size_t index) {
    const Slice slice = slices_.at(index);
    slices_.erase(slices_.begin() + static_cast<std::ptrdiff_t>(index));
    units_ -= slice.left;
    return slice;
  }
  // Returns the units that lapse, of the slices that have ended.
  std::int64_t DropEnded(HostInstant now) {
    const std::int64_t before = units_;
    for (std::size_t i = slices_.size(); i > 0; --i) {
      if (slices_[i - 1].stop <= now) Take(i - 1);
    }
    return before - units_;
  }

 private:
  absl::InlinedVector<Slice, 2> slices_;
  std::int64_t units_ = 0;  // the sum of `left`
};

}  // namespace weir
