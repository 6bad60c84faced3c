// Stream sockets of all families: TCP over IPv4 and IPv6, and Unix.
#pragma once

#include <cstdint>
#include <string>

#include <asio/basic_socket_acceptor.hpp>
#include <asio/generic/stream_protocol.hpp>

namespace weir {

using StreamProtocol = asio::generic::stream_protocol;
using StreamSocket = StreamProtocol::socket;
using StreamEndpoint = StreamProtocol::endpoint;
using StreamAcceptor = asio::basic_socket_acceptor<StreamProtocol>;

// "127.0.0.1:7379" or "[::1]:7379"; for a Unix socket "/run/weir.sock:0", as in Redis.
[[nodiscard]] std::string EndpointText(const StreamEndpoint& endpoint);

[[nodiscard]] bool IsUnix(const StreamEndpoint& endpoint);

// Requires: `endpoint` is not a Unix socket.
[[nodiscard]] std::uint16_t PortOf(const StreamEndpoint& endpoint);

// True for loopback addresses and Unix sockets, which no other host can reach.
[[nodiscard]] bool IsLocal(const StreamEndpoint& endpoint);

}  // namespace weir
