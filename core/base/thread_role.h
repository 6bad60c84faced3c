// A thread as a capability of clang's thread safety analysis: what only one thread uses is guarded
// by its role, as other members are by a mutex.
//
//     ThreadRole thread_;
//     int frames_ ABSL_GUARDED_BY(thread_);
//
//     void Owner::Count() {        // runs on that thread
//       thread_.AssertHeld();      // checked in all builds; the analysis knows it from here on
//       ++frames_;
//     }
#pragma once

#include <atomic>
#include <thread>

#include "absl/base/thread_annotations.h"

#include "core/base/check.h"

namespace weir {

class ABSL_LOCKABLE ThreadRole {
 public:
  // The thread that makes the object has the role.
  ThreadRole() : thread_(std::this_thread::get_id()) {}

  // The calling thread has the role from now on. Requires: the one before uses nothing that the
  // role guards any more.
  void TakeOver() ABSL_ASSERT_EXCLUSIVE_LOCK() {
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }

  // Ends the process unless the calling thread has the role.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {
    WEIR_CHECK(thread_.load(std::memory_order_relaxed) == std::this_thread::get_id());
  }

 private:
  std::atomic<std::thread::id> thread_;
};

}  // namespace weir
