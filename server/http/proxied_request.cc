#include "server/http/proxied_request.h"

#include <algorithm>
#include <cstddef>

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

}  // namespace

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
  if (!entry || !AppendClientNetwork(*entry, form_.ipv6_bits, scratch)) return std::nullopt;
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

Value ProxiedRequest::NormalPath(std::string& scratch) const {
  const Value path = Path();
  if (!path) return std::nullopt;
  scratch.clear();
  AppendNormalPath(*path, scratch);
  return scratch;
}

Value ProxiedRequest::SegmentOf(Value path, int number) {
  WEIR_DCHECK(number >= 1);
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
