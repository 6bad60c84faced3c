// The protocol of the ports for HTTP.
#pragma once

#include "server/http/http_services.h"
#include "server/session/port_protocol.h"

namespace weir {

// The most clients of the admin port.
inline constexpr std::size_t kAdminClientsMax = 32;

// The protocol of the port for decisions, where a client may choose HTTP/2, or of the port for
// metrics and the page. `http` must outlive the sessions.
[[nodiscard]] PortProtocol HttpProtocol(Face face, HttpServices& http);

}  // namespace weir
