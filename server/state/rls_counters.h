// Counts calls of Envoy's rate limit service and loads of its rules, for INFO. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"

namespace weir {

class RlsCounters {
 public:
  // Since the start: calls that were decided, those of them that were over a limit, and those that
  // were answered an error.
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> over_limit{0};
  std::atomic<std::uint64_t> errors{0};

  // The policies of the rules are made, on a primary.
  std::atomic<bool> in_force{false};

  // The rules that were loaded, and the loads since the start, the first one included.
  std::atomic<std::uint64_t> domains{0};
  std::atomic<std::uint64_t> rules{0};
  std::atomic<std::uint64_t> loads{0};
  std::atomic<std::uint64_t> load_errors{0};

  // Why the last load has failed; empty if it has succeeded.
  [[nodiscard]] std::string load_error() const {
    MutexLock lock(mutex_);
    return load_error_;
  }
  void set_load_error(std::string error) {
    MutexLock lock(mutex_);
    load_error_ = std::move(error);
  }

 private:
  mutable Mutex mutex_;
  std::string load_error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
