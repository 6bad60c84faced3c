// The latest term on disk. The thread of saves announces it, and a role change waits for it: what a
// primary admits in a term must not be on disk before the term is.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace weir {

class SavedTerm {
 public:
  // Notes a term that is on disk; of several, the latest counts.
  void Note(std::uint64_t term) {
    const std::lock_guard lock(mutex_);
    if (term <= latest_) return;
    latest_ = term;
    saved_.notify_all();
  }

  [[nodiscard]] std::uint64_t latest() const {
    const std::lock_guard lock(mutex_);
    return latest_;
  }

  // Blocks until the term is on disk, and returns true. Returns false when the time is up, or
  // within kLook after `gives_up` would return true. Calls that with a lock held.
  bool Await(std::uint64_t term, std::chrono::milliseconds time,
             const std::function<bool()>& gives_up) {
    std::unique_lock lock(mutex_);
    const auto is_saved = [&] { return latest_ >= term; };
    for (auto rest = time; rest.count() > 0 && !is_saved() && !gives_up(); rest -= kLook) {
      saved_.wait_for(lock, kLook, is_saved);
    }
    return is_saved();
  }

 private:
  static constexpr std::chrono::milliseconds kLook{20};

  mutable std::mutex mutex_;
  std::condition_variable saved_;
  std::uint64_t latest_ = 0;
};

}  // namespace weir
