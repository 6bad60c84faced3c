// The address of a server: a host and a port. Plain value.
#pragma once

#include <cstdint>
#include <string>

namespace weir {

struct HostAndPort {
  std::string host{};      // a name, or an IP address in any spelling; empty: none
  std::uint16_t port = 0;  // from 1 on; 0: none

  friend bool operator==(const HostAndPort&, const HostAndPort&) = default;
};

// "10.0.0.1:7379" or "[::1]:7379".
[[nodiscard]] inline std::string AddressText(const HostAndPort& server) {
  const bool is_v6 = server.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + server.host + "]" : server.host;
  return host + ":" + std::to_string(server.port);
}

}  // namespace weir
