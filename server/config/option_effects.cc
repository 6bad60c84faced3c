#include "server/config/option_effects.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"

namespace weir {
namespace {

bool KeepsState(const Options& options) { return options.keeps_state(); }
bool HasAdminPort(const Options& options) { return options.admin_port != 0; }
bool HasHttpPort(const Options& options) {
  return !options.http_port.ports.empty() || options.http_tls_port != 0;
}
bool HasHttp(const Options& options) { return options.serves_http(); }
bool HasRls(const Options& options) { return options.serves_rls(); }
bool HasXds(const Options& options) { return !options.rls_xds.servers.empty(); }
bool HasXdsTls(const Options& options) { return HasXds(options) && options.rls_xds_tls; }
bool HasTlsPort(const Options& options) {
  return options.tls_port != 0 || options.http_tls_port != 0;
}
bool HasTls(const Options& options) { return HasTlsPort(options) || options.replication_tls; }
bool HasUnixSocket(const Options& options) {
  return !options.unix_socket.empty() || !options.http_unix_socket.empty();
}

constexpr std::string_view kState = "a data-dir, and a durability other than none";
constexpr std::string_view kAdminPort = "an admin-port";
constexpr std::string_view kHttpPort = "an http-port or http-tls-port";
constexpr std::string_view kHttp = "an http-port, http-tls-port or http-unix-socket";
constexpr std::string_view kRls = "rls-config or rls-xds";
constexpr std::string_view kXds = "rls-xds";
constexpr std::string_view kXdsTls = "rls-xds and rls-xds-tls";
constexpr std::string_view kTlsPort = "a tls-port or http-tls-port";
constexpr std::string_view kTls = "a tls-port, http-tls-port or replication-tls";

constexpr auto kEffects = std::to_array<OptionEffect>({
    {"accept-damaged-state", KeepsState, kState},
    {"admin-bind", HasAdminPort, kAdminPort},
    {"admin-hosts", HasAdminPort, kAdminPort},
    {"backup-dir", KeepsState, kState},
    {"checks", HasHttp, kHttp},
    {"data-dir", KeepsState, "a durability other than none"},
    {"edge-away", [](const Options& options) { return options.is_edge(); },
     "the servers that it is an edge of: edge-of"},
    {"http-bind", HasHttpPort, kHttpPort},
    {"http-hosts", HasHttp, kHttp},
    {"http-max-connection-age", HasHttp, kHttp},
    {"max-hold", [](const Options& options) { return options.max_holds != 0; },
     "max-holds above 0"},
    {"metrics-max-limits", HasAdminPort, kAdminPort},
    {"on-persist-error",
     [](const Options& options) { return options.durability == Durability::kAlways; },
     "durability always"},
    {"open-checks", HasHttp, kHttp},
    {"port", [](const Options& options) { return !options.tls_only; }, "a server without tls-only"},
    {"reset-clock", KeepsState, kState},
    {"rls-headers", HasRls, kRls},
    {"rls-merge-domains", HasRls, kRls},
    {"rls-metadata", HasRls, kRls},
    {"rls-metrics", [](const Options& options) { return HasRls(options) && HasAdminPort(options); },
     "rls-config and an admin-port"},
    {"rls-quota", HasRls, kRls},
    {"rls-shadow", HasRls, kRls},
    {"rls-xds-ca", HasXdsTls, kXdsTls},
    {"rls-xds-cert", HasXdsTls, kXdsTls},
    {"rls-xds-headers", HasXds, kXds},
    {"rls-xds-headers-file", HasXds, kXds},
    {"rls-xds-key", HasXdsTls, kXdsTls},
    {"rls-xds-node", HasXds, kXds},
    {"rls-xds-node-metadata", HasXds, kXds},
    {"rls-xds-san", HasXdsTls, kXdsTls},
    {"rls-xds-tls", HasXds, kXds},
    {"sentinel-wait", [](const Options& options) { return !options.sentinel.empty(); },
     "the name of a group: sentinel"},
    {"server-name", HasAdminPort, kAdminPort},
    {"snapshot-interval", KeepsState, kState},
    {"tls-auth-clients", HasTlsPort, kTlsPort},
    {"tls-ca", HasTls, kTls},
    {"tls-cert", HasTls, kTls},
    {"tls-key", HasTls, kTls},
    {"unix-socket-perm", HasUnixSocket, "a unix-socket or http-unix-socket"},
});
static_assert(std::ranges::is_sorted(kEffects, {}, &OptionEffect::name));

}  // namespace

std::span<const OptionEffect> OptionEffects() noexcept { return kEffects; }

std::vector<std::string> OptionsWithoutEffect(const Options& options) {
  std::vector<std::string> sentences;
  for (const OptionSpec& spec : OptionTable()) {
    const auto row = std::ranges::find(kEffects, spec.name, &OptionEffect::name);
    if (row == kEffects.end() || row->has_effect(options)) continue;
    if (OptionText(spec, options) == spec.fallback) continue;
    sentences.push_back(absl::StrCat("option '", AbslView(spec.name),
                                     "' has no effect here: it needs ", AbslView(row->needs)));
  }
  return sentences;
}

}  // namespace weir
