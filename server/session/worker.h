// The state of one I/O thread, which its sessions share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/counter.h"
#include "core/base/instant.h"
#include "core/base/thread_role.h"
#include "core/commands/decision_events.h"
#include "core/commands/request_counters.h"
#include "core/policies/limit_memo.h"
#include "core/table/limit_registry.h"
#include "protocol/resp_writer.h"
#include "server/observe/command_counters.h"
#include "server/observe/error_counters.h"
#include "server/observe/thread_counters.h"
#include "server/session/read_ahead.h"
#include "server/session/services.h"
#include "server/state/edge_port.h"

namespace weir {

// Its counters may be read by any thread.
struct Worker {
  explicit Worker(Services& shared)
      : services(shared), request_counters(shared.clock), memo(&shared.policies) {
    services.workers.push_back(this);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Answers an error, "ERR ...", and counts it.
  void Fail(RespWriter& reply, std::string_view error);
  // Counts an error that is answered in another protocol.
  void CountError(std::string_view error);

  // Publishes the events that were collected. Returns the number of messages, sent or dropped.
  std::size_t PublishEvents();

  // CLIENT KILL. AddKilled adds a client whose record is marked as killed. EndKilled ends the waits
  // of all added clients together, and wakes them; it requires that this thread has no Isolation.
  void AddKilled(std::shared_ptr<ClientRecord> record) { killed.push_back(std::move(record)); }
  void EndKilled();

  // Counts a turn of a session; `commands_before`: total_commands_processed at its beginning.
  void CountTurn(std::uint64_t commands_before, std::size_t input_bytes, std::size_t output_bytes,
                 HostInstant now);

  Services& services;
  EdgePort* edge = nullptr;  // null: the server is no edge; set before the first session
  ThreadRole thread;         // of the I/O thread
  RequestCounters request_counters;
  Counter checks;  // of proxies, over HTTP
  DecisionEvents events;
  LimitMemo memo;
  LimitHint throttle_hint;  // of the one limit of CL.THROTTLE
  ThreadCounters counters;
  CommandCounterTable command_counters;
  ErrorCounters error_counters;
  ReadAhead read_ahead;                               // of the session whose turn it is
  std::vector<std::shared_ptr<ClientRecord>> killed;  // by the present command or transaction
};

// The counters of requests of all threads.
[[nodiscard]] inline std::vector<RequestCounters*> RequestCountersOf(const Services& services) {
  std::vector<RequestCounters*> counters;
  for (Worker* worker : services.workers) counters.push_back(&worker->request_counters);
  return counters;
}

// The sum of a number of all threads; 0 if the server is no edge.
template <typename Number>
[[nodiscard]] std::uint64_t EdgeSum(const Services& services, Number EdgeNumbers::*number) {
  std::uint64_t sum = 0;
  for (const Worker* worker : services.workers) {
    if (!worker->edge) continue;
    if constexpr (std::is_same_v<Number, Counter>) {
      sum += (worker->edge->numbers().*number).value();
    } else {
      sum += (worker->edge->numbers().*number).load(std::memory_order_relaxed);
    }
  }
  return sum;
}

// The greatest of all threads.
[[nodiscard]] inline std::uint64_t EdgeMax(const Services& services,
                                           std::atomic<std::uint64_t> EdgeNumbers::*number) {
  std::uint64_t max = 0;
  for (const Worker* worker : services.workers) {
    if (!worker->edge) continue;
    max = std::max(max, (worker->edge->numbers().*number).load(std::memory_order_relaxed));
  }
  return max;
}

// Whether all threads of an edge are connected to the primary.
[[nodiscard]] inline bool IsEdgeConnected(const Services& services) {
  return EdgeSum(services, &EdgeNumbers::is_connected) == services.workers.size();
}

}  // namespace weir
