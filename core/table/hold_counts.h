// The number of open holds, of all users and of each one, that of marks, the memory of all, and the
// bounds on them: a named user may have a tenth of all open holds that there may be.
//
// Thread-safe. Cost: an atomic addition; for a named user a mutex, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "core/base/check.h"
#include "core/base/mutex.h"
#include "core/table/limit_registry.h"

namespace weir {

class HoldCounts {
 public:
  explicit HoldCounts(std::size_t holds_max) noexcept : holds_max_(holds_max) {}

  // Counts `holds` more, or returns false if there would be too many, or if all holds have reached
  // their bound of memory.
  [[nodiscard]] bool TryAdd(Introducer user, std::size_t holds) {
    if (bytes() >= bytes_max_.load(std::memory_order_relaxed)) return false;
    if (open_.fetch_add(holds, std::memory_order_relaxed) + holds > holds_max_) {
      open_.fetch_sub(holds, std::memory_order_relaxed);
      return false;
    }
    if (!IsNamed(user)) return true;
    const MutexLock lock(mutex_);
    std::size_t& own = of_user_[user];
    if (own + holds > holds_max_ / 10) {
      if (own == 0) of_user_.erase(user);
      open_.fetch_sub(holds, std::memory_order_relaxed);
      return false;
    }
    own += holds;
    return true;
  }
  // Counts a hold of an earlier run: for no user, and beyond the bound, too.
  void AddRestored() noexcept { open_.fetch_add(1, std::memory_order_relaxed); }
  void Remove(Introducer user, std::size_t holds = 1) {
    open_.fetch_sub(holds, std::memory_order_relaxed);
    if (!IsNamed(user)) return;
    const MutexLock lock(mutex_);
    const auto own = of_user_.find(user);
    WEIR_CHECK(own != of_user_.end());
    WEIR_CHECK(own->second >= holds);
    own->second -= holds;
    if (own->second == 0) of_user_.erase(own);
  }

  // All holds and marks are gone. Cost: the users.
  void Clear() {
    for (std::atomic<std::size_t>* const count : {&open_, &marks_, &bytes_})
      count->store(0, std::memory_order_relaxed);
    const MutexLock lock(mutex_);
    of_user_.clear();
  }

  // The memory of open holds and marks.
  void AddBytes(std::size_t bytes) noexcept { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void RemoveBytes(std::size_t bytes) noexcept {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return bytes_.load(std::memory_order_relaxed);
  }
  void set_bytes_max(std::size_t bytes) noexcept {
    bytes_max_.store(bytes, std::memory_order_relaxed);
  }

  void AddMark() noexcept { marks_.fetch_add(1, std::memory_order_relaxed); }
  void RemoveMark() noexcept { marks_.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t marks() const noexcept {
    return marks_.load(std::memory_order_relaxed);
  }
  // True if there may be one more mark: at most as many as open holds, and none in the last quarter
  // of the memory, which open holds need. A store's first mark is kept without room, unless there
  // are too many: where each key is a store, these would have no bound.
  [[nodiscard]] bool HaveRoomForMark() const noexcept {
    return marks() < holds_max_ && bytes() < bytes_max_.load(std::memory_order_relaxed) / 4 * 3;
  }

  [[nodiscard]] bool HaveTooManyMarks() const noexcept { return marks() > 2 * holds_max_; }

  [[nodiscard]] std::size_t open() const noexcept { return open_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t holds_max() const noexcept { return holds_max_; }

 private:
  static bool IsNamed(Introducer user) noexcept { return user > kSoleIntroducer; }

  const std::size_t holds_max_;
  std::atomic<std::size_t> open_{0};
  std::atomic<std::size_t> marks_{0};
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> bytes_max_{std::numeric_limits<std::size_t>::max()};
  Mutex mutex_;
  absl::flat_hash_map<Introducer, std::size_t> of_user_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
