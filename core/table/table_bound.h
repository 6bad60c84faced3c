// The number of buckets that each partition may hold, so that the table stays within its memory.
//
// A partition's map has room for 2^k - 1 slots, and doubles when it needs more. If all partitions
// had the same k, up to half of the memory would be left unused, so the first partitions may double
// once more than the rest. Which keys that favours is as random as the hash that chooses their
// partition.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/rules/bucket.h"
#include "core/table/change_log.h"
#include "core/table/key_hash.h"
#include "core/table/slot_key.h"

namespace weir {

class TableBound {
 public:
  // The smallest bound. Each partition then has room for the buckets of a whole request
  // (kChecksMax), so that they do not evict each other.
  static constexpr std::size_t kBytesMin = std::size_t{32} << 20;

  // No bound.
  constexpr TableBound() noexcept = default;
  // A bound of `bytes`, at least kBytesMin. A quarter is for the registry of limits; what the
  // registry does not need is left for the process, its saves and the allocator's waste. The rest
  // is for slots and, if changes are logged, for the longest logs.
  static constexpr TableBound Within(std::size_t bytes, bool logs_changes) noexcept {
    const std::size_t all = std::max(bytes, kBytesMin) - RegistryBytes(bytes);
    const std::size_t each = all / kPartitionCount;
    TableBound bound;
    bound.bits_ = 1;
    while (BytesOf(bound.bits_ + 1U, logs_changes) <= each) ++bound.bits_;
    const std::size_t rest = all - kPartitionCount * BytesOf(bound.bits_, logs_changes);
    const std::size_t step =
        BytesOf(bound.bits_ + 1U, logs_changes) - BytesOf(bound.bits_, logs_changes);
    bound.doubled_ = static_cast<std::uint16_t>(rest / step);
    WEIR_CHECK(bound.doubled_ < kPartitionCount);
    WEIR_CHECK(kPartitionCount * BytesOf(bound.bits_, logs_changes) + bound.doubled_ * step <= all);
    return bound;
  }

  // A bound of `bytes` for the table and for holds that take `hold_bytes`. Those count in steps, so
  // that a few holds more or less do not change the sizes of maps.
  static constexpr TableBound Beside(std::size_t hold_bytes, std::size_t bytes,
                                     bool logs_changes) noexcept {
    constexpr std::size_t kSteps = 16;
    const std::size_t step = HoldBytesMax(bytes) / kSteps;
    const std::size_t steps = std::min(kSteps, (hold_bytes + step - 1) / step);
    // Slots have three quarters of a bound.
    return Within(std::max(bytes, kBytesMin) - steps * step * 4 / 3, logs_changes);
  }

  static constexpr std::size_t RegistryBytes(std::size_t bytes) noexcept {
    return std::max(bytes, kBytesMin) / 4;
  }
  // The most that holds may take.
  static constexpr std::size_t HoldBytesMax(std::size_t bytes) noexcept {
    return std::max(bytes, kBytesMin) / 4;
  }

  // The size of the array of one partition's map, 2^k - 1.
  [[nodiscard]] constexpr std::size_t Capacity(std::size_t partition) const noexcept {
    return (std::size_t{1} << (bits_ + (partition < doubled_ ? 1U : 0U))) - 1;
  }
  // The number of buckets that the partition may hold. Abseil's map keeps its capacity, whatever is
  // inserted and erased, as long as it is at most 25/32 full.
  [[nodiscard]] constexpr std::size_t SlotsMax(std::size_t partition) const noexcept {
    return SlotsIn(Capacity(partition));
  }

 private:
  static constexpr std::uint8_t kUnbounded = 40;  // bits: more than any machine has memory for

  static constexpr std::size_t SlotsIn(std::size_t capacity) noexcept { return capacity * 25 / 32; }
  // A slot has a control byte; an array has 16 more control bytes, and the allocator adds 16.
  static constexpr std::size_t BytesOf(std::size_t bits, bool logs_changes) noexcept {
    const std::size_t capacity = (std::size_t{1} << bits) - 1;
    return capacity * (sizeof(SlotKey) + sizeof(Bucket) + 1) + 32 +
           (logs_changes ? LogBytes(SlotsIn(capacity)) : 0);
  }
  static constexpr std::size_t LogBytes(std::size_t slots) noexcept {
    return (ChangeLog::kChangesMin + slots) * sizeof(LoggedChange);
  }

  std::uint8_t bits_ = kUnbounded;
  std::uint16_t doubled_ = 0;  // partitions 0 .. doubled_ - 1 have one bit more
};

}  // namespace weir
