// MONITOR: clients that see every command as it is executed.
//
//     const std::unique_ptr<Monitor> monitor = monitors.Add(record);   // the client's session
//     if (monitors.any()) monitors.Show(now, address, words);          // a session that executes
//     out += monitor->Take();                                          // the session, woken up
//
// A line goes to the queue of each monitor, and the monitor's own thread is woken to send it. The
// bytes that the kernel has not taken yet, in the queue or in the connection's output, are bounded:
// a client above kBytesOfOneMax is closed (ClientRecord::killed), and if all monitors together
// exceed kBytesOfAllMax, the one with the most bytes is closed. Without a monitor, a command costs
// one relaxed load. Thread-safe.
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

// One client that monitors, for as long as this object lives. For its session's thread.
class Monitor {
 public:
  Monitor(Monitors& monitors, std::shared_ptr<ClientRecord> record);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  [[nodiscard]] bool has_lines() const noexcept {
    return has_lines_.load(std::memory_order_relaxed);
  }
  // Takes the lines that wait, each a simple string of the protocol. They count against the bounds
  // until OnSent().
  [[nodiscard]] std::string Take();
  // Called when the kernel has all lines that were taken.
  void OnSent();

 private:
  friend class Monitors;

  Monitors& monitors_;
  const std::shared_ptr<ClientRecord> record_;
  std::atomic<bool> has_lines_{false};
  // Guarded by the monitors' mutex.
  std::string lines_;
  std::size_t held_bytes_ = 0;  // of lines_, and of taken lines that are not sent yet
};

class Monitors {
 public:
  // A queue takes up to twice the memory of its lines, so all queues take up to 12 MiB.
  static constexpr std::size_t kBytesOfOneMax = 512 * 1024;
  static constexpr std::size_t kBytesOfAllMax = 6 * 1024 * 1024;
  // Bytes of all words of a line, quoted, and of one word before it is quoted.
  static constexpr std::size_t kLineBytesMax = 4096;
  static constexpr std::size_t kWordBytesMax = 512;

  explicit Monitors(const Clock& clock) : throttle_(clock) {}

  [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }
  // Shows all monitors a command that was executed at `now` for the client at `address`.
  void Show(Instant now, std::string_view address, std::span<const std::string_view> words);

  // The line of a command: 1339518083.107412 [0 127.0.0.1:60866] "keys" "*"
  // Long words are cut. If there are too many, the last one says how many are left out.
  [[nodiscard]] static std::string Line(Instant now, std::string_view address,
                                        std::span<const std::string_view> words);

 private:
  friend class Monitor;

  void Append(Monitor& monitor, std::string_view line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Subtracts bytes of the monitor that were sent or dropped.
  void Release(Monitor& monitor, std::size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Close(Monitor& monitor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<std::size_t> count_{0};
  LogThrottle throttle_;
  Mutex mutex_;
  std::vector<Monitor*> monitors_ ABSL_GUARDED_BY(mutex_);
  std::size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of all monitors
};

}  // namespace weir
