// Which forms are hot: asked for often enough that their slices cost less than their requests.
//
// A form is hot from the fourth request in a window of max(100 ms, 4 RTT) to the end of the next
// window. The filter is a table of 65,536 slots of 8 bytes; two forms that meet in a slot take it
// from each other, or share it, so that a form is cold or hot too soon, and nothing else.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/instant.h"

namespace weir {

class HotFilter {
 public:
  static constexpr std::size_t kSlots = 65'536;
  static constexpr std::uint8_t kHotRequests = 4;

  [[nodiscard]] static constexpr Nanos Window(Nanos rtt) noexcept {
    return std::max<Nanos>(std::chrono::milliseconds{100}, 4 * rtt);
  }

  // Counts a request of the form with this keyed hash. Returns whether the form is hot.
  bool Count(std::uint64_t form, HostInstant now, Nanos rtt) noexcept {
    Slot& slot = slots_[IndexOf(form)];
    Turn(slot, TagOf(form), now, rtt);
    if (slot.count < kHotRequests) ++slot.count;
    return IsHot(slot);
  }
  [[nodiscard]] bool IsHot(std::uint64_t form, HostInstant now, Nanos rtt) const noexcept {
    Slot slot = slots_[IndexOf(form)];
    Turn(slot, TagOf(form), now, rtt);
    return IsHot(slot);
  }

 private:
  struct Slot {
    std::uint16_t tag = 0;
    std::uint8_t count = 0;   // of this window, up to kHotRequests
    bool was_hot = false;     // in the window before
    std::uint32_t begin = 0;  // of the window: the lower bits of a number of milliseconds
  };
  static_assert(sizeof(Slot) == 8);

  static std::size_t IndexOf(std::uint64_t form) noexcept { return form % kSlots; }
  static std::uint16_t TagOf(std::uint64_t form) noexcept {
    return static_cast<std::uint16_t>(form >> 48);
  }
  static bool IsHot(const Slot& slot) noexcept {
    return slot.was_hot || slot.count == kHotRequests;
  }
  // Makes the slot one of this form and of the window that has `now`.
  static void Turn(Slot& slot, std::uint16_t tag, HostInstant now, Nanos rtt) noexcept {
    using std::chrono::milliseconds;
    const auto at = static_cast<std::uint32_t>(now.time_since_epoch() / milliseconds{1});
    const auto window = static_cast<std::uint32_t>(Window(rtt) / milliseconds{1});
    const std::uint32_t age = at - slot.begin;
    if (slot.tag == tag && age <= window) return;
    const bool follows = slot.tag == tag && age <= 2 * window;
    slot = {.tag = tag,
            .count = 0,
            .was_hot = follows && slot.count == kHotRequests,
            .begin = follows ? slot.begin + window : at};
  }

  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
};

}  // namespace weir
