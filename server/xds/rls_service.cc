#include "server/xds/rls_service.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "server/health/add_event.h"
#include "server/os/log.h"
#include "server/xds/kept_response.h"

namespace weir {

absl::Status RlsService::Start() {
  if (rules() == nullptr) return absl::OkStatus();
  if (!has_xds()) return rules_.Load();
  if (services_.options.rls_xds_tls) WEIR_RETURN_IF_ERROR(LoadTls());
  if (services_.options.keeps_state()) UseKept();
  return absl::OkStatus();
}

absl::Status RlsService::LoadTls() {
  if (!KeepTlsKeysOutOfDumps()) spdlog::warn("cannot keep the TLS key out of core dumps");
  absl::StatusOr<TlsContext> loaded = TlsContext::LoadForControlPlane(services_.options);
  if (!loaded.ok()) return loaded.status();
  const bool has_expired = loaded->is_expired();
  if (has_expired && !std::exchange(has_expired_, has_expired)) {
    spdlog::warn("the TLS certificate {} has expired",
                 EscapedForLog(services_.options.rls_xds_cert));
  }
  tls_.Replace(*std::move(loaded));
  return absl::OkStatus();
}

void RlsService::RefreshTls() {
  if (!services_.options.rls_xds_tls) return;
  const std::string mistake(StdView(LoadTls().message()));
  if (!mistake.empty() && mistake != tls_mistake_) {
    spdlog::error("the TLS files of rls-xds are unchanged: {}", EscapedForLog(mistake));
  }
  tls_mistake_ = mistake;
}

void RlsService::UseKept() {
  const absl::StatusOr<std::optional<std::string>> kept =
      ReadKeptResponse(services_.options.data_dir);
  if (kept.ok() && !*kept) return;
  absl::StatusOr<XdsResponse> response = kept.ok() ? ReadXdsResponse(**kept) : kept.status();
  const absl::Status used = response.ok()
                                ? rules_.Replace(std::move(response->rules), RulesFrom::kXdsSaved)
                                : response.status();
  if (!used.ok()) {
    return spdlog::warn("there are no rules until the control plane sends them: {}",
                        EscapedForLog(StdView(used.message())));
  }
  services_.xds.set_version(response->version);
  spdlog::info("read the last rules of the control plane: version {}",
               EscapedForLog(response->version));
}

absl::Status RlsService::Begin() {
  if (rules() == nullptr) return absl::OkStatus();
  absl::Status made = services_.is_replica() ? absl::OkStatus() : rules_.MakePolicies();
  if (!has_xds()) return made;
  // A control plane may send other rules, and an operator can mend what is wrong while it runs.
  // Each Look tries again, and shows the reason.
  if (!made.ok()) {
    spdlog::warn("the last rules of the control plane are not in force: {}",
                 EscapedForLog(StdView(made.message())));
  }
  client_.emplace(
      control_, services_, services_.options.rls_xds_tls ? &tls_ : nullptr,
      [this](XdsResponse& response, std::string_view message) { return Use(response, message); },
      [this] { RefreshTls(); });
  client_->Start();
  return absl::OkStatus();
}

absl::Status RlsService::Use(XdsResponse& response, std::string_view message) {
  WEIR_RETURN_IF_ERROR(rules_.Replace(std::move(response.rules), RulesFrom::kXds));
  if (services_.xds.version() != response.version) {  // Each new connection brings the rules again.
    AddEvent(services_, ServerEventKind::kPolicy, "",
             absl::StrCat("read the rules of the control plane: version ", response.version));
  }
  if (services_.options.keeps_state()) Keep(message);
  return absl::OkStatus();
}

// The disk may be slow, and this thread keeps the server's role.
void RlsService::Keep(std::string_view message) {
  const auto fingerprint = services_.limiter.hasher().FingerprintOf(message);
  if (kept_ == fingerprint && is_kept_->load()) return;  // as after each new connection
  kept_ = fingerprint;
  is_kept_->store(false);
  const auto keep = [directory = services_.options.data_dir, text = std::string(message),
                     is_kept = is_kept_] {
    const absl::Status kept = KeepResponse(directory, text);
    is_kept->store(kept.ok());
    if (!kept.ok()) spdlog::warn("{}", EscapedForLog(StdView(kept.message())));
  };
  const absl::Status begun = services_.run_aside(keep, [] {});
  if (!begun.ok()) {
    spdlog::warn("the rules of the control plane are not kept on disk: {}",
                 EscapedForLog(StdView(begun.message())));
  }
}

void RlsService::Look() {
  if (rules() != nullptr) rules_.Look();
}

void RlsService::Reload() {
  if (rules() == nullptr) return;
  if (!has_xds()) return ReloadRules(rules_);
  if (!services_.options.rls_xds_tls) return;
  const absl::Status loaded = LoadTls();
  if (loaded.ok()) return spdlog::info("received SIGHUP: read the TLS files of rls-xds again");
  spdlog::error("received SIGHUP: the TLS files of rls-xds are unchanged: {}",
                EscapedForLog(StdView(loaded.message())));
}

void RlsService::Stop() {
  if (client_) client_->Stop();
}

}  // namespace weir
