// One question to a running server: does it answer? For the health checks of containers.
//
//     weir-server --ping 127.0.0.1:7379
//
// PING is sent without a password and without a certificate. A server that asks for either has
// answered anyway. A server that loads its state, refuses the client or hangs has not: it
// cannot serve now.
#pragma once

#include <chrono>
#include <string_view>

#include "absl/status/status.h"

#include "server/config/options.h"

namespace weir {

// The time for everything but the look-up of a host's name.
inline constexpr std::chrono::milliseconds kPingTime = std::chrono::seconds{3};

// Asks the server at `address`: "HOST:PORT", or the path of a Unix socket, which has a '/'. An IPv6
// address alone, "::1", is a host with the port of the options. An empty address stands for the
// place where a server with these options listens: its port, or else its Unix socket, or else its
// tls-port. The call uses TLS if the port is the tls-port of the options, and does not verify the
// server's certificate.
//
// Fails with kInvalidArgument if the address is invalid; else with kUnavailable and one line that
// names the address and the reason. Blocks.
absl::Status Ping(const Options& options, std::string_view address,
                  std::chrono::milliseconds time = kPingTime);

}  // namespace weir
