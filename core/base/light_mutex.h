// A mutex of four bytes whose lock and unlock are one atomic instruction each while no other thread
// wants it: 8 instructions for both, where those of pthreads take 55. For locks that each request
// takes; all others are Mutex (core/base/mutex.h).
//
// U. Drepper, "Futexes Are Tricky", 2011, section 6: the word says whether a thread may be waiting,
// so that an unlock wakes one only then. Unfair: a thread that comes may pass those that wait.
#pragma once

#include <atomic>

#include "absl/base/thread_annotations.h"

namespace weir {

class ABSL_LOCKABLE LightMutex {
 public:
  void Lock() noexcept ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    if (!TakeFree()) [[unlikely]]
      LockLater();
  }
  // Returns false at once if another thread has it.
  [[nodiscard]] bool TryLock() noexcept ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return TakeFree(); }
  void Unlock() noexcept ABSL_UNLOCK_FUNCTION() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) [[unlikely]]
      WakeOne();
  }

 private:
  enum State : int { kFree, kTaken, kAwaited };  // kAwaited: taken, and a thread may be waiting

  bool TakeFree() noexcept {
    int free = kFree;
    return state_.compare_exchange_strong(free, kTaken, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  // A thread that has waited may not be the last one, so it leaves the mutex awaited.
  [[gnu::noinline, gnu::cold]] void LockLater() noexcept {
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree) {
      state_.wait(kAwaited, std::memory_order_relaxed);
    }
  }
  [[gnu::noinline, gnu::cold]] void WakeOne() noexcept { state_.notify_one(); }

  std::atomic<int> state_{kFree};
};

}  // namespace weir
