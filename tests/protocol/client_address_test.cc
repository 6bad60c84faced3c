// Goal: a client is one network, however its address is written, and whatever translator it came
// through. Method: a table that the tests of weir-replay and of the routes use, too; texts that are
// no address.
#include "protocol/client_address.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/protocol/client_networks.h"

namespace weir {
namespace {

std::string NetworkOf(std::string_view text, int ipv6_bits = kIpv6Bits) {
  std::string network = ">";
  return AppendClientNetwork(text, ipv6_bits, network) ? network : network + "none";
}

TEST(ClientAddressTest, TheNetworkOfEachForm) {
  for (const auto& [address, network] : kClientNetworks) {
    EXPECT_EQ(NetworkOf(address), network.empty() ? ">none" : absl::StrCat(">", AbslView(network)))
        << address;
  }
}

TEST(ClientAddressTest, AnAddressAloneIsPrinted) {
  for (const auto& [text, printed] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"192.0.2.7:80", "192.0.2.7"},
           {"[2001:DB8:0::5]:80", "2001:db8::5"},
           {"::ffff:192.0.2.7", "192.0.2.7"},
           {"64:ff9b::808:808", "64:ff9b::808:808"},
           {"2002:c000:207::1", "2002:c000:207::1"},
           {"::5", "::5"},
           {"weir", ""}}) {
    std::string address;
    EXPECT_EQ(AppendAddress(text, address), !printed.empty()) << text;
    EXPECT_EQ(address, printed);
  }
}

TEST(ClientAddressTest, WhatIsNoAddressIsRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv,
                                      "unknown"sv,
                                      "_hidden"sv,
                                      "unix:"sv,
                                      "192.0.2"sv,
                                      "192.0.2.256"sv,
                                      "192.0.2.07"sv,
                                      "192.0.2.7:"sv,
                                      "192.0.2.7:http"sv,
                                      "192.0.2.7 "sv,
                                      " 192.0.2.7"sv,
                                      "192.0.2.7%eth0"sv,
                                      "[192.0.2.7"sv,
                                      "[::1"sv,
                                      "[::1]80"sv,
                                      "[::1]:"sv,
                                      "::1]:80"sv,
                                      "2001:db8::1::2"sv,
                                      "192.0.2.7\0"sv,
                                      "::1\0"sv,
                                      "\xFF\xFE"sv,
                                      "\"[::1]\""sv,
                                      "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"sv}) {
    EXPECT_EQ(NetworkOf(text), ">none") << text;
  }
}

TEST(ClientAddressTest, BitsThatCount) {
  constexpr std::string_view kAll = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
  EXPECT_EQ(NetworkOf(kAll, 1), ">8000::");
  EXPECT_EQ(NetworkOf(kAll, 48), ">ffff:ffff:ffff::");
  EXPECT_EQ(NetworkOf(kAll, 60), ">ffff:ffff:ffff:fff0::");
  EXPECT_EQ(NetworkOf(kAll, 127), ">ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe");
  EXPECT_EQ(NetworkOf(kAll, 128), ">" + std::string(kAll));
  EXPECT_EQ(NetworkOf("192.0.2.7", 1), ">192.0.2.7");
  EXPECT_EQ(NetworkOf("64:ff9b::808:808", 1), ">8.8.8.8");
}

}  // namespace
}  // namespace weir
