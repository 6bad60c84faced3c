// What a slot of the table is found by: the stored part of a key's hash, and a limit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/limit_registry.h"

namespace weir {

// The hash in two words: a slot is aligned to 4 bytes, else it would take 32.
struct SlotKey {
  std::uint32_t hash_low = 0;
  std::uint32_t hash_high = 0;
  LimitId limit = 0;

  SlotKey(std::uint64_t key_hash, LimitId limit_id) noexcept
      : hash_low(static_cast<std::uint32_t>(key_hash)),
        hash_high(static_cast<std::uint32_t>(key_hash >> 32)),
        limit(limit_id) {}
  [[nodiscard]] std::uint64_t key_hash() const noexcept {
    return std::uint64_t{hash_high} << 32 | hash_low;
  }
  friend bool operator==(const SlotKey&, const SlotKey&) = default;
};

// The key's hash is keyed and uniform already; the limit only has to move it elsewhere.
struct SlotHash {
  std::size_t operator()(const SlotKey& key) const noexcept {
    constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
    return key.key_hash() + key.limit * kGoldenRatio;
  }
};

}  // namespace weir
