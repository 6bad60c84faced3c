#include "server/replicas/own_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <asio/ip/address.hpp>
#include <ifaddrs.h>
#include <netdb.h>

#include "core/base/status.h"

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

// If the kernel does not list them, every address counts as this host's, which changes no role.
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

// Returns the address that a connection to the host reaches, if the host is a number in any
// spelling that the resolver takes: "127.1", "0x7f000001", "::ffff:127.0.0.1". An unspecified
// address becomes loopback.
std::optional<address> NumericAddress(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &first) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(first, freeaddrinfo);
  if (first->ai_family == AF_INET) {
    const auto& found = *reinterpret_cast<const sockaddr_in*>(first->ai_addr);
    const asio::ip::address_v4 number(ntohl(found.sin_addr.s_addr));
    return number.is_unspecified() ? asio::ip::address_v4::loopback() : number;
  }
  asio::ip::address_v6::bytes_type bytes;
  const auto& found = *reinterpret_cast<const sockaddr_in6*>(first->ai_addr);
  std::memcpy(bytes.data(), &found.sin6_addr, bytes.size());
  const asio::ip::address_v6 number(bytes, found.sin6_scope_id);
  if (number.is_unspecified()) return asio::ip::address_v6::loopback();
  if (!number.is_v4_mapped()) return number;
  const auto carried = asio::ip::make_address_v4(asio::ip::v4_mapped, number);
  return carried.is_unspecified() ? asio::ip::address_v4::loopback() : carried;
}

bool IsLocalhost(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  return absl::EqualsIgnoreCase(AbslView(host), "localhost");
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
  if (IsLocalhost(named.host)) {
    return ListensOn(options, asio::ip::address_v4::loopback()) ||
           ListensOn(options, asio::ip::address_v6::loopback());
  }
  const std::optional<address> numeric = NumericAddress(named.host);
  return numeric && ListensOn(options, *numeric);
}

absl::Status CheckReplicaOf(const Options& options, std::uint16_t port) {
  const HostAndPort& primary = options.replicaof;
  if (primary.host.empty() || !IsOwnAddress(options, port, primary)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("option 'replicaof': ", primary.host, " ",
                                                 primary.port,
                                                 " is the address of this server, which has no "
                                                 "primary then, unless its data-dir names one"));
}

}  // namespace weir
