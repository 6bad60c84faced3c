// Whether a command may run in the server's present state, and whether a change may be made.
//
//     const CommandAdmission admission = services.admission();
//     if (absl::Status why = admission.StateError(spec.flags); !why.ok()) ... answer its message
//
// A value of four pointers, to be made where it is asked. Thread-safe. Errors are for clients: the
// message is the whole line, with its prefix, and clients match on the first word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "server/config/options.h"
#include "server/config/settings.h"
#include "server/state/replication.h"
#include "server/state/state_on_disk.h"

namespace weir {

// The errors of commands that the server does not run in its present state: it loads its state, is
// a replica, has lost its primary (replica-serve-stale-data), is deposed, or waits for Sentinel.
inline constexpr std::string_view kLoadingError = "LOADING weir is loading its state from disk";
inline constexpr std::string_view kSyncingError =
    "LOADING weir is loading its state from its primary";
inline constexpr std::string_view kGatedError =
    "LOADING weir waits for Sentinel to say which server is the primary";
inline constexpr std::string_view kReadOnlyError =
    "READONLY You can't write against a read only replica.";
inline constexpr std::string_view kMasterDownError =
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
inline constexpr std::string_view kDeposedError =
    "READONLY another server has become the primary in a later term";
// The answer of an edge to requests over HTTP.
inline constexpr std::string_view kEdgeError =
    "EDGE this server is an edge, and decides over the Redis protocol only";
// Of PING, under Sentinel.
inline constexpr std::string_view kHandedOverError = "HANDEDOVER to ";  // and host:port
inline constexpr std::string_view kRestartedError =
    "RESTARTED this server has crashed, or has no state: it waits for a failover or for REPLICAOF "
    "NO ONE";

// The error of a request that would be admitted, or change something, while the primary has too few
// replicas (min-replicas-to-write, ack-replicas).
inline constexpr std::string_view kNoReplicasError =
    "NOREPLICAS Not enough good replicas to write.";

// The error for a change that cannot be saved.
[[nodiscard]] std::string CannotSave(std::string_view reason);

class CommandAdmission {
 public:
  // `state` is null if nothing is kept on disk, `replication` for a primary that never has a
  // replica. All must outlive this object.
  CommandAdmission(const Settings& settings, const Clock& clock, const StateOnDisk* state,
                   const Replication* replication)
      : settings_(settings), clock_(clock), state_(state), replication_(replication) {}

  // --- The state ---

  // True while the state is being loaded from disk: most commands are refused.
  [[nodiscard]] bool loading() const noexcept { return state_ && state_->loading(); }
  // True while the server waits for Sentinel at its start: most commands are refused.
  [[nodiscard]] bool gated() const noexcept { return role() == ServerRole::kGated; }
  // True while a replica has no whole state yet: most commands are refused.
  [[nodiscard]] bool syncing() const noexcept {
    return role() == ServerRole::kReplica && !replication_->is_complete();
  }
  // True if most commands are refused for one of these reasons.
  [[nodiscard]] bool is_preparing() const noexcept { return loading() || syncing() || gated(); }
  // True for a primary that has loaded its state; then StateError is OK. It costs two relaxed
  // loads.
  [[nodiscard]] bool is_serving() const noexcept { return !loading() && is_primary(); }
  // Returns whether a command with these flags (CommandFlags) may run in the server's present
  // state.
  [[nodiscard]] absl::Status StateError(std::uint32_t flags) const {
    return is_serving() ? absl::OkStatus() : StateErrorOf(flags);
  }

  // --- Changes ---

  // True while changes are refused. On a primary that needs no replicas and saves no change at once
  // it costs a relaxed load; where replicas are needed, it reads the clock, which says more than
  // the execution time of a turn that was stopped in the middle.
  [[nodiscard]] bool refuses_changes() const noexcept { return lacks_replicas() || cannot_save(); }
  // Returns whether a change may be made.
  [[nodiscard]] absl::Status ChangeError() const;
  // True while too few replicas are good. Of no meaning on a replica.
  [[nodiscard]] bool lacks_replicas() const noexcept {
    if (!replication_) return false;
    const Instant until = replication_->admits_until();
    return until != kInstantMax && clock_.Now() >= until;
  }
  // True while changes must be saved and cannot be.
  [[nodiscard]] bool cannot_save() const noexcept {
    return state_ && state_->writes_blocked() &&
           settings_.Get(&Options::on_persist_error) == OnPersistError::kRefuse;
  }
  // The number of replicas that must acknowledge a change, just made, before its reply leaves:
  // ack-replicas; or, if the lease has ended since the change was let in, those of the lease, since
  // one of them may be a primary by now. One relaxed load where no replicas are needed.
  [[nodiscard]] std::size_t acks_needed() const noexcept {
    if (!replication_ || replication_->admits_until() == kInstantMax) return 0;
    const std::int64_t acks = settings_.Get(&Options::ack_replicas);
    const bool has_lease = acks > 0 || !lacks_replicas();
    return static_cast<std::size_t>(has_lease ? acks
                                              : settings_.Get(&Options::min_replicas_to_write));
  }

 private:
  [[nodiscard]] ServerRole role() const noexcept {
    return replication_ ? replication_->role() : ServerRole::kPrimary;
  }
  [[nodiscard]] bool is_primary() const noexcept { return role() == ServerRole::kPrimary; }
  [[nodiscard]] absl::Status StateErrorOf(std::uint32_t flags) const;
  [[nodiscard]] std::string HandedOverError() const;

  const Settings& settings_;
  const Clock& clock_;
  const StateOnDisk* const state_;
  const Replication* const replication_;
};

}  // namespace weir
