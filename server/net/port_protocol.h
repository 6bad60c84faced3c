// The protocol of a listening socket: how its clients are served, and what those are told that are
// not served.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "server/net/protected_mode.h"
#include "server/observe/client_registry.h"
#include "server/session/client_session.h"
#include "server/session/session.h"

namespace weir {

struct PortProtocol {
  Face face;
  std::string_view purpose;  // in the log, after the address: " for HTTP"
  SessionMaker make;
  // The last bytes to a client that is not served: by the protected mode, or because too many are
  // connected.
  std::string_view denied;
  std::string_view too_many_clients;
  // The most clients of this face at a time, in addition to the option max-clients.
  std::size_t clients_max = std::numeric_limits<std::size_t>::max();
};

// The Redis protocol.
[[nodiscard]] inline PortProtocol RedisProtocol() {
  return {
      .face = Face::kResp,
      .purpose = "",
      .make = [](Worker& worker,
                 std::shared_ptr<ClientRecord> record) -> std::unique_ptr<ClientSession> {
        return std::make_unique<Session>(worker, std::move(record));
      },
      .denied = kDenied,
      .too_many_clients = "-ERR max number of clients reached\r\n",
  };
}

}  // namespace weir
