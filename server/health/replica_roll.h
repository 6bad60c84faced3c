// The roll of a primary's replicas: those that were in sync, and which of them are away.
//
//     ReplicaRoll roll;
//     std::vector<std::string> away = roll.Call(now, status.replicas);   // each second
//
// A replica that is not heard for kAwayAfter is away until it is heard again, even if it then gets
// its state again. After kForgottenAfter it counts as removed by its operator. Names are announced
// addresses, so a replica that comes back under another one is another one.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/instant.h"
#include "server/state/replication.h"

namespace weir {

// Used by one thread.
class ReplicaRoll {
 public:
  static constexpr Nanos kAwayAfter = std::chrono::seconds{3};
  static constexpr Nanos kForgottenAfter = std::chrono::hours{1};
  static constexpr std::size_t kNamesMax = 32;  // above that, the one unheard for longest goes

  // Takes the replicas that are connected. Returns the addresses of those that are away, sorted.
  std::vector<std::string> Call(HostInstant now, std::span<const ReplicaStatus> connected);

  // Forgets all: the server is no primary.
  void Clear() { heard_.clear(); }

 private:
  std::map<std::string, HostInstant> heard_;  // by address: when it was last heard
};

}  // namespace weir
