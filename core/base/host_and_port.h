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

}  // namespace weir
