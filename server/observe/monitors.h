// MONITOR: clients that see every command as it is executed.
//
//     const Monitor monitor(monitors, outbox);                         // the client's session
//     if (monitors.any()) monitors.Show(now, address, words);          // a session that executes
//
// A line goes to the outbox of each monitor. A monitor that is behind (Outbox::Offer) misses lines;
// the next line that it gets says how many. Without a monitor, a command costs one relaxed load.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "server/observe/outbox.h"

namespace weir {

class Monitors;

// One client that monitors, for as long as this object lives. For its session's thread.
class Monitor {
 public:
  Monitor(Monitors& monitors, Outbox& outbox);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

 private:
  friend class Monitors;

  Monitors& monitors_;
  Outbox& outbox_;
  std::size_t missed_ =
      0;  // lines since the last one that it got; guarded by the mutex of monitors_
};

class Monitors {
 public:
  // Bytes of all words of a line, quoted, and of one word before it is quoted.
  static constexpr std::size_t kLineBytesMax = 4096;
  static constexpr std::size_t kWordBytesMax = 512;

  [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }
  // Shows all monitors a command that was executed at `now` for the client at `address`. Returns
  // the number of monitors that have missed it.
  std::size_t Show(Instant now, std::string_view address, std::span<const std::string_view> words);

  // The line of a command: 1339518083.107412 [0 127.0.0.1:60866] "keys" "*"
  // Long words are cut. If there are too many, the last one says how many are left out.
  [[nodiscard]] static std::string Line(Instant now, std::string_view address,
                                        std::span<const std::string_view> words);

 private:
  friend class Monitor;

  std::atomic<std::size_t> count_{0};
  Mutex mutex_;
  std::vector<Monitor*> monitors_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
