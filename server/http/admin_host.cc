#include "server/http/admin_host.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/match.h"

#include "core/base/status.h"
#include "server/http/proxied_request.h"

namespace weir {
namespace {

bool IsPort(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Without the port and, for an IPv6 address, the brackets; nothing for what is no host.
std::optional<std::string_view> WithoutPort(std::string_view host) {
  const bool in_brackets = host.starts_with('[');
  const std::size_t end = in_brackets ? host.find(']') : std::min(host.find(':'), host.size());
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view rest = host.substr(in_brackets ? end + 1 : end);
  if (!rest.empty() && (rest.front() != ':' || !IsPort(rest.substr(1)))) return std::nullopt;
  return in_brackets ? host.substr(1, end - 1) : host.substr(0, end);
}

}  // namespace

bool IsAdminHost(std::string_view host, const Options& options) {
  const std::optional<std::string_view> name = WithoutPort(host);
  if (!name || name->empty()) return false;
  const auto is_name = [&](std::string_view ours) {
    return absl::EqualsIgnoreCase(AbslView(ours), AbslView(*name));
  };
  if (is_name("localhost")) return true;
  std::string address;
  if (!AppendAddress(*name, kIpv6BitsMax, address)) {
    return std::ranges::any_of(options.admin_hosts.names, is_name);
  }
  const auto is_address = [&](std::string_view ours) { return ours == address; };
  return std::ranges::any_of(options.admin_hosts.names, is_address) ||
         std::ranges::any_of(options.admin_bind, [&](std::string_view ours) {
           return is_address(ours) || ours == "0.0.0.0" || ours == "::";
         });
}

}  // namespace weir
