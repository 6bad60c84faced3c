// The keys that come up most often, in bounded memory: a Filtered Space-Saving sketch.
//
// It tracks `capacity` keys. Any other key is counted by its cell of a filter, which it shares with
// more keys. Once a cell's count has reached the smallest tracked count, the next key of the cell
// evicts the tracked key with that count and inherits the cell's count as its error. Evictions are
// rationed, so that no choice of keys makes additions expensive: at most one in 256 additions may
// evict, and its cell must count at least as much as every cell refused since the last eviction. A
// key that has come up N / capacity times is never refused. With N additions:
//     estimate - error <= true count <= estimate        error <= 2 * N / capacity
// and a key that came up more than 2 * N / capacity times is always there. Sources: Metwally,
// Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams"
// (2005); Homem and Carvalho, "Finding top-k elements in data streams" (2010), for the filter.
//
// Memory: about 300 bytes per tracked key. Cost of an addition: a read of the cell, and a look-up
// if the key is tracked; an eviction takes a lock and reads every count. One thread owns a sketch
// and adds to it; any thread may clear it and read it.
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
inline constexpr std::size_t kTopKeyBytesMax = 128;  // of a key's text; longer keys are cut

class TopKeys {
 public:
  // Requires: capacity > 0.
  explicit TopKeys(std::size_t capacity = kTopKeysMax);
  TopKeys(const TopKeys&) = delete;
  TopKeys& operator=(const TopKeys&) = delete;

  // Only for the owner. `hash` identifies the key, here and where sketches are merged. It must be a
  // keyed hash, so that a client cannot choose which keys are counted together. `partition` is kept
  // with it, so that the buckets of a key whose text is cut can be found.
  void Add(std::string_view key, std::uint64_t hash, std::uint16_t partition);
  // Empties the sketch for all readers. The owner frees its contents at the next addition.
  void Clear() noexcept { cleared_.store(true, std::memory_order_relaxed); }

  struct Row {
    std::string key;              // its first kTopKeyBytesMax bytes
    std::uint64_t count = 0;      // estimate: not less than the true count
    std::uint64_t error = 0;      // the estimate exceeds the true count by at most this
    std::uint64_t hash = 0;       // as it was added
    std::uint16_t partition = 0;  // likewise

    [[nodiscard]] bool is_cut() const noexcept { return key.size() == kTopKeyBytesMax; }
    // Equal if all that is listed of them is.
    friend bool operator==(const Row& a, const Row& b) {
      return a.key == b.key && a.count == b.count && a.error == b.error;
    }
  };
  // The merged rows of several sketches: the `rows_max` keys with the greatest estimates, greatest
  // first, equals by key. A key that a full sketch does not track may have come up there as often
  // as the smallest tracked count or the highest refused cell says: that is added to its estimate
  // and error.
  [[nodiscard]] static std::vector<Row> Merge(std::span<const TopKeys* const> sketches,
                                              std::size_t rows_max);
  // The hashes of the tracked keys, in no order. For any thread.
  [[nodiscard]] std::vector<std::uint64_t> tracked() const;

 private:
  // A tracked key. The owner changes it under the lock, except for the count.
  struct Counted {
    std::uint64_t hash = 0;
    Counter count;
    std::uint64_t error = 0;
    std::string key;
    std::uint16_t partition = 0;
  };

  struct AsItIs {  // for keys that are hashes already
    std::size_t operator()(std::uint64_t hash) const noexcept { return hash; }
  };

  struct Cell {
    // At least the number of times that any key of the cell came up while it was not tracked.
    std::uint32_t count = 0;
    std::uint32_t counted = 0;  // tracked keys of the cell; at 0 no look-up is needed
  };

  [[nodiscard]] Cell& CellOf(std::uint64_t hash) { return filter_[hash & (filter_.size() - 1)]; }
  [[nodiscard]] bool IsRefused(const Cell& cell) const;
  void AddUncounted(Cell& cell, std::string_view key, std::uint64_t hash, std::uint16_t partition);
  void Count(Counted& counted, std::uint64_t error, std::string_view key, std::uint64_t hash,
             std::uint16_t partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict(const Counted& counted);
  [[nodiscard]] std::size_t IndexOfLeast() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::uint64_t UnseenMax() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget();

  // Cells per tracked key; their total is rounded up to a power of two. More cells separate keys
  // better, and take more cache.
  static constexpr std::size_t kCellsPerKey = 8;
  static constexpr std::uint64_t kAdditionsPerEviction = 256;

  const std::size_t capacity_;
  std::atomic<bool> cleared_{false};
  std::atomic<std::uint32_t> refused_max_{0};  // the highest cell that was refused
  mutable Mutex mutex_;
  std::deque<Counted> counted_ ABSL_GUARDED_BY(mutex_);

  // Only the owner reads and writes these.
  std::vector<Cell> filter_;
  absl::flat_hash_map<std::uint64_t, Counter*, AsItIs> counts_;  // of counted_, by hash
  std::uint64_t added_ = 0;
  std::uint64_t next_eviction_ = 0;  // from this many additions on, an eviction is possible
  // A cell below this count is only incremented: the smallest tracked count when it was last
  // determined, or the highest cell refused since. 0 while there is room.
  std::uint32_t threshold_ = 0;
};

}  // namespace weir
