// The options in force. Those whose row is `live` (options.h) can be changed by CONFIG SET, so they
// are read here each time; the others stay what they were at the start.
//
//     if (clients >= services.settings.Get(&Options::max_clients)) ...
//
// Texts that are `live` are read with All. Two are passwords of links to other servers; they are
// kept here because the next attempt to connect needs them. Each copy of one is wiped when it is
// destroyed (Secret).
//
// A part that keeps a copy of an option hears of changes by OnChange.
//
// Thread-safe. Get is one relaxed load; All and Change take a lock and copy all options.
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

  // Calls `change` with a copy of all options, and puts the copy in force if `change` succeeds;
  // otherwise nothing changes. Changes run one at a time. Requires: `change` alters only options
  // that are `live`, and passwords.
  absl::Status Change(absl::FunctionRef<absl::Status(Options& options)> change);

  // Adds a listener. It is called after each change, on the thread that made the change and with a
  // lock held, so it must not call All or Change. Requires: no session exists yet.
  using Listener = std::function<void(const Options& options)>;
  void OnChange(Listener listener);

 private:
  // Live options of this copy are accessed as atomics; the others never change. It is mutable since
  // C++20 has no atomic_ref to a const object.
  mutable Options in_force_;
  mutable Mutex mutex_;
  Options options_ ABSL_GUARDED_BY(mutex_);
  std::vector<Listener> listeners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
