#include "server/replicas/own_address.h"

#include <algorithm>
#include <string>
#include <system_error>

#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>

namespace weir {
namespace {

using asio::ip::tcp;

// The kernel lets a socket have no address of another host.
bool IsOfThisHost(const asio::ip::address& address) {
  asio::io_context context;
  tcp::socket socket(context);
  const tcp::endpoint any_port(address, 0);
  std::error_code error;
  socket.open(any_port.protocol(), error);
  if (!error) socket.bind(any_port, error);
  return !error;
}

bool ListensOn(const Options& options, const asio::ip::address& address) {
  return std::ranges::any_of(options.bind, [&](const std::string& text) {
    std::error_code error;
    const asio::ip::address bound = asio::ip::make_address(text, error);
    if (error) return false;
    return bound == address || (bound.is_unspecified() && IsOfThisHost(address));
  });
}

}  // namespace

std::uint16_t PortToAnnounce(const Options& options, std::uint16_t port) {
  std::int64_t announced = options.replica_announce_port;
  if (announced == 0 && options.replication_tls) announced = options.tls_port;
  return announced != 0 ? static_cast<std::uint16_t>(announced) : port;
}

bool IsOwnAddress(const Options& options, std::uint16_t port, const HostAndPort& address) {
  if (address.host == options.replica_announce_ip.name &&
      address.port == PortToAnnounce(options, port)) {
    return true;
  }
  if (address.port != port && address.port != options.tls_port) return false;
  if (address.host == "localhost") {
    return ListensOn(options, asio::ip::address_v4::loopback()) ||
           ListensOn(options, asio::ip::address_v6::loopback());
  }
  std::error_code error;
  const asio::ip::address numeric = asio::ip::make_address(address.host, error);
  return !error && ListensOn(options, numeric);
}

}  // namespace weir
