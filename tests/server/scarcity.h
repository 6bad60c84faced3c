// Shortages of the process, each while its object lives.
//
//     const NoThreads none;       // pthread_create fails, as where the system has no thread left
//     const NoDescriptors none;   // so does all that opens a descriptor
#pragma once

#include <sys/resource.h>

#include <cstddef>

#include <pthread.h>

#include "core/base/check.h"

namespace weir {

// The stacks of new threads, by default, exceed the address space.
class NoThreads {
 public:
  NoThreads() {
    WEIR_CHECK(pthread_getattr_default_np(&before_) == 0);
    pthread_attr_t huge;
    WEIR_CHECK(pthread_attr_init(&huge) == 0);
    WEIR_CHECK(pthread_attr_setstacksize(&huge, std::size_t{1} << 60) == 0);
    WEIR_CHECK(pthread_setattr_default_np(&huge) == 0);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

class NoDescriptors {
 public:
  NoDescriptors() {
    WEIR_CHECK(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit low = before_;
    low.rlim_cur = kStandardStreams;  // Open descriptors stay open. poll() needs a limit above 0.
    WEIR_CHECK(setrlimit(RLIMIT_NOFILE, &low) == 0);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  static constexpr rlim_t kStandardStreams = 3;

  rlimit before_{};
};

}  // namespace weir
