// Counts open holds and the memory of holds, for all users and for each one, and marks; and bounds
// them. A named user may have a tenth of the open holds, and of the memory, that all may have. Open
// slices (HoldEnd::kLapses) are counted besides, with their units.
//
// A restored hold counts for all, but for no user. So a named user may open a tenth besides after a
// restart, but only the operator restarts a server.
//
// Thread-safe. Cost: an atomic addition; for a named user a mutex, too.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "core/base/check.h"
#include "core/base/mutex.h"
#include "core/table/limit_registry.h"

namespace weir {

class HoldCounts {
 public:
  // The memory that all holds may take if there is no other bound: kBytesPerHold for each possible
  // hold, which is enough for three limits and an id of 16 bytes, but at least kBytesMin.
  static constexpr std::size_t kBytesPerHold = 256;
  static constexpr std::size_t kBytesMin = std::size_t{8} << 20;

  explicit HoldCounts(std::size_t holds_max) noexcept
      : holds_max_(holds_max), bytes_max_(BytesMaxOf(holds_max)) {}
  [[nodiscard]] static constexpr std::size_t BytesMaxOf(std::size_t holds_max) noexcept {
    return std::max(kBytesMin, holds_max * kBytesPerHold);
  }

  // Counts `holds` more, or returns false if there would be too many, or if all holds, or those of
  // the user, have reached their bound of memory.
  [[nodiscard]] bool TryAdd(Introducer user, std::size_t holds) {
    const std::size_t most = bytes_max();
    if (bytes() >= most) return false;
    if (open_.fetch_add(holds, std::memory_order_relaxed) + holds > holds_max_) {
      open_.fetch_sub(holds, std::memory_order_relaxed);
      return false;
    }
    if (!IsNamed(user)) return true;
    const MutexLock lock(mutex_);
    OfUser& own = of_user_[user];
    if (own.open + holds > holds_max_ / kUserShare || own.bytes >= most / kUserShare) {
      DropIfEmpty(user);
      open_.fetch_sub(holds, std::memory_order_relaxed);
      return false;
    }
    own.open += holds;
    return true;
  }
  // Counts a hold of an earlier run: for no user, and beyond the bound, too.
  void AddRestored() noexcept { open_.fetch_add(1, std::memory_order_relaxed); }
  void Remove(Introducer user, std::size_t holds = 1) {
    open_.fetch_sub(holds, std::memory_order_relaxed);
    if (!IsNamed(user)) return;
    const MutexLock lock(mutex_);
    OfUser& own = of_user_[user];
    WEIR_CHECK(own.open >= holds);
    own.open -= holds;
    DropIfEmpty(user);
  }

  // Forgets all holds and marks. Cost: a visit of each user.
  void Clear() {
    for (std::atomic<std::size_t>* const count : {&open_, &marks_, &bytes_, &slices_, &units_})
      count->store(0, std::memory_order_relaxed);
    const MutexLock lock(mutex_);
    of_user_.clear();
  }

  // Count an open slice of so many units, but at most kUnitsCounted: a slice of what is
  // unlimited may have 2^63, and so the sum does not wrap.
  static constexpr std::int64_t kUnitsCounted = 100'000'000'000;
  void AddSlice(std::int64_t units) noexcept {
    slices_.fetch_add(1, std::memory_order_relaxed);
    units_.fetch_add(CountedUnits(units), std::memory_order_relaxed);
  }
  void RemoveSlice(std::int64_t units) noexcept {
    slices_.fetch_sub(1, std::memory_order_relaxed);
    units_.fetch_sub(CountedUnits(units), std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t slices() const noexcept {
    return slices_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t units() const noexcept {
    return units_.load(std::memory_order_relaxed);
  }

  // Counts memory of open holds and marks. `user`: the user that they count for (HoldTerms::user).
  void AddBytes(Introducer user, std::size_t bytes) {
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (!IsNamed(user)) return;
    const MutexLock lock(mutex_);
    of_user_[user].bytes += bytes;
  }
  void RemoveBytes(Introducer user, std::size_t bytes) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    if (!IsNamed(user)) return;
    const MutexLock lock(mutex_);
    OfUser& own = of_user_[user];
    WEIR_CHECK(own.bytes >= bytes);
    own.bytes -= bytes;
    DropIfEmpty(user);
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return bytes_.load(std::memory_order_relaxed);
  }
  // Lowers the bound on the memory of all, or raises it again, up to BytesMaxOf(holds_max()).
  void set_bytes_max(std::size_t bytes) noexcept {
    bytes_max_.store(std::min(bytes, BytesMaxOf(holds_max_)), std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t bytes_max() const noexcept {
    return bytes_max_.load(std::memory_order_relaxed);
  }

  void AddMark() noexcept { marks_.fetch_add(1, std::memory_order_relaxed); }
  void RemoveMark(std::size_t marks = 1) noexcept {
    marks_.fetch_sub(marks, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t marks() const noexcept {
    return marks_.load(std::memory_order_relaxed);
  }
  // True if there may be one more mark. There may be as many marks as open holds, but no mark in
  // the last quarter of the memory, which is for open holds. A store keeps its first mark even
  // without room, unless there are too many marks (HaveTooManyMarks): in the module each key is a
  // store, so first marks alone would have no bound.
  [[nodiscard]] bool HaveRoomForMark() const noexcept {
    return marks() < holds_max_ && bytes() < MarkBytesMax();
  }
  // True if the memory of this user has room for one more mark of the user's holds.
  [[nodiscard]] bool HasRoomForMark(Introducer user) {
    if (!IsNamed(user)) return true;
    const MutexLock lock(mutex_);
    const auto own = of_user_.find(user);
    return own == of_user_.end() || own->second.bytes < MarkBytesMax() / kUserShare;
  }

  [[nodiscard]] bool HaveTooManyMarks() const noexcept { return marks() > 2 * holds_max_; }

  [[nodiscard]] std::size_t open() const noexcept { return open_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t holds_max() const noexcept { return holds_max_; }

 private:
  static constexpr std::size_t kUserShare = 10;
  struct OfUser {
    std::size_t open = 0;
    std::size_t bytes = 0;
  };
  static std::size_t CountedUnits(std::int64_t units) noexcept {
    return static_cast<std::size_t>(std::min(units, kUnitsCounted));
  }
  [[nodiscard]] std::size_t MarkBytesMax() const noexcept { return bytes_max() / 4 * 3; }
  static bool IsNamed(Introducer user) noexcept { return user > kSoleIntroducer; }
  void DropIfEmpty(Introducer user) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto own = of_user_.find(user);
    if (own->second.open == 0 && own->second.bytes == 0) of_user_.erase(own);
  }

  const std::size_t holds_max_;
  std::atomic<std::size_t> open_{0};
  std::atomic<std::size_t> marks_{0};
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> slices_{0};
  std::atomic<std::size_t> units_{0};
  std::atomic<std::size_t> bytes_max_;
  Mutex mutex_;
  absl::flat_hash_map<Introducer, OfUser> of_user_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
