// The keys that come up most, in bounded memory: a Space-Saving sketch.
//
// It counts `capacity` keys. One that is not among them takes the place of the one with the fewest,
// and inherits its count as the error it may carry. With N additions:
//     estimate - error <= true count <= estimate          error <= N / capacity
// so a key that came up more than N / capacity times is always there. Source: Metwally, Agrawal and
// El Abbadi, "Efficient computation of frequent and top-k elements in data streams" (2005).
//
// Memory: about 250 bytes a key. Cost of an addition: a hash, a look-up and O(log capacity) swaps
// of 4 bytes. Thread-safe; made for one thread that adds and others that look now and then.
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

  void SiftUp(std::size_t place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SiftDown(std::size_t place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Put(std::size_t place, std::uint32_t counted) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::size_t capacity_;
  mutable Mutex mutex_;
  std::vector<Counted> counted_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> heap_ ABSL_GUARDED_BY(mutex_);  // of counted_; the fewest first
  absl::flat_hash_map<std::uint64_t, std::uint32_t> known_ ABSL_GUARDED_BY(mutex_);  // by hash
};

}  // namespace weir
