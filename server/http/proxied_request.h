// The request of a user behind a proxy, as the proxy's request to weir tells of it: the user's
// address, and the method, host and path that the user asked for.
//
// A proxy passes on the fields of the user, who may write anything into them. So an address is
// counted from the right end of X-Forwarded-For, where the proxies write; and Authorization, which
// belongs to the user, is never read.
//
// The views point into the head; values with escapes are decoded into the caller's scratch. Pure.
// Cost: each function scans the fields, the path or the query once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/client_address.h"
#include "protocol/http_head.h"

namespace weir {

// The place where a proxy says what the user asked for.
enum class OriginalRequest : std::uint8_t {
  kXForwarded,  // X-Forwarded-Method, -Host, -Uri: Traefik, Caddy
  kXOriginal,   // X-Original-Method, -Host, -URI or -URL: nginx
  kPath,        // the method and the host of the request, the path below the route's: Envoy
};

inline constexpr int kIpHopsMax = 32;

struct ProxyForm {
  OriginalRequest original = OriginalRequest::kXForwarded;
  int ip_hops = 1;            // 1 to kIpHopsMax: the entry of X-Forwarded-For, from the right
  int ipv6_bits = kIpv6Bits;  // 1 to kIpv6BitsMax: the bits of an IPv6 address that count
};

class ProxiedRequest {
 public:
  using Value = std::optional<std::string_view>;

  // `below`: the rest of the path, behind the name of the route. Both must outlive the object.
  ProxiedRequest(const HttpHead& head, std::string_view below, const ProxyForm& form) noexcept
      : head_(head), below_(below), form_(form) {}

  // Each returns nothing if the request does not say it, or says an empty text.

  // The user's network (client_address.h).
  [[nodiscard]] Value Ip(std::string& scratch) const;
  [[nodiscard]] Value Method() const;
  [[nodiscard]] Value Host() const;
  // The path as sent, not decoded, without a query; and its normal form, which all its spellings
  // share (AppendNormalPath).
  [[nodiscard]] Value Path() const;
  [[nodiscard]] Value NormalPath(std::string& scratch) const;
  // A segment of such a path, the first one is 1: "/v1/users" has "v1" and "users".
  [[nodiscard]] static Value SegmentOf(Value path, int number);
  // The first field of this name.
  [[nodiscard]] Value Header(std::string_view name) const;
  // The first cookie of this name.
  [[nodiscard]] Value Cookie(std::string_view name) const;
  // The first parameter of this name in the query with which weir is asked, decoded.
  [[nodiscard]] Value Query(std::string_view name, std::string& scratch) const;

 private:
  [[nodiscard]] Value ForwardedFor() const;

  const HttpHead& head_;
  std::string_view below_;
  const ProxyForm& form_;
};

}  // namespace weir
