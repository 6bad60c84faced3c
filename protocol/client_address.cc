#include "protocol/client_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "absl/strings/ascii.h"

#include "core/base/check.h"

namespace weir {
namespace {

using AnyAddress = std::variant<in_addr, in6_addr>;

bool IsPortNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, absl::ascii_isdigit);
}

// Returns the address in "[address]", "[address]:port" or "a.b.c.d:port", or the text itself; empty
// if a bracket is not closed, or if the port is invalid.
std::string_view WithoutPort(std::string_view text) {
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return {};
    port = text.substr(end + 1);
    text = text.substr(1, end - 1);
  } else if (std::ranges::count(text, ':') == 1) {
    port = text.substr(text.find(':'));
    text = text.substr(0, text.find(':'));
  }
  const bool is_port = port.empty() || (port.front() == ':' && IsPortNumber(port.substr(1)));
  return is_port ? text : std::string_view();
}

std::optional<AnyAddress> ReadAddress(std::string_view text) {
  std::string_view address = WithoutPort(text);
  const bool is_ipv6 = address.find(':') != std::string_view::npos;
  if (is_ipv6) address = address.substr(0, address.find('%'));
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (address.size() >= terminated.size()) return std::nullopt;
  if (address.find('\0') != std::string_view::npos) return std::nullopt;
  std::ranges::copy(address, terminated.begin());
  in_addr ipv4;
  in6_addr ipv6;
  if (!is_ipv6 && inet_pton(AF_INET, terminated.data(), &ipv4) == 1) return ipv4;
  if (is_ipv6 && inet_pton(AF_INET6, terminated.data(), &ipv6) == 1) return ipv6;
  return std::nullopt;
}

void AppendPrinted(int family, const void* bytes, std::string& out) {
  std::array<char, INET6_ADDRSTRLEN> printed;
  WEIR_CHECK(inet_ntop(family, bytes, printed.data(), printed.size()) != nullptr);
  out.append(printed.data());
}

// The bytes of the IPv4 address that an IPv6 address carries, or null.
const std::uint8_t* CarriedIpv4(const in6_addr& address) {
  using Prefix = std::array<std::uint8_t, 12>;
  constexpr Prefix kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr Prefix kTranslated = {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0};
  constexpr Prefix kNat64 = {0, 0x64, 0xff, 0x9b};
  constexpr Prefix kCompatible = {};
  const std::span<const std::uint8_t, 16> bytes(address.s6_addr);
  const auto begins_with = [&](const Prefix& prefix) {
    return std::ranges::equal(bytes.first<12>(), prefix);
  };
  const bool is_reserved = IN6_IS_ADDR_UNSPECIFIED(&address) || IN6_IS_ADDR_LOOPBACK(&address);
  if (begins_with(kMapped) || begins_with(kTranslated) || begins_with(kNat64) ||
      (begins_with(kCompatible) && !is_reserved)) {
    return &bytes[12];
  }
  return bytes[0] == 0x20 && bytes[1] == 0x02 ? &bytes[2] : nullptr;
}

}  // namespace

bool AppendAddress(std::string_view text, std::string& out) {
  const std::optional<AnyAddress> address = ReadAddress(text);
  if (!address) return false;
  if (const auto* const ipv4 = std::get_if<in_addr>(&*address)) {
    AppendPrinted(AF_INET, ipv4, out);
    return true;
  }
  const auto& ipv6 = std::get<in6_addr>(*address);
  if (IN6_IS_ADDR_V4MAPPED(&ipv6)) {
    AppendPrinted(AF_INET, &ipv6.s6_addr[12], out);
  } else {
    AppendPrinted(AF_INET6, &ipv6, out);
  }
  return true;
}

bool AppendClientNetwork(std::string_view text, int ipv6_bits, std::string& out) {
  WEIR_DCHECK(ipv6_bits >= 1);
  WEIR_DCHECK(ipv6_bits <= kIpv6BitsMax);
  std::optional<AnyAddress> address = ReadAddress(text);
  if (!address) return false;
  if (const auto* const ipv4 = std::get_if<in_addr>(&*address)) {
    AppendPrinted(AF_INET, ipv4, out);
    return true;
  }
  auto& ipv6 = std::get<in6_addr>(*address);
  if (const std::uint8_t* const ipv4 = CarriedIpv4(ipv6)) {
    AppendPrinted(AF_INET, ipv4, out);
    return true;
  }
  for (int byte = 0; byte < 16; ++byte) {
    const int kept = std::clamp(ipv6_bits - 8 * byte, 0, 8);
    ipv6.s6_addr[byte] &= static_cast<std::uint8_t>(0xFF00U >> static_cast<unsigned>(kept));
  }
  AppendPrinted(AF_INET6, &ipv6, out);
  return true;
}

}  // namespace weir
