// The state of the link to the control plane that has the rules of Envoy's rate limit service, for
// INFO and metrics. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"

namespace weir {

class XdsStatus {
 public:
  std::atomic<bool> connected{false};
  // Responses since the start, by what was answered.
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};

  // The version of the response whose rules are in force; empty: none.
  [[nodiscard]] std::string version() const {
    MutexLock lock(mutex_);
    return version_;
  }
  void set_version(std::string version) {
    MutexLock lock(mutex_);
    version_ = std::move(version);
  }

  // Why there is no connection, or else why the last response was refused; empty if neither.
  [[nodiscard]] std::string error() const {
    MutexLock lock(mutex_);
    return failure_.empty() ? refusal_ : failure_;
  }
  void set_failure(std::string failure) {
    MutexLock lock(mutex_);
    failure_ = std::move(failure);
  }
  void set_refusal(std::string refusal) {
    MutexLock lock(mutex_);
    refusal_ = std::move(refusal);
  }

 private:
  mutable Mutex mutex_;
  std::string version_ ABSL_GUARDED_BY(mutex_);
  std::string failure_ ABSL_GUARDED_BY(mutex_);
  std::string refusal_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
