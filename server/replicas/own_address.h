// The addresses at which clients and other servers reach this one.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "server/config/options.h"

namespace weir {

// The port under which others reach a server that listens on `port`.
[[nodiscard]] std::uint16_t PortToAnnounce(const Options& options, std::uint16_t port);

// Whether a connection to the address would reach this server, which listens on `port`: it
// announces the address, or listens there, however the address is spelled. Names are compared and
// not looked up, but for localhost. Thread safe. Cost: a look at the addresses of the host if the
// option bind names an unspecified address.
[[nodiscard]] bool IsOwnAddress(const Options& options, std::uint16_t port,
                                const HostAndPort& named);

// Fails if the option replicaof names this server, which listens on `port`.
[[nodiscard]] absl::Status CheckReplicaOf(const Options& options, std::uint16_t port);

}  // namespace weir
