// Protected mode: a server without authentication serves only clients on loopback or a Unix socket,
// whatever addresses it listens on. It guards against a changed --bind that puts an open server on
// a network.
#pragma once

#include <string_view>

namespace weir {

// The requirements for access to the server.
struct AccessRequirements {
  bool protected_mode = true;         // the option
  bool asks_for_password = false;     // every client must log in first
  bool asks_for_certificate = false;  // every client of this address must show one, by TLS
};

// True if only local clients are served.
[[nodiscard]] constexpr bool IsProtected(const AccessRequirements& required) noexcept {
  return required.protected_mode && !required.asks_for_password && !required.asks_for_certificate;
}

// The error for a client of another host, before the connection is closed.
inline constexpr std::string_view kDenied =
    "-DENIED weir is in protected mode: it has no password, so it serves only clients on its own "
    "host. To serve other hosts, set a password (the variable WEIR_REQUIREPASS, "
    "--requirepass-file, --users-file), or require TLS certificates of clients (--tls-port, "
    "--tls-auth-clients). If all hosts that can reach it are trusted, start it with "
    "--protected-mode=false.\r\n";

}  // namespace weir
