// The changes of one partition since the last save, with the values that they left.
//
// A change is appended, unless one of the last few is of the same bucket: then it replaces that, so
// that a hot key costs no memory. When the log is full, the last change of each bucket is kept. If
// that gives little room (buckets come and go, or more than three quarters of a large partition
// have changed), the log overflows: the whole partition counts as changed.
//
// Memory: 24 bytes a change, and at most kChangesMin changes more than the partition has slots.
//
// Not thread-safe: the caller holds the partition's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/table/limit_registry.h"
#include "core/table/slot_key.h"

namespace weir {

// The order of a partition's buckets in lists of changes, and of their records on disk.
inline auto BucketOrder(SlotKey key, Algorithm algorithm) noexcept {
  return std::tuple(key.key_hash(), algorithm, key.limit);
}

class LoggedChange {
 public:
  // `bucket`: after the change; Bucket{} if it is erased.
  LoggedChange(SlotKey key, Algorithm algorithm, Bucket bucket, bool went_back) noexcept
      : hash_low_(key.hash_low),
        hash_high_(key.hash_high),
        word_(NumberOf(key.limit) << kLimitShift | static_cast<std::uint32_t>(algorithm) << 1 |
              static_cast<std::uint32_t>(went_back)),
        bucket_(bucket) {}

  [[nodiscard]] SlotKey key() const noexcept { return {key_hash(), limit()}; }
  [[nodiscard]] std::uint64_t key_hash() const noexcept {
    return std::uint64_t{hash_high_} << 32 | hash_low_;
  }
  [[nodiscard]] LimitId limit() const noexcept { return LimitId{word_ >> kLimitShift}; }
  [[nodiscard]] Algorithm algorithm() const noexcept {
    return static_cast<Algorithm>(word_ >> 1 & kAlgorithmMask);
  }
  // The bucket may be full earlier than before (a refund, a cut, a reset). The record of an earlier
  // save may then claim too much use, so the change must be written even if the bucket is full or
  // gone. Otherwise a full bucket need not be written: its earlier record is full by now, too.
  [[nodiscard]] bool went_back() const noexcept { return (word_ & 1) != 0; }
  [[nodiscard]] const Bucket& bucket() const noexcept { return bucket_; }

  // Equal for changes of the same bucket, and seldom for others.
  [[nodiscard]] std::uint16_t tag() const noexcept {
    return static_cast<std::uint16_t>(hash_low_ ^ word_ >> 1);
  }
  [[nodiscard]] bool IsOfSameBucket(const LoggedChange& other) const noexcept {
    return hash_low_ == other.hash_low_ && hash_high_ == other.hash_high_ &&
           word_ >> 1 == other.word_ >> 1;
  }
  // Becomes the later of two changes of the same bucket.
  void Follow(const LoggedChange& later) noexcept {
    word_ |= later.word_;
    bucket_ = later.bucket_;
  }

 private:
  static constexpr unsigned kLimitShift = 4;
  static constexpr std::uint32_t kAlgorithmMask = 7;
  static_assert(static_cast<std::uint32_t>(Algorithm::kNone) <= kAlgorithmMask);
  static_assert(LimitRegistry::kIdsMax < std::uint32_t{1} << (32 - kLimitShift));

  std::uint32_t hash_low_;
  std::uint32_t hash_high_;
  std::uint32_t word_;  // the limit, the algorithm, and whether it went back
  Bucket bucket_;
};
static_assert(sizeof(LoggedChange) == 24);

// Sorts by BucketOrder, and keeps of each bucket the last change. That went back if any of them
// did.
void KeepLast(std::vector<LoggedChange>& changes);

class ChangeLog {
 public:
  // Changes that fit in addition to one for each slot: with more, the smallest --max-memory would
  // have no room for the buckets of a whole request in each partition.
  static constexpr std::size_t kChangesMin = 20;

  // `slots`: those of the partition. Returns whether size() or overflowed() may have changed.
  bool Add(const LoggedChange& change, std::size_t slots);

  // Fetches the memory of the last change and of the next one into the cache.
  void PrefetchEnd() const noexcept {
    const LoggedChange* const first = changes_.data();
    if (first == nullptr) return;
    const LoggedChange* const end = first + changes_.size();
    __builtin_prefetch(end, 1);
    if (end != first) __builtin_prefetch(end - 1, 1);
  }

  // Moves the changes to `taken`, in their order; KeepLast makes them distinct. The log keeps room
  // for about as many again. Requires: !overflowed().
  void TakeInto(std::vector<LoggedChange>& taken);

  // True after too many changes: the whole partition counts as changed, until Clear.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
  void Overflow();
  void Clear();

  [[nodiscard]] std::size_t size() const noexcept { return changes_.size(); }
  // The number of changes that there is memory for.
  [[nodiscard]] std::size_t capacity() const noexcept { return changes_.capacity(); }

 private:
  // The last changes may be of the same bucket: a request has a few limits.
  static constexpr std::size_t kLookedAt = 3;

  void MakeRoom(std::size_t most);

  std::vector<LoggedChange> changes_;
  // The tags of the last changes that were appended, the newest first. They lie in the partition,
  // which is fetched with its lock; the changes lie elsewhere, and a request would wait for them.
  // MakeRoom sorts the changes and leaves the tags, so a bucket may be appended a second time.
  std::array<std::uint16_t, kLookedAt> tags_{};
  bool overflowed_ = false;
};

}  // namespace weir
