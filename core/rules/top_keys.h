// The keys that come up most, in bounded memory: a Filtered Space-Saving sketch.
//
// It counts `capacity` keys. One that is not among them is counted by its cell of the filter, which
// it shares with others. When the cell has come up to the least count, the next key of it takes the
// place of the one that has that count, and the cell's count is the error that it may carry. So
// that no choice of keys makes this dear, a place is taken at most at every 256th addition, by one
// whose cell stands at least as high as those that were refused meanwhile; but what has come up
// N / capacity times is never refused. With N additions:
//     estimate - error <= true count <= estimate        error <= 2 * N / capacity
// and a key that came up more than 2 * N / capacity times is always there. Sources: Metwally,
// Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams"
// (2005); Homem and Carvalho, "Finding top-k elements in data streams" (2010), for the filter.
//
// Memory: about 300 bytes a key. Cost of an addition: a look at the cell, and for a counted key a
// look-up. Where a place is taken: a lock and a look at every count. One thread owns a sketch and
// adds to it; any thread may clear it and read it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "core/base/counter.h"
#include "core/base/mutex.h"

namespace weir {

inline constexpr std::size_t kTopKeysMax = 1000;
inline constexpr std::size_t kTopKeyBytesMax = 128;  // of a key's text; what is longer is cut

class TopKeys {
 public:
  // Requires: capacity > 0.
  explicit TopKeys(std::size_t capacity = kTopKeysMax);
  TopKeys(const TopKeys&) = delete;
  TopKeys& operator=(const TopKeys&) = delete;

  // For the owner. `hash` stands for the key, here and where sketches are merged; from a keyed
  // hash, so that a client cannot choose which keys are counted together.
  void Add(std::string_view key, std::uint64_t hash);
  // From now on nothing has been added. The owner forgets it at its next addition.
  void Clear() noexcept { cleared_.store(true, std::memory_order_relaxed); }

  struct Row {
    std::string key;          // its first kTopKeyBytesMax bytes
    std::uint64_t count = 0;  // estimate: not less than the true count
    std::uint64_t error = 0;  // the estimate is at most so much too great

    friend bool operator==(const Row&, const Row&) = default;
  };
  // The merged rows of several sketches: the `rows_max` keys with the greatest estimates, greatest
  // first, equals by key. A key that a full sketch does not count may have come up there as often
  // as the least that it counts, or as the highest cell: that is added to estimate and error.
  [[nodiscard]] static std::vector<Row> Merge(std::span<const TopKeys* const> sketches,
                                              std::size_t rows_max);

 private:
  // The owner changes it under the lock, but for the count.
  struct Counted {
    std::uint64_t hash = 0;
    Counter count;
    std::uint64_t error = 0;
    std::string key;
  };

  struct AsItIs {  // of what is a hash already
    std::size_t operator()(std::uint64_t hash) const noexcept { return hash; }
  };

  struct Cell {
    // Not less than what any key of the cell came up while it was not counted.
    std::uint32_t count = 0;
    std::uint32_t counted = 0;  // keys of the cell that are; with none there is nothing to look up
  };

  [[nodiscard]] Cell& CellOf(std::uint64_t hash) { return filter_[hash & (filter_.size() - 1)]; }
  [[nodiscard]] bool IsRefused(const Cell& cell) const;
  void AddUncounted(Cell& cell, std::string_view key, std::uint64_t hash);
  void Count(Counted& counted, std::uint64_t error, std::string_view key, std::uint64_t hash)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict(const Counted& counted);
  [[nodiscard]] std::size_t PlaceOfLeast() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::uint64_t UnseenMax() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget();

  // Cells for each key that is counted, rounded up to a power of two in all. More of them tell keys
  // apart better, and cost cache.
  static constexpr std::size_t kCellsPerKey = 8;
  static constexpr std::uint64_t kAdditionsPerPlace = 256;

  const std::size_t capacity_;
  std::atomic<bool> cleared_{false};
  std::atomic<std::uint32_t> refused_max_{0};  // the highest cell that was refused
  mutable Mutex mutex_;
  std::deque<Counted> counted_ ABSL_GUARDED_BY(mutex_);

  // The owner's.
  std::vector<Cell> filter_;
  absl::flat_hash_map<std::uint64_t, Counter*, AsItIs> counts_;  // of counted_, by hash
  std::uint64_t added_ = 0;
  std::uint64_t next_place_ = 0;  // from so many additions on a place may be taken
  // What a cell has to come up to for more than being raised: the least count, as it was when it
  // was looked for last, or the highest cell refused since. 0 while there is room.
  std::uint32_t bar_ = 0;
};

}  // namespace weir
