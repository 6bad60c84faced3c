// The memory that connections use for their clients: incomplete requests, replies that wait,
// transactions, watched keys, requests that wait for tokens. The option max-clients-memory bounds
// the sum. Above it, the client that uses the most is closed, except for clients that have asked
// not to be (CLIENT NO-EVICT).
//
//     memory.Set(record, bytes);  // a connection, after each of its steps, and 0 at its end
//
// A client between two requests counts 0, but for watched keys and HTTP/2. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "server/config/settings.h"
#include "server/observe/client_registry.h"
#include "server/os/log.h"

namespace weir {

class ClientMemory {
 public:
  ClientMemory(const Settings& settings, const Clock& clock)
      : settings_(settings), throttle_(clock) {}

  // Sets the bytes that the client uses. Called on its own thread, and with 0 by a thread that
  // kills it, so that no other client is closed for its memory. Cost: a load if the number is
  // unchanged, else a lock and O(log(clients that use memory)), and as much for each client that is
  // closed.
  void Set(ClientRecord& record, std::size_t bytes) {
    if (record.held_bytes.load(std::memory_order_relaxed) != bytes) Change(record, bytes);
  }

  // Closes clients until the bound holds; called when the bound has changed.
  void Enforce();

  // The bytes of all clients, except those about to be closed.
  [[nodiscard]] std::size_t held_bytes() const;
  // The number of clients that were closed.
  [[nodiscard]] std::uint64_t evicted() const;

 private:
  void Change(ClientRecord& record, std::size_t bytes);
  void Store(ClientRecord& record, std::size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Settings& settings_;
  LogThrottle throttle_;
  mutable Mutex mutex_;
  std::size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // The clients that use memory, sorted by its size.
  absl::btree_set<std::pair<std::size_t, ClientRecord*>> holders_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t evicted_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
