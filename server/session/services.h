// The state that all threads of the server share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/commands/explicit_time.h"
#include "core/commands/limit_totals.h"
#include "core/limiter/limiter.h"
#include "core/limiter/sweeper.h"
#include "core/policies/policies.h"
#include "core/policies/policy_file.h"
#include "server/access/access_list.h"
#include "server/access/access_log.h"
#include "server/config/options.h"
#include "server/config/settings.h"
#include "server/observe/channels.h"
#include "server/observe/client_memory.h"
#include "server/observe/client_registry.h"
#include "server/observe/outbox.h"
#include "server/observe/thread_counters.h"
#include "server/os/address_throttle.h"
#include "server/os/log.h"
#include "server/session/observers.h"
#include "server/session/open_waits.h"
#include "server/session/pause.h"
#include "server/session/server_totals.h"
#include "server/state/replication.h"
#include "server/state/state_on_disk.h"

namespace weir {

class HealthWatch;
struct Worker;

// The errors of commands that the server does not run in its present state: it loads its state, is
// a replica, has lost its primary (replica-serve-stale-data), is deposed, or waits for Sentinel.
// Clients match on the first word.
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
// Of PING, under Sentinel.
inline constexpr std::string_view kHandedOverError = "HANDEDOVER to ";  // and host:port
inline constexpr std::string_view kRestartedError =
    "RESTARTED this server has crashed, or has no state: it waits for a failover or for REPLICAOF "
    "NO ONE";

// The errors of a request that waits when its server stops, or becomes a replica.
inline constexpr std::string_view kClosingWaitError = "UNBLOCKED the server is shutting down";
inline constexpr std::string_view kDemotedWaitError = "UNBLOCKED this server is a replica now";

// The error of a request that would be admitted, or change something, while the primary has too few
// replicas (min-replicas-to-write, ack-replicas).
inline constexpr std::string_view kNoReplicasError =
    "NOREPLICAS Not enough good replicas to write.";

// The error for a change that cannot be saved.
[[nodiscard]] std::string CannotSave(std::string_view reason);

// A browser or a scanner tries again and again, so one log line in this time is enough.
inline constexpr Nanos kForeignLogInterval = std::chrono::minutes{1};

// Every member is immutable or thread-safe, except `workers`, which is filled before the first
// session starts.
struct Services {
  Services(const Options& server_options, const Clock& server_clock, Limiter& server_limiter);

  // The number of buckets for DBSIZE and INFO: all stored buckets, including full ones that are not
  // swept yet. With --allow-explicit-time nothing is swept, so only buckets that are not full
  // count. Cost: about 10 us; with --allow-explicit-time, scans the table.
  [[nodiscard]] std::size_t CountBuckets(Instant now) const;

  struct PolicyReading {
    PolicyFile file;
    std::uint64_t number = 0;  // in the order of their beginnings
  };
  // Read the policy file again, and use what was read, unless a reading that began later is in use.
  // Fail and change nothing if there is no file, if it has no policy (it may be half written), or
  // if it has a mistake.
  absl::Status Read(PolicyReading& reading);
  absl::Status Use(const PolicyReading& reading);
  absl::Status ReloadPolicies();  // does both
  // Replaces the file's policies by these, and logs which policies are retired.
  absl::Status ReplacePolicyFile(const PolicyFile& file);

  // True while the state is being loaded from disk: most commands are refused.
  [[nodiscard]] bool loading() const noexcept { return state && state->loading(); }
  [[nodiscard]] bool is_replica() const noexcept {
    return replication && replication->is_replica();
  }
  [[nodiscard]] bool is_primary() const noexcept {
    return !replication || replication->role() == ServerRole::kPrimary;
  }
  // True while the server waits for Sentinel at its start: most commands are refused.
  [[nodiscard]] bool gated() const noexcept {
    return replication && replication->role() == ServerRole::kGated;
  }
  // True while a replica has no whole state yet: most commands are refused.
  [[nodiscard]] bool syncing() const noexcept {
    return is_replica() && !replication->is_complete();
  }
  // To be called after a turn that has changed something. Two relaxed loads, most of the time;
  // until there was a first bucket, about 10 us.
  void WakeReplication() {
    if (!replication) return;
    if (!replication->had_buckets() && limiter.size().buckets > 0) replication->NoteBuckets();
    replication->Wake();
  }
  // True if most commands are refused for one of these reasons.
  [[nodiscard]] bool is_preparing() const noexcept { return loading() || syncing() || gated(); }
  [[nodiscard]] ReplicationStatus replication_status() const {
    return replication ? replication->status() : ReplicationStatus{};
  }
  // True for a primary that has loaded its state; then StateError is empty. It costs two relaxed
  // loads.
  [[nodiscard]] bool is_serving() const noexcept { return !loading() && is_primary(); }
  // Returns whether a command with these flags (CommandFlags) may run in the server's present
  // state. The message of an error is the whole line, with its prefix.
  [[nodiscard]] absl::Status StateError(std::uint32_t flags) const {
    return is_serving() ? absl::OkStatus() : StateErrorOf(flags);
  }
  // True while changes are refused. On a primary that needs no replicas and saves no change at once
  // it costs a relaxed load; where replicas are needed, it reads the clock, which says more than
  // the execution time of a turn that was stopped in the middle.
  [[nodiscard]] bool refuses_changes() const noexcept { return lacks_replicas() || cannot_save(); }
  // Returns whether a change may be made, with messages as above.
  [[nodiscard]] absl::Status ChangeError() const;
  // True while too few replicas are good. Of no meaning on a replica.
  [[nodiscard]] bool lacks_replicas() const noexcept {
    if (!replication) return false;
    const Instant until = replication->admits_until();
    return until != kInstantMax && clock.Now() >= until;
  }
  // The number of replicas that must acknowledge a change, just made, before its reply leaves:
  // ack-replicas; or, if the lease has ended since the change was let in, those of the lease, since
  // one of them may be a primary by now. One relaxed load where no replicas are needed.
  [[nodiscard]] std::size_t acks_needed() const noexcept {
    if (!replication || replication->admits_until() == kInstantMax) return 0;
    const std::int64_t acks = settings.Get(&Options::ack_replicas);
    const bool has_lease = acks > 0 || !lacks_replicas();
    return static_cast<std::size_t>(has_lease ? acks
                                              : settings.Get(&Options::min_replicas_to_write));
  }
  // True while the last save has failed.
  [[nodiscard]] bool is_save_failing() const noexcept { return state && state->is_failing(); }
  // True while changes must be saved and cannot be.
  [[nodiscard]] bool cannot_save() const noexcept {
    return state && state->writes_blocked() &&
           settings.Get(&Options::on_persist_error) == OnPersistError::kRefuse;
  }

  Mutex reload_mutex;  // orders reloads, so that the file read last is in force
  std::uint64_t readings_begun ABSL_GUARDED_BY(reload_mutex) = 0;
  std::uint64_t reading_used ABSL_GUARDED_BY(reload_mutex) = 0;

  const Options options;  // as they were at the start
  Settings settings;      // the options that may change while the server runs
  const Clock& clock;
  Limiter& limiter;
  Policies policies;
  ExplicitTime explicit_time;
  LimitTotals limit_totals;
  ServerTotals totals;
  Observers observers;
  Outboxes outboxes;
  Channels channels;
  ClientRegistry clients;
  ClientMemory client_memory;
  AccessList access;
  AccessLog access_log;
  Pause pause;
  Sweeper sweeper;
  const HostInstant started;
  const std::string run_id;  // 40 hex digits
  std::uint16_t port = 0;    // in use, set before the first session
  // These are set before the first session; any thread may call them.
  std::function<void(bool saves)> request_shutdown = [](bool) {};
  // Runs a long task, and then `done`, on a thread that serves no client (SideThread); here at
  // once. Fails if it runs neither.
  std::function<absl::Status(std::function<void()> task, std::function<void()> done)> run_aside =
      [](const std::function<void()>& task, const std::function<void()>& done) {
        task();
        done();
        return absl::OkStatus();
      };
  // The times by which the wall clock is ahead of the two hands of `clock`: that of decisions, and
  // that of the host.
  std::function<Nanos()> wall_clock_offset = [] { return Nanos{0}; };
  std::function<Nanos()> host_clock_offset = [] { return Nanos{0}; };
  StateOnDisk* state = nullptr;  // null: nothing is kept on disk; set before the first session
  // Null, in tests only: a primary that never has a replica. Set before the first session.
  Replication* replication = nullptr;
  HealthWatch* health_watch = nullptr;  // null, in tests only: the server is well; set as above
  std::vector<Worker*> workers;
  std::atomic<std::uint64_t> waiters{0};  // sessions that have a Waiter
  OpenWaits open_waits{limiter};          // those in RL.WAIT
  ThreadCounters main_counters;           // of the thread that accepts connections
  AddressThrottle login_throttle;         // for lines about wrong passwords
  LogThrottle foreign_throttle;           // for lines about peers that speak another protocol

 private:
  [[nodiscard]] absl::Status StateErrorOf(std::uint32_t flags) const;
  [[nodiscard]] std::string HandedOverError() const;
};

}  // namespace weir
