// The request for a planned switch: FAILOVER. Plain value.
#pragma once

#include <optional>

#include "core/base/host_and_port.h"
#include "core/base/instant.h"

namespace weir {

struct FailoverRequest {
  std::optional<HostAndPort> to{};  // as ROLE lists it; none: the replica that has most
  bool force = false;               // after the timeout, also if the replica lags
  std::optional<Nanos> timeout{};   // for the replica to come close; none: 10 s
};

}  // namespace weir
