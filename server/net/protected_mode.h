// Protected mode: a server without authentication serves only clients that come over loopback or a
// Unix socket, however it is bound. It guards against the one mistake that puts an open server on a
// network: another --bind.
#pragma once

#include <string_view>

namespace weir {

// The requirements for access to the server.
struct AccessRequirements {
  bool protected_mode = true;         // the option
  bool asks_for_password = false;     // of every client, before anything else
  bool asks_for_certificate = false;  // of every client of this address, by TLS
};

[[nodiscard]] constexpr bool IsProtected(const AccessRequirements& guards) noexcept {
  return guards.protected_mode && !guards.asks_for_password && !guards.asks_for_certificate;
}

// The error for a client of another host, before the connection is closed.
inline constexpr std::string_view kDenied =
    "-DENIED weir is in protected mode: it has no password, so it serves only clients of its own "
    "host. To serve others, set a password (--requirepass, --users-file); or let clients come by "
    "TLS and show a certificate (--tls-port, --tls-auth-clients); or, where every host that "
    "reaches "
    "it is trusted, start it with --protected-mode=false.\r\n";

}  // namespace weir
