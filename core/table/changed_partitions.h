// The partitions that have noted a change since the last call of TakeInto.
//
// A save visits only these. If every admission waits for a save, there is one every millisecond,
// and a visit to all 4,096 partitions would cost more than everything else.
//
// Thread-safe, without a lock. A partition that was added under its lock is seen by every thread
// that has held that lock since.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/table/partition_set.h"

namespace weir {

class ChangedPartitions {
 public:
  // Most partitions are in the set already: then this only loads memory that no thread writes.
  void Add(std::size_t partition) noexcept {
    WEIR_DCHECK(partition < kPartitionCount);
    std::atomic<std::uint64_t>& word = words_[partition / 64];
    const std::uint64_t bit = std::uint64_t{1} << (partition % 64);
    if (!(word.load(std::memory_order_relaxed) & bit)) {
      word.fetch_or(bit, std::memory_order_relaxed);
    }
  }

  // Moves all partitions to `taken`. Returns whether any of them is new there.
  bool TakeInto(PartitionSet& taken) noexcept {
    bool grows = false;
    for (std::size_t i = 0; i < PartitionSet::kWords; ++i) {
      if (words_[i].load(std::memory_order_relaxed) == 0) continue;
      grows |= taken.AddWord(i, words_[i].exchange(0, std::memory_order_relaxed));
    }
    return grows;
  }

 private:
  std::array<std::atomic<std::uint64_t>, PartitionSet::kWords> words_{};
};

}  // namespace weir
