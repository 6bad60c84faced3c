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
