// The keys that come up most, in bounded memory: a Filtered Space-Saving sketch.
//
// It counts `capacity` keys. One that is not among them is counted by its cell of the filter, which
// it shares with others. Only when the cell has come up to the least count does the key take the
// place of the one that has it, with the cell's count as the error that it may carry; so a flood of
// keys that come once each mostly raises cells, which is cheap. With N additions:
//     estimate - error <= true count <= estimate          error <= N / capacity
// and a key that came up more than N / capacity times is always there. Sources: Metwally, Agrawal
// and El Abbadi, "Efficient computation of frequent and top-k elements in data streams" (2005);
// Homem and Carvalho, "Finding top-k elements in data streams" (2010), for the filter.
//
// Memory: about 500 bytes a key. Cost of an addition: a hash and a look-up; O(log capacity) swaps
// of 4 bytes where a counted key comes up or one takes a place. Thread-safe; made for one thread
// that adds and others that look now and then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "core/mutex.h"

namespace weir {

inline constexpr std::size_t kTopKeysMax = 1000;
inline constexpr std::size_t kTopKeyBytesMax = 128;  // of a key's text; what is longer is cut

class TopKeys {
 public:
  // Requires: capacity > 0.
  explicit TopKeys(std::size_t capacity = kTopKeysMax);
  TopKeys(const TopKeys&) = delete;
  TopKeys& operator=(const TopKeys&) = delete;

  void Add(std::string_view key);
  void Clear();

  struct Row {
    std::string key;          // its first kTopKeyBytesMax bytes
    std::uint64_t count = 0;  // estimate: not less than the true count
    std::uint64_t error = 0;  // the estimate is at most so much too great

    friend bool operator==(const Row&, const Row&) = default;
  };
  // What several sketches know together: the `rows_max` keys with the greatest estimates, greatest
  // first, equals by key. A key that a full sketch does not count may have come up there as often
  // as the least that it counts: that is added to estimate and error.
  [[nodiscard]] static std::vector<Row> Merge(std::span<const TopKeys* const> sketches,
                                              std::size_t rows_max);

 private:
  struct Counted {
    std::uint64_t hash;
    std::uint64_t count;
    std::uint64_t error;
    std::uint32_t place;  // in heap_
    std::string key;
  };

  struct AsItIs {  // of what is a hash already
    std::size_t operator()(std::uint64_t hash) const noexcept { return hash; }
  };

  struct Cell {
    // Not less than what any key of the cell came up while it was not counted, and never more than
    // the least count.
    std::uint32_t count = 0;
    std::uint32_t counted = 0;  // keys of the cell that are; with none there is nothing to look up
  };

  [[nodiscard]] Cell& CellOf(std::uint64_t hash) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return filter_[hash & (filter_.size() - 1)];
  }
  void SiftUp(std::size_t place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SiftDown(std::size_t place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakePlace(std::uint32_t fewest, std::uint64_t hash, std::string_view key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Put(std::size_t place, std::uint32_t counted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Cells for each key that is counted, rounded up to a power of two in all. More of them let fewer
  // keys in, and cost cache.
  static constexpr std::size_t kCellsPerKey = 32;

  const std::size_t capacity_;
  mutable Mutex mutex_;
  std::vector<Counted> counted_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> heap_ ABSL_GUARDED_BY(mutex_);  // of counted_; the fewest first
  absl::flat_hash_map<std::uint64_t, std::uint32_t, AsItIs> known_
      ABSL_GUARDED_BY(mutex_);  // by hash
  std::vector<Cell> filter_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
