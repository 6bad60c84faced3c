// Goal: a server knows the addresses at which it is reached, so that it does not follow itself.
// Method: examples.
#include "server/replicas/own_address.h"

#include <string>

#include "gtest/gtest.h"

namespace weir {
namespace {

constexpr std::uint16_t kPort = 7379;

Options ListeningOn(AddressList bind) {
  Options options;
  options.bind = std::move(bind);
  return options;
}

bool IsOwn(const Options& options, const std::string& host, std::uint16_t port = kPort) {
  return IsOwnAddress(options, kPort, {host, port});
}

TEST(OwnAddressTest, AServerIsWhereItListens) {
  const Options options = ListeningOn({"127.0.0.2", "::1"});
  EXPECT_TRUE(IsOwn(options, "127.0.0.2"));
  EXPECT_TRUE(IsOwn(options, "::1"));
  EXPECT_TRUE(IsOwn(options, "localhost"));
  EXPECT_FALSE(IsOwn(options, "127.0.0.1"));
  EXPECT_FALSE(IsOwn(options, "127.0.0.2", 7380));
  EXPECT_FALSE(IsOwn(options, "weir.internal"));
  EXPECT_FALSE(IsOwn(ListeningOn({"127.0.0.2"}), "localhost"));
}

TEST(OwnAddressTest, AnOwnAddressIsOwnInEverySpelling) {
  const Options options = ListeningOn({"127.0.0.1"});
  for (const char* own : {"127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "0.0.0.0",
                          "0", "::ffff:127.0.0.1", "::FFFF:7f00:1", "::ffff:0.0.0.0", "localhost",
                          "LocalHost", "localhost."}) {
    EXPECT_TRUE(IsOwn(options, own)) << own;
  }
  for (const char* other : {"127.0.0.2", "::1", "::", "::ffff:127.0.0.2", "localhost.example"}) {
    EXPECT_FALSE(IsOwn(options, other)) << other;
  }
  const Options six = ListeningOn({"::1"});
  for (const char* own : {"::1", "::", "0:0:0:0:0:0:0:1", "localhost"}) {
    EXPECT_TRUE(IsOwn(six, own)) << own;
  }
  EXPECT_FALSE(IsOwn(six, "0.0.0.0"));
  EXPECT_FALSE(IsOwn(ListeningOn({"192.0.2.1"}), "0.0.0.0")) << "0.0.0.0 is loopback";
  for (const char* own : {"0.0.0.0", "127.255.255.254", "::ffff:127.3.2.1"}) {
    EXPECT_TRUE(IsOwn(ListeningOn({"0.0.0.0"}), own)) << own;
  }
}

TEST(OwnAddressTest, AllAddressesOfTheHostAreOwn) {
  const Options options = ListeningOn({"0.0.0.0"});
  EXPECT_TRUE(IsOwn(options, "127.0.0.1"));
  EXPECT_TRUE(IsOwn(options, "127.0.0.5"));
  EXPECT_FALSE(IsOwn(options, "::1")) << "0.0.0.0 is of IPv4 only";
  EXPECT_FALSE(IsOwn(options, "192.0.2.1")) << "an address that no host has";
}

TEST(OwnAddressTest, ThePortForTlsIsOwn) {
  Options options = ListeningOn({"127.0.0.1"});
  EXPECT_FALSE(IsOwn(options, "127.0.0.1", 7380));
  options.tls_port = 7380;
  EXPECT_TRUE(IsOwn(options, "127.0.0.1", 7380));
}

TEST(OwnAddressTest, AnAnnouncedPortIsOwn) {
  Options options = ListeningOn({"127.0.0.1"});
  options.replica_announce_port = 443;
  EXPECT_TRUE(IsOwn(options, "127.0.0.1", 443));
  EXPECT_FALSE(IsOwn(options, "127.0.0.2", 443));
}

TEST(OwnAddressTest, AnAnnouncedAddressIsOwn) {
  Options options = ListeningOn({"127.0.0.1"});
  options.replica_announce_ip = {"weir.internal"};
  EXPECT_TRUE(IsOwn(options, "weir.internal"));
  EXPECT_FALSE(IsOwn(options, "weir.internal", 443));
  options.replica_announce_port = 443;
  EXPECT_FALSE(IsOwn(options, "weir.internal"));
  EXPECT_TRUE(IsOwn(options, "weir.internal", 443));
}

}  // namespace
}  // namespace weir
