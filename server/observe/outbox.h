// The bytes that a client is sent without asking: the commands that it monitors, and the messages
// of its channels.
//
//     Outbox outbox(outboxes, record);   // the client's session
//     outbox.Append(bytes);              // any thread
//     out += outbox.Take();              // the session, woken up
//
// The bytes that the kernel has not taken yet, here or in the connection's output, are bounded: a
// client above kBytesOfOneMax is closed (ClientRecord::killed), and if all together exceed
// kBytesOfAllMax, the one with the most bytes is closed. The server's own messages (events, lines
// of MONITOR) are offered instead: a client that is behind misses them, so no client is closed for
// what others make the server say. Thread-safe, unless said otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "server/observe/client_registry.h"
#include "server/os/log.h"

namespace weir {

class Outboxes;

// The outbox of one client.
class Outbox {
 public:
  Outbox(Outboxes& all, std::shared_ptr<ClientRecord> record);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Adds bytes, and wakes the client's thread if there were none.
  void Append(std::string_view bytes);
  // The same for bytes that the client may miss: returns false, and adds nothing, if more than
  // kBytesBehindMax would wait for it then, or more than kBytesOfAllMax for all. A client that has
  // read all so far gets a small message (kSmallBytesMax) also then: it does not pay for others.
  [[nodiscard]] bool Offer(std::string_view bytes);
  [[nodiscard]] ClientRecord& record() const noexcept { return *record_; }

  // --- For the session's thread ---

  [[nodiscard]] bool has_bytes() const noexcept {
    return has_bytes_.load(std::memory_order_relaxed);
  }
  // Takes the bytes. They count against the bounds until OnSent().
  [[nodiscard]] std::string Take();
  // Called when the kernel has all bytes that were taken.
  void OnSent();

 private:
  friend class Outboxes;

  Outboxes& all_;
  const std::shared_ptr<ClientRecord> record_;
  std::atomic<bool> has_bytes_{false};
  // Guarded by the mutex of all.
  std::string bytes_;
  std::size_t held_bytes_ = 0;  // of bytes_, and of taken bytes that are not sent yet
};

class Outboxes {
 public:
  // A queue takes up to twice the memory of its bytes, so all queues take up to 72 MiB.
  static constexpr std::size_t kBytesOfOneMax = std::size_t{512} << 10;
  static constexpr std::size_t kBytesOfAllMax = std::size_t{32} << 20;
  static constexpr std::size_t kBytesBehindMax = kBytesOfOneMax / 2;
  static constexpr std::size_t kSmallBytesMax = 1024;
  static constexpr std::size_t kSmallBytesOfAllMax = std::size_t{4} << 20;  // above kBytesOfAllMax

  explicit Outboxes(const Clock& clock) : throttle_(clock) {}

 private:
  friend class Outbox;

  void Add(Outbox& outbox, std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Subtracts bytes that were sent or dropped.
  void Release(Outbox& outbox, std::size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Close(Outbox& outbox) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  LogThrottle throttle_;
  Mutex mutex_;
  std::vector<Outbox*> outboxes_ ABSL_GUARDED_BY(mutex_);
  std::size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of all
};

}  // namespace weir
