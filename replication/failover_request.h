// The request for a planned switch, FAILOVER, and its errors in the words of Redis. Plain value.
#pragma once

#include <optional>

#include "absl/status/status.h"

#include "core/base/host_and_port.h"
#include "core/base/instant.h"

namespace weir {

struct FailoverRequest {
  std::optional<HostAndPort> to{};  // as ROLE lists it; none: the replica that has most
  bool force = false;               // after the timeout, also if the replica lags
  std::optional<Nanos> timeout{};   // for the replica to come close; none: 10 s
};

[[nodiscard]] inline absl::Status FailoverInProgress() {
  return absl::AlreadyExistsError("FAILOVER already in progress.");
}
[[nodiscard]] inline absl::Status NoFailoverInProgress() {
  return absl::FailedPreconditionError("No failover in progress.");
}
[[nodiscard]] inline absl::Status FailoverOfNoPrimary() {
  return absl::FailedPreconditionError("FAILOVER is not valid when server is a replica.");
}

}  // namespace weir
