// A text that is dear to make and that many clients ask for: requests within a short time usually
// share one.
//
//     RecentText text(std::chrono::milliseconds(500));
//     std::shared_ptr<const std::string> json = text.Get(now, [&] { return LimitsJson(...); });
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"

#include "core/base/instant.h"
#include "core/base/mutex.h"

namespace weir {

// Thread-safe. `make` runs without a lock, so threads that ask at once may each make a text.
class RecentText {
 public:
  explicit RecentText(Nanos lifetime) : lifetime_(lifetime) {}

  // Returns the last text if it is younger than the lifetime, otherwise that of make().
  template <typename Make>
  [[nodiscard]] std::shared_ptr<const std::string> Get(HostInstant now, Make make) {
    {
      const MutexLock lock(mutex_);
      if (text_ && now >= made_ && now - made_ < lifetime_) return text_;
    }
    auto text = std::make_shared<const std::string>(make());
    const MutexLock lock(mutex_);
    made_ = now;
    return text_ = std::move(text);
  }

 private:
  const Nanos lifetime_;
  Mutex mutex_;
  std::shared_ptr<const std::string> text_ ABSL_GUARDED_BY(mutex_);
  HostInstant made_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
