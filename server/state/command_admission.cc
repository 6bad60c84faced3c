#include "server/state/command_admission.h"

#include <optional>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/commands/command_spec.h"

namespace weir {
namespace {

absl::Status Unavailable(std::string_view error) { return absl::UnavailableError(AbslView(error)); }

}  // namespace

std::string CannotSave(std::string_view reason) {
  return absl::StrCat("MISCONF cannot save to disk: ", AbslView(reason));
}

absl::Status CommandAdmission::ChangeError() const {
  if (lacks_replicas()) return Unavailable(kNoReplicasError);
  if (!cannot_save()) return absl::OkStatus();
  return absl::UnavailableError(CannotSave(state_->status().error));
}

// The errors come in this order: PING's own, so that Sentinel sees that the server is out of order;
// that there is no state yet; that nothing may change here; that the state may be old.
absl::Status CommandAdmission::StateErrorOf(std::uint32_t flags) const {
  if ((flags & kProbe) != 0 && !is_primary()) {
    const PingRefusal why = replication_->ping_refusal();
    if (why == PingRefusal::kHandedOver) return absl::UnavailableError(HandedOverError());
    if (why == PingRefusal::kRestarted) return Unavailable(kRestartedError);
    if (role() == ServerRole::kDeposed) return Unavailable(kDeposedError);
  }
  const bool needs_state = (flags & kLoading) == 0;
  if (role() == ServerRole::kEdge) {
    return needs_state ? Unavailable(kEdgeError) : absl::OkStatus();
  }
  if (needs_state && loading()) return Unavailable(kLoadingError);
  if (needs_state && syncing()) return Unavailable(kSyncingError);
  if (is_primary()) return absl::OkStatus();
  if (gated()) return needs_state ? Unavailable(kGatedError) : absl::OkStatus();
  const bool changes = (flags & kWrite) != 0;
  if (role() != ServerRole::kReplica) {
    return changes ? Unavailable(kDeposedError) : absl::OkStatus();
  }
  if (changes) return Unavailable(kReadOnlyError);
  const bool is_look = (flags & kReadOnly) != 0 && needs_state;
  if (!is_look || replication_->is_link_up()) return absl::OkStatus();
  const bool serves = settings_.Get(&Options::replica_serve_stale_data);
  return serves ? absl::OkStatus() : Unavailable(kMasterDownError);
}

std::string CommandAdmission::HandedOverError() const {
  const std::optional<LinkStatus> link = replication_->status().link;
  const HostAndPort successor = link ? link->primary : HostAndPort{};
  return absl::StrCat(AbslView(kHandedOverError), successor.host, ":", successor.port);
}

}  // namespace weir
