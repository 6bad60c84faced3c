#include "server/net/stream_socket.h"

#include <sys/socket.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>

namespace weir {
namespace {

using asio::ip::tcp;

// Converts to the endpoint type of its family. Requires: its family is that of `Endpoint`.
template <typename Endpoint>
Endpoint As(const StreamEndpoint& endpoint) {
  Endpoint same;
  if (endpoint.size() > same.capacity()) return same;
  std::memcpy(same.data(), endpoint.data(), endpoint.size());
  same.resize(endpoint.size());
  return same;
}

}  // namespace

std::string EndpointText(const StreamEndpoint& endpoint) {
  if (IsUnix(endpoint)) {
    return absl::StrCat(As<asio::local::stream_protocol::endpoint>(endpoint).path(), ":0");
  }
  const auto place = As<tcp::endpoint>(endpoint);
  const std::string address = place.address().to_string();
  return place.address().is_v6() ? absl::StrCat("[", address, "]:", place.port())
                                 : absl::StrCat(address, ":", place.port());
}

bool IsUnix(const StreamEndpoint& endpoint) { return endpoint.data()->sa_family == AF_UNIX; }

std::uint16_t PortOf(const StreamEndpoint& endpoint) { return As<tcp::endpoint>(endpoint).port(); }

bool IsLocal(const StreamEndpoint& endpoint) {
  return IsUnix(endpoint) || As<tcp::endpoint>(endpoint).address().is_loopback();
}

}  // namespace weir
