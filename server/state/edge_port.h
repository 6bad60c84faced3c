// The edge of a thread as sessions see it: what runs commands in place of the handlers of their
// rows. It belongs to the thread of its worker; server/edge/ has it.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/counter.h"

namespace weir {

struct Call;

// The numbers of one thread's edge. Its thread writes them; any thread may read them.
struct EdgeNumbers {
  // Of requests: decided here, passed on, and answered for a primary that is away.
  std::atomic<std::uint64_t> decided_locally_allowed{0};
  std::atomic<std::uint64_t> decided_locally_denied{0};
  Counter passed_on;
  Counter away_error;
  Counter away_closed;
  Counter away_open;
  // Of slices: the requests for them, their units that were granted, spent, and given back, and
  // those that have lapsed unspent.
  std::atomic<std::uint64_t> asks{0};
  std::atomic<std::uint64_t> granted{0};
  std::atomic<std::uint64_t> spent{0};
  std::atomic<std::uint64_t> settled{0};
  std::atomic<std::uint64_t> wasted{0};
  // The present state.
  std::atomic<bool> is_connected{false};
  std::atomic<std::uint64_t> term{0};    // of the primary
  std::atomic<std::uint64_t> rtt_us{0};  // smoothed
  std::atomic<std::uint64_t> forms{0};
  std::atomic<std::uint64_t> in_hand{0};  // units
};

class EdgePort {
 public:
  EdgePort() = default;
  virtual ~EdgePort() = default;
  EdgePort(const EdgePort&) = delete;
  EdgePort& operator=(const EdgePort&) = delete;

  // Runs the command here, passes it on, or refuses it, as its row says (kEdgeRuns, kEdgePasses).
  // A reply of the primary comes later (Call::AwaitUpstream).
  virtual void Run(Call& call) = 0;

  // So many requests wait to be sent to the primary that no more are to be read from clients.
  [[nodiscard]] virtual bool is_full() const = 0;

  // Leaves the primary: the thread serves no client any more, and its loop is to end.
  virtual void Leave() = 0;

  [[nodiscard]] const EdgeNumbers& numbers() const noexcept { return numbers_; }

 protected:
  EdgeNumbers numbers_;
};

}  // namespace weir
