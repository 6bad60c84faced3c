// Waits for replicas: replies that must not leave before replicas have acknowledged what they
// report (ack-replicas), and clients that ask how many have (WAIT).
//
//     auto wait = waits.Add(1, wake);   // after the change; then a tick is requested
//     ... wake() is called              // on another thread: wait->is_over()
//
//     the replicator: a tick begins -> the changes made before are taken -> it ends at an offset
//                     -> ... -> replicas have acknowledged up to that offset
//
// A wait is for the end of a tick that begins after the wait was added: its changes include all
// that were made before. So waits that are added while a tick is under way share the next tick.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"

namespace weir {

class AckWaits;

// One wait. Thread-safe.
class AckWait {
 public:
  // `needed`: the replicas to wait for. `wake` is called once when it is over, on any thread and
  // with locks held, so it may only post.
  AckWait(std::size_t needed, std::function<void()> wake)
      : needed_(needed), wake_(std::move(wake)) {}

  // The replicas that are known to have acknowledged the change. Final once it is over.
  [[nodiscard]] std::size_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t needed() const noexcept { return needed_; }
  [[nodiscard]] bool is_done() const noexcept { return count() >= needed_; }
  // True once it is done, or can never be: the server is no longer a primary.
  [[nodiscard]] bool is_over() const noexcept { return over_.load(std::memory_order_acquire); }

  // Says that no one waits any more. The wait may still be asked for again (AddForSameChange).
  void GiveUp() noexcept { given_up_.store(true, std::memory_order_relaxed); }

 private:
  friend class AckWaits;

  [[nodiscard]] bool is_given_up() const noexcept {
    return given_up_.load(std::memory_order_relaxed);
  }

  static constexpr std::uint64_t kNoOffset = UINT64_MAX;

  const std::size_t needed_;
  const std::function<void()> wake_;
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> over_{false};
  std::atomic<bool> given_up_{false};
  std::uint64_t tick_ = 0;            // guarded by the mutex of AckWaits, as the next
  std::uint64_t offset_ = kNoOffset;  // of the end of that tick
};

// All waits of a server. Thread-safe. It keeps no wait alive. Cost: O(waits) a call; a relaxed load
// while there are none.
class AckWaits {
 public:
  // Adds a wait for the changes made before. If `needed` is 0, it is done already.
  [[nodiscard]] std::shared_ptr<AckWait> Add(std::size_t needed, std::function<void()> wake);
  // Adds a wait for the same changes as an earlier one, or for none; it may be done already.
  [[nodiscard]] std::shared_ptr<AckWait> AddForSameChange(const AckWait* earlier,
                                                          std::size_t needed,
                                                          std::function<void()> wake);

  // --- The replicator ---

  // Begins a tick. Requires: the last one has ended, or never will.
  void BeginTick();
  // Ends it: what was changed before it began is below `offset`, which never goes back.
  void EndTick(std::uint64_t offset);
  // Counts for each wait the replicas that have acknowledged it, and wakes those that are over.
  // `acked`: the offsets that replicas in sync have acknowledged, the highest first.
  void Judge(std::span<const std::uint64_t> acked);

  // Ends all waits, and from now on each one at once: the server is no longer a primary.
  void EndAll();
  // The server is a primary again, of another history.
  void Begin();

  // The number of waits that are not over.
  [[nodiscard]] std::size_t size() const;

 private:
  [[nodiscard]] std::shared_ptr<AckWait> Keep(std::shared_ptr<AckWait> wait)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls visit(wait) for each wait, and drops those for which it returns false.
  template <typename Visit>
  void ForEach(Visit visit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void End(AckWait& wait);

  mutable Mutex mutex_;
  std::atomic<bool> is_empty_{true};
  std::vector<std::weak_ptr<AckWait>> waits_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::uint64_t ended_at_ ABSL_GUARDED_BY(mutex_) = 0;   // of the last tick that ended a wait's
  std::size_t dropped_at_ ABSL_GUARDED_BY(mutex_) = 16;  // the size at which the dead are dropped
  std::uint64_t ticks_ ABSL_GUARDED_BY(mutex_) = 0;      // that have begun
  std::vector<std::uint64_t> acked_ ABSL_GUARDED_BY(mutex_);  // as last judged
};

}  // namespace weir
