// The message by which a Redis Sentinel tells what it knows, on the channel __sentinel__:hello:
//
//     ip,port,runid,epoch,name,primary-ip,primary-port,config-epoch
//
// The first three are the Sentinel's own, with its epoch. `name` is that of a group of servers, and
// the last three say which of them is its primary, since which failover. Pure.
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

// Reads a message. Returns nothing for one that no Sentinel sends: fewer or more parts, numbers
// that are none, an empty name or host.
[[nodiscard]] std::optional<Hello> ReadHello(std::string_view message);

}  // namespace weir
