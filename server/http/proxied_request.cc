#include "server/http/proxied_request.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "protocol/http_target.h"

namespace weir {
namespace {

using Value = ProxiedRequest::Value;

std::string_view Trimmed(std::string_view text) {
  return StdView(absl::StripAsciiWhitespace(AbslView(text)));
}

Value IfAny(Value value) {
  if (value && value->empty()) value.reset();
  return value;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, absl::ascii_isdigit);
}

// The address in "[address]", "[address]:port", "a.b.c.d:port", or the text itself; empty for a
// bracket that is not closed, and for a port that is none.
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
  const bool is_port = port.empty() || (port.front() == ':' && IsDigits(port.substr(1)));
  return is_port ? text : std::string_view();
}

void AppendPrinted(int family, const void* bytes, std::string& out) {
  std::array<char, INET6_ADDRSTRLEN> printed;
  WEIR_CHECK(inet_ntop(family, bytes, printed.data(), printed.size()) != nullptr);
  out.append(printed.data());
}

}  // namespace

bool AppendAddress(std::string_view text, int ipv6_bits, std::string& out) {
  WEIR_DCHECK(ipv6_bits >= 1);
  WEIR_DCHECK(ipv6_bits <= kIpv6BitsMax);
  std::string_view address = WithoutPort(text);
  const bool is_ipv6 = address.find(':') != std::string_view::npos;
  if (is_ipv6) address = address.substr(0, address.find('%'));
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (address.size() >= terminated.size()) return false;
  if (address.find('\0') != std::string_view::npos) return false;
  std::ranges::copy(address, terminated.begin());
  if (!is_ipv6) {
    in_addr ipv4;
    if (inet_pton(AF_INET, terminated.data(), &ipv4) != 1) return false;
    AppendPrinted(AF_INET, &ipv4, out);
    return true;
  }
  in6_addr ipv6;
  if (inet_pton(AF_INET6, terminated.data(), &ipv6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&ipv6)) {
    AppendPrinted(AF_INET, &ipv6.s6_addr[12], out);
    return true;
  }
  for (int byte = 0; byte < 16; ++byte) {
    const int kept = std::clamp(ipv6_bits - 8 * byte, 0, 8);
    ipv6.s6_addr[byte] &= static_cast<std::uint8_t>(0xFF00U >> static_cast<unsigned>(kept));
  }
  AppendPrinted(AF_INET6, &ipv6, out);
  return true;
}

// The entry of X-Forwarded-For that `ip_hops` asks for. Several fields are one list.
Value ProxiedRequest::ForwardedFor() const {
  int hop = form_.ip_hops;
  for (std::size_t i = head_.fields.size(); i-- > 0;) {
    if (!absl::EqualsIgnoreCase(AbslView(head_.fields[i].name), "X-Forwarded-For")) continue;
    std::string_view rest = head_.fields[i].value;
    while (true) {
      const std::size_t comma = rest.rfind(',');
      if (--hop == 0) return Trimmed(rest.substr(comma == std::string_view::npos ? 0 : comma + 1));
      if (comma == std::string_view::npos) break;
      rest = rest.substr(0, comma);
    }
  }
  return std::nullopt;
}

Value ProxiedRequest::Ip(std::string& scratch) const {
  const Value entry = ForwardedFor();
  scratch.clear();
  if (!entry || !AppendAddress(*entry, form_.ipv6_bits, scratch)) return std::nullopt;
  return scratch;
}

Value ProxiedRequest::Header(std::string_view name) const { return IfAny(head_.Field(name)); }

Value ProxiedRequest::Method() const {
  switch (form_.original) {
    case OriginalRequest::kXForwarded:
      return Header("X-Forwarded-Method");
    case OriginalRequest::kXOriginal:
      return Header("X-Original-Method");
    case OriginalRequest::kPath:
      break;
  }
  return head_.method;
}

Value ProxiedRequest::Host() const {
  if (form_.original == OriginalRequest::kPath) return IfAny(head_.host);
  if (form_.original == OriginalRequest::kXForwarded) return Header("X-Forwarded-Host");
  if (const Value host = Header("X-Original-Host")) return host;
  const Value url = Header("X-Original-URL");
  const std::optional<HttpTarget> target = url ? SplitTarget(*url) : std::nullopt;
  return target ? IfAny(target->host) : std::nullopt;
}

Value ProxiedRequest::Path() const {
  if (form_.original == OriginalRequest::kPath) return below_.empty() ? "/" : below_;
  Value uri = Header("X-Forwarded-Uri");
  if (form_.original == OriginalRequest::kXOriginal) {
    uri = Header("X-Original-URI");
    if (!uri) uri = Header("X-Original-URL");
  }
  const std::optional<HttpTarget> target = uri ? SplitTarget(*uri) : std::nullopt;
  return target ? IfAny(target->path) : std::nullopt;
}

Value ProxiedRequest::Segment(int number) const {
  WEIR_DCHECK(number >= 1);
  const Value path = Path();
  if (!path) return std::nullopt;
  std::string_view rest = *path;
  for (int i = 0; i < number; ++i) {
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(slash + 1);
  }
  return IfAny(rest.substr(0, rest.find('/')));
}

Value ProxiedRequest::Cookie(std::string_view name) const {
  for (const HttpField& field : head_.fields) {
    if (!absl::EqualsIgnoreCase(AbslView(field.name), "Cookie")) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      const std::string_view pair = Trimmed(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const std::size_t equals = pair.find('=');
      if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
        return IfAny(pair.substr(equals + 1));
      }
    }
  }
  return std::nullopt;
}

Value ProxiedRequest::Query(std::string_view name, std::string& scratch) const {
  for (QueryReader parameters(head_.query); parameters.Next();) {
    if (parameters.name() != name) {
      if (parameters.name().find('%') == std::string_view::npos) continue;
      scratch.clear();
      if (!AppendDecoded(parameters.name(), PlusMeans::kBlank, scratch) || scratch != name)
        continue;
    }
    scratch.clear();
    if (!AppendDecoded(parameters.value(), PlusMeans::kBlank, scratch)) return std::nullopt;
    return IfAny(scratch);
  }
  return std::nullopt;
}

}  // namespace weir
