// Goal: every kind of endpoint has the text that tools expect, and is classified by whether other
// hosts can reach it. Method: a table.
#include "server/net/stream_socket.h"

#include <string>

#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <gtest/gtest.h>

namespace weir {
namespace {

StreamEndpoint Tcp(const std::string& address) {
  return asio::ip::tcp::endpoint(asio::ip::make_address(address), 7379);
}

StreamEndpoint Unix(const std::string& path) {
  return asio::local::stream_protocol::endpoint(path);
}

TEST(StreamSocketTest, EndpointsAreSpelledWithTheirPort) {
  EXPECT_EQ(EndpointText(Tcp("127.0.0.1")), "127.0.0.1:7379");
  EXPECT_EQ(EndpointText(Tcp("::1")), "[::1]:7379");
  EXPECT_EQ(EndpointText(Unix("/run/weir.sock")), "/run/weir.sock:0");
  EXPECT_EQ(EndpointText(Unix("")), ":0");  // the client's end
  EXPECT_EQ(PortOf(Tcp("::1")), 7379);
}

TEST(StreamSocketTest, OnlyLoopbackAndUnixAreLocal) {
  for (const char* const address : {"127.0.0.1", "127.255.255.254", "::1"}) {
    EXPECT_TRUE(IsLocal(Tcp(address))) << address;
  }
  for (const char* const address :
       {"0.0.0.0", "128.0.0.1", "10.0.0.1", "192.168.1.1", "172.17.0.1", "::", "::2", "fe80::1"}) {
    EXPECT_FALSE(IsLocal(Tcp(address))) << address;
  }
  EXPECT_TRUE(IsLocal(Unix("/run/weir.sock")));
  EXPECT_TRUE(IsLocal(Unix("")));
  EXPECT_FALSE(IsLocal(StreamEndpoint()));
}

}  // namespace
}  // namespace weir
