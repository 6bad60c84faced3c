// The options in force. Most stay what they were at the start; those whose row says `live`
// (options.h) change when CONFIG SET says so, and their users read them here each time:
//
//     if (clients >= services.settings.max_clients()) ...
//
// One more is a `live` in its row, a Live below, and its line in Publish().
//
// Thread-safe. To read one is a relaxed load; to change some takes a lock, and copies all.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "server/config/options.h"

namespace weir {

class Settings {
 public:
  // The present value of one option: read by anybody, written by Publish() alone.
  template <typename T>
  class Live {
   public:
    [[nodiscard]] T operator()() const noexcept { return value_.load(std::memory_order_relaxed); }

   private:
    friend class Settings;
    std::atomic<T> value_{};
  };

  explicit Settings(Options options);

  Live<std::int64_t> max_clients;
  Live<std::int64_t> max_clients_memory;  // bytes; 0: no bound
  Live<std::int64_t> max_memory;          // bytes; 0: no bound
  Live<bool> protected_mode;
  Live<bool> serves_unsaved;  // on-persist-error
  Live<Nanos> snapshot_interval;
  Live<Nanos> timeout;  // 0: none

  // All options.
  [[nodiscard]] Options All() const;

  // Gives `change` a copy of all options, and puts it in force if that succeeds; else nothing has
  // changed. Two changes come one after the other. Requires: only what is `live` is changed.
  absl::Status Change(absl::FunctionRef<absl::Status(Options& options)> change);

  // Called after each change, on the thread that has made it, with a lock held: it may only post.
  // Set before the first session.
  void set_on_change(std::function<void()> on_change);

 private:
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  Options options_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_change_ ABSL_GUARDED_BY(mutex_) = [] {};
};

}  // namespace weir
