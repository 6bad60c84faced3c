// Sockets that carry a stream of bytes, whatever the family: TCP over IPv4 and IPv6, and Unix.
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

// "127.0.0.1:7379", "[::1]:7379"; of a Unix socket "/run/weir.sock:0", as Redis has it.
[[nodiscard]] std::string EndpointText(const StreamEndpoint& endpoint);

[[nodiscard]] bool IsUnix(const StreamEndpoint& endpoint);

// Requires: not of a Unix socket.
[[nodiscard]] std::uint16_t PortOf(const StreamEndpoint& endpoint);

// No other host can be, or can reach, what is there.
[[nodiscard]] bool IsLocal(const StreamEndpoint& endpoint);

}  // namespace weir
