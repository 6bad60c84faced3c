// A set of partitions of the table: one bit each, 512 bytes. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/table/key_hash.h"

namespace weir {

class PartitionSet {
 public:
  static constexpr std::size_t kWords = kPartitionCount / 64;
  static_assert(kPartitionCount % 64 == 0);

  static PartitionSet All() {
    PartitionSet all;
    all.words_.fill(~std::uint64_t{0});
    return all;
  }

  void Add(std::size_t partition) noexcept {
    WEIR_CHECK(partition < kPartitionCount);
    words_[partition / 64] |= std::uint64_t{1} << (partition % 64);
  }
  [[nodiscard]] bool Contains(std::size_t partition) const noexcept {
    return (words_[partition / 64] >> (partition % 64) & 1) != 0;
  }
  [[nodiscard]] bool Contains(const PartitionSet& others) const noexcept {
    return std::ranges::equal(words_, others.words_, [](std::uint64_t mine, std::uint64_t other) {
      return (other & ~mine) == 0;
    });
  }
  // Adds the partitions of up to 64 bits at once. Returns whether any of them is new.
  bool AddWord(std::size_t word, std::uint64_t bits) noexcept {
    const bool grows = (bits & ~words_[word]) != 0;
    words_[word] |= bits;
    return grows;
  }
  void AddAll(const PartitionSet& others) noexcept {
    for (std::size_t word = 0; word < kWords; ++word) words_[word] |= others.words_[word];
  }
  void Remove(std::size_t partition) noexcept {
    WEIR_CHECK(partition < kPartitionCount);
    words_[partition / 64] &= ~(std::uint64_t{1} << (partition % 64));
  }
  [[nodiscard]] bool empty() const noexcept {
    return std::ranges::all_of(words_, [](std::uint64_t word) { return word == 0; });
  }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t size = 0;
    for (const std::uint64_t word : words_) size += static_cast<std::size_t>(std::popcount(word));
    return size;
  }
  // The first partition of the set that is not below `from`, or else the first of all.
  // Requires: !empty(), from <= kPartitionCount.
  [[nodiscard]] std::size_t FirstFrom(std::size_t from) const noexcept {
    for (std::size_t word = from / 64; word < kWords; ++word) {
      const std::uint64_t below = word == from / 64 ? (std::uint64_t{1} << (from % 64)) - 1 : 0;
      const std::uint64_t bits = words_[word] & ~below;
      if (bits != 0) return 64 * word + static_cast<std::size_t>(std::countr_zero(bits));
    }
    WEIR_CHECK(from > 0);
    return FirstFrom(0);
  }
  // The partitions 64 * word to 64 * word + 63, the first in the lowest bit.
  [[nodiscard]] std::uint64_t Word(std::size_t word) const noexcept { return words_[word]; }

  friend bool operator==(const PartitionSet&, const PartitionSet&) = default;

  // Calls visit(std::size_t partition), in ascending order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (std::size_t word = 0; word < kWords; ++word) {
      for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1) {
        visit(64 * word + static_cast<std::size_t>(std::countr_zero(bits)));
      }
    }
  }

 private:
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace weir
