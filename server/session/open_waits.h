// The waits of all threads for tokens (RL.WAIT), in the order of their reservations.
//
// A reservation can be given back as long as no later one is charged behind it
// (Reservation::Part::GivenBack). So where many waits end together, on several threads and of
// several keys, the tokens of all come back only in one order: the latest reservation first. A
// caller that ends waits calls this first, and lets each session answer its client afterwards:
//
//     open_waits.Refuse();        // or the server is a replica: from now on no wait begins
//     ...                         // until no command is under way that began before
//     open_waits.GiveBackAll();
//     ...                         // each session answers, on its thread
//
// Thread-safe. Cost: a wait takes a mutex at its beginning and at its end.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"

#include "core/base/mutex.h"
#include "core/limiter/limiter.h"
#include "core/plans/reservation.h"

namespace weir {

class ClientRecord;

class OpenWaits {
 public:
  explicit OpenWaits(Limiter& limiter) : limiter_(limiter) {}
  // Requires: no wait is left.
  ~OpenWaits();

  // The arguments must stay until Remove().
  void Add(const Reservation& reservation, const ClientRecord& client);
  // Returns false if the tokens were given back meanwhile. Otherwise the caller serves the wait, or
  // gives them back.
  [[nodiscard]] bool Remove(const Reservation& reservation);

  // Give the tokens back: of all waits, or of those of killed clients. Cost: a look at each wait,
  // and what Limiter::ReturnTokens costs for each that ends.
  void GiveBackAll();
  void GiveBackKilled();

  // From now on no client waits, because the server stops: RL.WAIT answers at once.
  void Refuse() noexcept { refuses_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool refuses() const noexcept { return refuses_.load(std::memory_order_relaxed); }

 private:
  struct Wait {
    const Reservation* reservation;
    const ClientRecord* client;
  };
  void GiveBackIf(absl::FunctionRef<bool(const ClientRecord&)> ends);

  Limiter& limiter_;
  std::atomic<bool> refuses_{false};
  Mutex mutex_;  // taken before the locks of partitions
  absl::btree_map<std::uint64_t, Wait> waits_ ABSL_GUARDED_BY(mutex_);  // by Reservation::number
};

}  // namespace weir
