// How many buckets each partition may hold, so that all of them together stay within some bytes.
//
// A partition's map has room for 2^k - 1 slots, and doubles when it needs more. So that all of the
// memory is used and not only the half of it, the first partitions may have one doubling more than
// the rest. Which keys that favours is as random as the hash that has chosen their partition.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/rules/bucket.h"
#include "core/table/change_list.h"
#include "core/table/key_hash.h"
#include "core/table/slot_key.h"

namespace weir {

class TableBound {
 public:
  // The least that can be asked for. Each partition then has room for the buckets of a whole
  // request (kChecksMax), so that they do not drive out one another.
  static constexpr std::size_t kBytesMin = std::size_t{32} << 20;

  // None.
  constexpr TableBound() noexcept = default;
  // `bytes`: a quarter is the registry's of limits; what that does not need is left for the
  // process, its saves, and what the allocator has no use for. The rest is for slots, and where
  // changes are noted for all the notes that there may be. Below kBytesMin is kBytesMin.
  static constexpr TableBound Within(std::size_t bytes, bool notes_changes) noexcept {
    const std::size_t all = std::max(bytes, kBytesMin) - RegistryBytes(bytes);
    const std::size_t each = all / kPartitionCount;
    TableBound bound;
    bound.bits_ = 1;
    while (BytesOf(bound.bits_ + 1U, notes_changes) <= each) ++bound.bits_;
    const std::size_t rest = all - kPartitionCount * BytesOf(bound.bits_, notes_changes);
    const std::size_t step =
        BytesOf(bound.bits_ + 1U, notes_changes) - BytesOf(bound.bits_, notes_changes);
    bound.doubled_ = static_cast<std::uint16_t>(rest / step);
    WEIR_CHECK(bound.doubled_ < kPartitionCount);
    WEIR_CHECK(kPartitionCount * BytesOf(bound.bits_, notes_changes) + bound.doubled_ * step <=
               all);
    return bound;
  }

  static constexpr std::size_t RegistryBytes(std::size_t bytes) noexcept {
    return std::max(bytes, kBytesMin) / 4;
  }

  // Of one partition: the size of its map's array, 2^k - 1.
  [[nodiscard]] constexpr std::size_t Capacity(std::size_t partition) const noexcept {
    return (std::size_t{1} << (bits_ + (partition < doubled_ ? 1U : 0U))) - 1;
  }
  // And how many buckets it may hold. Abseil's map stays at its capacity, whatever comes and goes,
  // while it is filled to 25/32 and no more.
  [[nodiscard]] constexpr std::size_t SlotsMax(std::size_t partition) const noexcept {
    return SlotsIn(Capacity(partition));
  }

 private:
  static constexpr std::uint8_t kUnbounded = 40;  // bits: more than any machine has memory for

  static constexpr std::size_t SlotsIn(std::size_t capacity) noexcept { return capacity * 25 / 32; }
  // A slot has a byte of control; the array has 16 more and the allocator's own 16.
  static constexpr std::size_t BytesOf(std::size_t bits, bool notes_changes) noexcept {
    const std::size_t capacity = (std::size_t{1} << bits) - 1;
    return capacity * (sizeof(SlotKey) + sizeof(Bucket) + 1) + 32 +
           (notes_changes ? (ChangeList::kNotedMin + SlotsIn(capacity)) * sizeof(NotedChange) : 0);
  }

  std::uint8_t bits_ = kUnbounded;
  std::uint16_t doubled_ = 0;  // partitions 0 .. doubled_ - 1 have one bit more
};

}  // namespace weir
