// The options in force. Most stay what they were at the start; those whose row says `live`
// (options.h) change when CONFIG SET says so, and are read here each time:
//
//     if (clients >= services.settings.Get(&Options::max_clients)) ...
//
// A part that keeps a copy of one is told by OnChange.
//
// Thread-safe. To read one is a relaxed load; to change some takes a lock, and copies all.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "core/base/mutex.h"
#include "server/config/options.h"

namespace weir {

class Settings {
 public:
  explicit Settings(const Options& options) : in_force_(options), options_(options) {}

  // The present value of one option that is a number, a size, a duration, a flag or a word.
  template <typename T>
  [[nodiscard]] T Get(T Options::*field) const noexcept {
    static_assert(std::atomic_ref<T>::is_always_lock_free);
    return std::atomic_ref(in_force_.*field).load(std::memory_order_relaxed);
  }

  // All options.
  [[nodiscard]] Options All() const;

  // Gives `change` a copy of all options, and puts it in force if that succeeds; else nothing has
  // changed. Two changes come one after the other. Requires: only what is `live` is changed.
  absl::Status Change(absl::FunctionRef<absl::Status(Options& options)> change);

  // `listener` is called after each change, on the thread that has made it, with a lock held: it
  // may not call All or Change. Set before the first session.
  using Listener = std::function<void(const Options& options)>;
  void OnChange(Listener listener);

 private:
  // Of this copy the live options are accessed as atomics, which C++20 has for mutable objects
  // only, and the others never change.
  mutable Options in_force_;
  mutable Mutex mutex_;
  Options options_ ABSL_GUARDED_BY(mutex_);
  std::vector<Listener> listeners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
