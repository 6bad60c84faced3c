#include "server/replicas/own_address.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>

#include <asio/ip/address.hpp>
#include <ifaddrs.h>

namespace weir {
namespace {

using asio::ip::address;

bool Is(const sockaddr* interface, const address& wanted) {
  if (interface == nullptr) return false;
  if (wanted.is_v4() && interface->sa_family == AF_INET) {
    const auto bytes = wanted.to_v4().to_bytes();
    const auto& own = reinterpret_cast<const sockaddr_in*>(interface)->sin_addr;
    return std::memcmp(&own, bytes.data(), bytes.size()) == 0;
  }
  if (wanted.is_v6() && interface->sa_family == AF_INET6) {
    const auto bytes = wanted.to_v6().to_bytes();
    const auto& own = reinterpret_cast<const sockaddr_in6*>(interface)->sin6_addr;
    return std::memcmp(&own, bytes.data(), bytes.size()) == 0;
  }
  return false;
}

// If the kernel does not answer, every address counts as one of this host: then nothing changes.
bool IsOfThisHost(const address& wanted) {
  if (wanted.is_loopback()) return true;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return true;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (Is(one->ifa_addr, wanted)) return true;
  }
  return false;
}

bool ListensOn(const Options& options, const address& wanted) {
  return std::ranges::any_of(options.bind, [&](const std::string& text) {
    std::error_code error;
    const address bound = asio::ip::make_address(text, error);
    if (error || bound.is_v4() != wanted.is_v4()) return false;
    return bound == wanted || (bound.is_unspecified() && IsOfThisHost(wanted));
  });
}

}  // namespace

std::uint16_t PortToAnnounce(const Options& options, std::uint16_t port) {
  std::int64_t announced = options.replica_announce_port;
  if (announced == 0 && options.replication_tls) announced = options.tls_port;
  return announced != 0 ? static_cast<std::uint16_t>(announced) : port;
}

bool IsOwnAddress(const Options& options, std::uint16_t port, const HostAndPort& named) {
  const std::uint16_t announced = PortToAnnounce(options, port);
  if (named.host == options.replica_announce_ip.name && named.port == announced) return true;
  if (named.port != port && named.port != options.tls_port && named.port != announced) return false;
  if (named.host == "localhost") {
    return ListensOn(options, asio::ip::address_v4::loopback()) ||
           ListensOn(options, asio::ip::address_v6::loopback());
  }
  std::error_code error;
  const address numeric = asio::ip::make_address(named.host, error);
  return !error && ListensOn(options, numeric);
}

}  // namespace weir
