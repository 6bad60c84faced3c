// Addresses of clients, and the networks that count as one: the same for all programs that read
// them (protocol/client_address.h).
#pragma once

#include <string_view>

namespace weir {

struct ClientNetwork {
  std::string_view address;
  std::string_view network;  // with 64 bits; empty for what is no address
};

inline constexpr ClientNetwork kClientNetworks[] = {
    {"192.0.2.7", "192.0.2.7"},
    {"192.0.2.7:1234", "192.0.2.7"},
    {"2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"},
    {"2001:db8:1:2::", "2001:db8:1:2::"},
    {"[2001:db8:1:2:3:4:5:6]", "2001:db8:1:2::"},
    {"[2001:DB8:1:2:3:4:5:6]:443", "2001:db8:1:2::"},
    {"fe80::1%eth0", "fe80::"},
    {"[fe80::1%25eth0]:80", "fe80::"},
    {"::", "::"},
    {"::1", "::"},
    // Mapped.
    {"::ffff:192.0.2.7", "192.0.2.7"},
    {"::FFFF:c000:0207", "192.0.2.7"},
    {"[::ffff:192.0.2.7]:80", "192.0.2.7"},
    {"0:0:0:0:0:ffff:c000:207", "192.0.2.7"},
    {"::fffe:c000:207", "::"},
    // Translated.
    {"64:ff9b::808:808", "8.8.8.8"},
    {"64:ff9b::909:909", "9.9.9.9"},
    {"64:FF9B::9.9.9.9", "9.9.9.9"},
    {"64:ff9b:0:1::808:808", "64:ff9b:0:1::"},
    {"64:ff9b:1::808:808", "64:ff9b:1::"},
    {"64:ff9b::1:808:808", "64:ff9b::"},
    {"::ffff:0:192.0.2.7", "192.0.2.7"},
    {"::ffff:1:c000:207", "::"},
    // 6to4.
    {"2002:c000:207::1", "192.0.2.7"},
    {"2002:c000:207:5:6:7:8:9", "192.0.2.7"},
    {"2003:c000:207::1", "2003:c000:207::"},
    // Compatible.
    {"::192.0.2.7", "192.0.2.7"},
    {"::2", "0.0.0.2"},
    {"::1:0:0:2", "::"},
    // No addresses.
    {"unknown", ""},
    {"host.example", ""},
    {"192.0.2.256", ""},
    {"192.0.2.7:http", ""},
    {"[::1", ""},
    {"2001:db8::1::2", ""},
};

}  // namespace weir
