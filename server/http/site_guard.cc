#include "server/http/site_guard.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"

#include "core/base/status.h"
#include "protocol/client_address.h"

namespace weir {
namespace {

bool IsPort(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Returns the host without the port and, for an IPv6 address, without the brackets; empty if the
// text is no host.
std::string_view NameOfHost(std::string_view host) {
  const bool in_brackets = host.starts_with('[');
  const std::size_t end = in_brackets ? host.find(']') : std::min(host.find(':'), host.size());
  if (end == std::string_view::npos) return {};
  const std::string_view rest = host.substr(in_brackets ? end + 1 : end);
  if (!rest.empty() && (rest.front() != ':' || !IsPort(rest.substr(1)))) return {};
  return in_brackets ? host.substr(1, end - 1) : host.substr(0, end);
}

// True if a name is localhost or in the list.
bool IsNamed(std::string_view name, const HostList& hosts) {
  const auto is_name = [&](std::string_view ours) {
    return absl::EqualsIgnoreCase(AbslView(ours), AbslView(name));
  };
  return is_name("localhost") || std::ranges::any_of(hosts.names, is_name);
}

}  // namespace

bool IsAdminHost(std::string_view host, const Options& options) {
  const std::string_view name = NameOfHost(host);
  if (name.empty()) return false;
  std::string address;
  if (!AppendAddress(name, address)) return IsNamed(name, options.admin_hosts);
  const auto is_address = [&](std::string_view ours) { return ours == address; };
  return std::ranges::any_of(options.admin_hosts.names, is_address) ||
         std::ranges::any_of(options.admin_bind, [&](std::string_view ours) {
           return is_address(ours) || ours == "0.0.0.0" || ours == "::";
         });
}

bool IsHttpHost(std::string_view host, const Options& options) {
  const std::string_view name = NameOfHost(host);
  if (name.empty()) return false;
  std::string address;
  return name.find('.') == std::string_view::npos || IsNamed(name, options.http_hosts) ||
         AppendAddress(name, address);
}

std::optional<SiteRefusal> RefusalOfSite(const HttpHead& head, const Options& options) {
  if (!IsHttpHost(head.host, options)) {
    return SiteRefusal{421, "ERR this is not the host's name: see the option http-hosts"};
  }
  if (head.Field("Origin") || !head.AllAre("Sec-Fetch-Site", "none")) {
    return SiteRefusal{403, "ERR a page in a browser needs a login to ask: see docs/http.md"};
  }
  return std::nullopt;
}

}  // namespace weir
