// Whether the server is ready, for the probes of an orchestrator or a load balancer.
#pragma once

#include <cstdint>
#include <string>

#include "server/session/services.h"

namespace weir {

// A replica is ready for what its role does, but never for changes.
enum class ReadyFor : std::uint8_t { kItsRole, kChanges };

// Returns why the server is not ready, as JSON; an empty text if it is. Not ready: a server that
// loads its state or waits for Sentinel, one whose changes must be saved and cannot be, a primary
// that is deposed or lacks replicas, and a replica that has no whole state or has lost its primary.
// Cost: a few loads, most of the time.
[[nodiscard]] std::string ReasonNotReady(const Services& services, ReadyFor purpose);

// True if the server is ready for changes, and has rules in force if it is Envoy's rate limit
// service.
[[nodiscard]] bool IsReadyForCalls(const Services& services);

}  // namespace weir
