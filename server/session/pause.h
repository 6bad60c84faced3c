// Two pauses: CLIENT PAUSE stops all commands, or those that write, until a given time; a switch of
// roles stops those that write. Thread-safe. Cost of until() and what(): a load each.
#pragma once

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/base/thread_annotations.h"

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/base/mutex.h"

namespace weir {

class Pause {
 public:
  enum class What { kChanges, kEverything };

  // If two pauses of clients overlap, the stronger one applies until the later end.
  void Begin(What what, HostInstant now, HostInstant until) {
    MutexLock lock(mutex_);
    if (client_until_ > now) {
      what = std::max(what, client_what_);
      until = std::max(until, client_until_);
    }
    client_what_ = what;
    client_until_ = until;
    Publish();
  }
  void End() {
    MutexLock lock(mutex_);
    client_until_ = HostInstant{};
    Publish();
  }

  // A switch has a pause of its own, which CLIENT UNPAUSE does not end.
  void BeginSwitch(HostInstant now, HostInstant until) {
    WEIR_CHECK(until > now);
    MutexLock lock(mutex_);
    if (client_until_ <= now) client_until_ = HostInstant{};
    switch_until_ = until;
    Publish();
  }
  // Returns whether it had begun and was not ended.
  bool EndSwitch() {
    MutexLock lock(mutex_);
    const bool was_begun = std::exchange(switch_until_, HostInstant{}) != HostInstant{};
    Publish();
    return was_begun;
  }

  // The end of the pause.
  [[nodiscard]] HostInstant until() const noexcept {
    return HostInstant{Nanos{until_ns_.load(std::memory_order_acquire)}};
  }
  [[nodiscard]] What what() const noexcept { return what_.load(std::memory_order_relaxed); }

 private:
  // While both last, the stronger one applies until the later end: at most as long as a switch.
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const HostInstant until = std::max(client_until_, switch_until_);
    what_.store(client_until_ == HostInstant{} ? What::kChanges : client_what_,
                std::memory_order_relaxed);
    until_ns_.store(until.time_since_epoch().count(), std::memory_order_release);
  }

  Mutex mutex_;
  What client_what_ ABSL_GUARDED_BY(mutex_) = What::kEverything;
  HostInstant client_until_ ABSL_GUARDED_BY(mutex_){};
  HostInstant switch_until_ ABSL_GUARDED_BY(mutex_){};
  std::atomic<What> what_{What::kEverything};
  std::atomic<HostInstant::rep> until_ns_{0};
};

}  // namespace weir
