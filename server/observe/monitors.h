// MONITOR: clients that see every command as it is executed.
//
//     const std::unique_ptr<Monitor> monitor = monitors.Add(record);   // the client's session
//     if (monitors.any()) monitors.Show(now, address, words);          // a session that executes
//     out += monitor->Take();                                          // the session, woken up
//
// A line goes to each monitor's own queue, and its own thread is asked to send it. What the kernel
// has not taken yet, in the queue or in the connection's output, is bounded: a client that holds
// kBytesOfOneMax of it is closed (ClientRecord::killed), and if all together hold kBytesOfAllMax,
// the one that holds the most. While there is no monitor all this costs one relaxed load a command.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "server/observe/client_registry.h"
#include "server/os/log.h"

namespace weir {

class Monitors;

// One client that monitors, until it goes. For its session's thread.
class Monitor {
 public:
  Monitor(Monitors& monitors, std::shared_ptr<ClientRecord> record);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  [[nodiscard]] bool has_lines() const noexcept {
    return has_lines_.load(std::memory_order_relaxed);
  }
  // The lines that wait, each a simple string of the protocol. Until OnSent() they count as held.
  [[nodiscard]] std::string Take();
  // What was taken is with the kernel.
  void OnSent();

 private:
  friend class Monitors;

  Monitors& monitors_;
  const std::shared_ptr<ClientRecord> record_;
  std::atomic<bool> has_lines_{false};
  // Guarded by the monitors' mutex.
  std::string lines_;
  std::size_t held_bytes_ = 0;  // of lines_, and of those taken that are not sent yet
};

class Monitors {
 public:
  // A queue's memory is up to twice its lines: 12 MiB of all.
  static constexpr std::size_t kBytesOfOneMax = 512 * 1024;
  static constexpr std::size_t kBytesOfAllMax = 6 * 1024 * 1024;
  // Of a line's words, quoted, and of one of them, as it is.
  static constexpr std::size_t kLineBytesMax = 4096;
  static constexpr std::size_t kWordBytesMax = 512;

  explicit Monitors(const Clock& clock) : throttle_(clock) {}

  [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }
  // Shows everybody a command that was executed at `now` for the client at `address`.
  void Show(Instant now, std::string_view address, std::span<const std::string_view> words);

  // 1339518083.107412 [0 127.0.0.1:60866] "keys" "*"
  // Long words are cut; the last says how many more there were, if they are too many.
  [[nodiscard]] static std::string Line(Instant now, std::string_view address,
                                        std::span<const std::string_view> words);

 private:
  friend class Monitor;

  void Append(Monitor& monitor, std::string_view line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes them from what the monitor holds.
  void Release(Monitor& monitor, std::size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Close(Monitor& monitor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<std::size_t> count_{0};
  LogThrottle throttle_;
  Mutex mutex_;
  std::vector<Monitor*> monitors_ ABSL_GUARDED_BY(mutex_);
  std::size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of all
};

}  // namespace weir
