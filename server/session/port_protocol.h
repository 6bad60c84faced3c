// The protocol of a listening socket: the sessions of its clients, and the last bytes to a client
// that it does not serve. A value; its maker is called on the thread of the client.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>

#include "server/observe/client_registry.h"
#include "server/session/client_session.h"

namespace weir {

struct PortProtocol {
  Face face;
  std::string_view purpose;  // in the log, after the address: " for HTTP"
  SessionMaker make;
  // The protocols that a client of TLS may choose from (ALPN), the server's first choice first,
  // each behind a byte with its length; null: it may choose none.
  const char* alpn = nullptr;
  // The last bytes to a client that is not served: by the protected mode, or because too many are
  // connected.
  std::string_view denied;
  std::string_view too_many_clients;
  // The most clients of this face at a time, in addition to the option max-clients.
  std::size_t clients_max = std::numeric_limits<std::size_t>::max();
};

}  // namespace weir
