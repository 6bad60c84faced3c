// The address of a client, as proxies and logs write it, and the network that counts as one client.
//
//     address = ipv4 [":" port] | ipv6 ["%" zone] | "[" ipv6 ["%" zone] "]" [":" port]
//
// A user may have a whole IPv6 network, so the first bits of an address count. But some IPv6
// addresses carry an IPv4 address, which is the client's: by their first bits, all clients behind a
// translator would be one client:
//
//     ::ffff:0:0/96      mapped, by a socket that takes both          ::ffff:192.0.2.7
//     ::ffff:0:0:0/96    translated without a table (RFC 7915)        ::ffff:0:192.0.2.7
//     64:ff9b::/96       translated by NAT64 (RFC 6052)               64:ff9b::192.0.2.7
//     2002::/16          of 6to4 (RFC 3056), in the 32 bits behind    2002:c000:207::1
//     ::/96              compatible (RFC 4291), but not :: and ::1    ::192.0.2.7
//
// Pure. Cost: about 100 ns. Tests: client_address_test.cc.
#pragma once

#include <string>
#include <string_view>

namespace weir {

inline constexpr int kIpv6BitsMax = 128;
inline constexpr int kIpv6Bits = 64;  // by default

// Appends the address as inet_ntop prints it, a mapped one as IPv4. Returns false, with nothing
// appended, if the text is no address.
[[nodiscard]] bool AppendAddress(std::string_view text, std::string& out);

// Appends the client's network likewise: the IPv4 address that the address is or carries, else the
// address with all but its first `ipv6_bits` bits set to 0. Requires: from 1 to kIpv6BitsMax.
[[nodiscard]] bool AppendClientNetwork(std::string_view text, int ipv6_bits, std::string& out);

}  // namespace weir
