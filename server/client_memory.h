// What connections hold for their clients: beginnings of requests, replies that wait, transactions,
// watched keys. It has a bound for all together, the option max-clients-memory: where they hold
// more, the client that holds the most is closed, but for those that have asked not to be (CLIENT
// NO-EVICT).
//
//     memory.Note(record, bytes);  // a connection, after each of its steps
//
// A connection between two requests holds nothing, so hardly anybody ever counts here. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/clock.h"
#include "core/mutex.h"
#include "server/client_registry.h"
#include "server/log.h"
#include "server/settings.h"

namespace weir {

class ClientMemory {
 public:
  ClientMemory(const Settings& settings, const ClientRegistry& clients, const Clock& clock)
      : settings_(settings), clients_(clients), throttle_(clock) {}

  // The client holds so many bytes now. Cost: a load where that is as it was; of who is over the
  // bound, a look at all clients for each that is closed.
  void Note(ClientRecord& record, std::size_t bytes) {
    if (record.held_bytes.load(std::memory_order_relaxed) != bytes) Change(record, bytes);
  }

  // Of all clients that are not about to be closed.
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    return held_bytes_.load(std::memory_order_relaxed);
  }
  // How many clients were closed.
  [[nodiscard]] std::uint64_t evicted() const noexcept {
    return evicted_.load(std::memory_order_relaxed);
  }

 private:
  void Change(ClientRecord& record, std::size_t bytes);
  [[nodiscard]] bool IsOver() const noexcept;
  void Evict();

  const Settings& settings_;
  const ClientRegistry& clients_;
  LogThrottle throttle_;
  std::atomic<std::size_t> held_bytes_{0};
  std::atomic<std::uint64_t> evicted_{0};
  Mutex evicting_;  // so that two threads do not close twice as many as they have to
};

}  // namespace weir
