// The protocol of the ports for Redis clients.
#pragma once

#include <memory>
#include <utility>

#include "server/net/protected_mode.h"
#include "server/session/port_protocol.h"
#include "server/session/session.h"

namespace weir {

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
