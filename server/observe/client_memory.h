// Memory that connections hold for their clients: beginnings of requests, replies that wait,
// transactions, watched keys, requests that wait for tokens. It has a bound for all together, the
// option max-clients-memory: where they hold more, the client that holds the most is closed, but
// for those that have asked not to be (CLIENT NO-EVICT).
//
//     memory.Set(record, bytes);  // a connection, after each of its steps, and 0 at its end
//
// A client between two requests, with nothing watched, counts for nothing. Thread-safe.
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

  // The client holds so many bytes now. For its own thread, and for the one that has killed it:
  // then it holds nothing that another client is to be closed for. Cost: a load where that is as it
  // was, else a lock and O(log(clients that hold something)), and as much for each that is closed.
  void Set(ClientRecord& record, std::size_t bytes) {
    if (record.held_bytes.load(std::memory_order_relaxed) != bytes) Change(record, bytes);
  }

  // The bound may have become less.
  void Enforce();

  // The bytes of all clients that are not about to be closed.
  [[nodiscard]] std::size_t held_bytes() const;
  // How many clients were closed.
  [[nodiscard]] std::uint64_t evicted() const;

 private:
  void Change(ClientRecord& record, std::size_t bytes);
  void Store(ClientRecord& record, std::size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Settings& settings_;
  LogThrottle throttle_;
  mutable Mutex mutex_;
  std::size_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Those that hold something, by how much.
  absl::btree_set<std::pair<std::size_t, ClientRecord*>> holders_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t evicted_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
