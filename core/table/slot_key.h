// The table's lookup key: the stored part of a key's hash, and a limit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/id_type.h"
#include "core/table/limit_registry.h"

namespace weir {

// The hash is stored as two words, so that a slot is aligned to 4 bytes. With 8 it would take 32
// bytes.
struct SlotKey {
  std::uint32_t hash_low = 0;
  std::uint32_t hash_high = 0;
  LimitId limit{};

  SlotKey(std::uint64_t key_hash, LimitId limit_id) noexcept
      : hash_low(static_cast<std::uint32_t>(key_hash)),
        hash_high(static_cast<std::uint32_t>(key_hash >> 32)),
        limit(limit_id) {}
  [[nodiscard]] std::uint64_t key_hash() const noexcept {
    return std::uint64_t{hash_high} << 32 | hash_low;
  }
  friend bool operator==(const SlotKey&, const SlotKey&) = default;
};

// The hash that places a slot in abseil's map. The upper 57 bits choose the group of 16 slots where
// a search begins, the lower 7 bits tell the slots of a group apart. The key's hash is keyed and
// uniform already. The limit goes into the lower bits, so that the buckets of a key lie side by
// side and take one fetch from memory, not one per limit. At most kNeighbours of them lie so,
// because a search visits all slots that begin in the same group.
struct SlotHash {
  static constexpr std::uint32_t kNeighbours = 64;

  std::size_t operator()(const SlotKey& key) const noexcept {
    constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;  // spreads the blocks
    const std::uint32_t limit = NumberOf(key.limit);
    const std::uint64_t block = limit / kNeighbours;
    const std::uint64_t group = key.key_hash() + (block * kGoldenRatio << 7);
    return group ^ (limit % kNeighbours << 1) ^ block % 2;
  }
};

}  // namespace weir
