// The hello of a Redis Sentinel, a message on the channel __sentinel__:hello that names the
// primary:
//
//     ip,port,runid,epoch,name,primary-ip,primary-port,config-epoch
//
// The first four are about the Sentinel itself. `name` is that of a group of servers; the last
// three are the address of its primary and the epoch of the failover that made it one. Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

struct Hello {
  std::string name{};
  std::string host{};  // of the primary: an IP address, or a name
  std::uint16_t port = 0;
  std::uint64_t epoch = 0;  // the number of the failover that made it one

  friend bool operator==(const Hello&, const Hello&) = default;
};

// Reads a message. Returns nothing for one that no Sentinel sends: fewer or more parts, parts
// that are not numbers, an empty name or host.
[[nodiscard]] std::optional<Hello> ReadHello(std::string_view message);

}  // namespace weir
