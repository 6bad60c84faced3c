// The state that all threads of the server share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/commands/explicit_time.h"
#include "core/commands/limit_totals.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
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
#include "server/session/http2_counters.h"
#include "server/session/observers.h"
#include "server/session/open_waits.h"
#include "server/session/pause.h"
#include "server/session/server_totals.h"
#include "server/state/command_admission.h"
#include "server/state/reference_counters.h"
#include "server/state/replication.h"
#include "server/state/rls_counters.h"
#include "server/state/state_on_disk.h"
#include "server/state/xds_status.h"

namespace weir {

class HealthWatch;
struct Worker;

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
  // Replaces the policy file's policies by these, and logs which policies are retired. Without
  // rules it concerns those of rules, too, which an earlier run has made.
  absl::Status ReplacePolicyFile(const PolicyFile& file) {
    return ReplacePolicies(file, options.serves_rls() ? FilePart::kOthers : FilePart::kAll);
  }
  // Likewise those that are made from rules.
  absl::Status ReplaceRulePolicies(const PolicyFile& policies_of_rules) {
    return ReplacePolicies(policies_of_rules, FilePart::kRules);
  }

  [[nodiscard]] bool is_replica() const noexcept {
    return replication && replication->is_replica();
  }
  [[nodiscard]] bool is_primary() const noexcept {
    return !replication || replication->role() == ServerRole::kPrimary;
  }
  [[nodiscard]] ReplicationStatus replication_status() const {
    return replication ? replication->status() : ReplicationStatus{};
  }
  // True while the last save has failed.
  [[nodiscard]] bool is_save_failing() const noexcept { return state && state->is_failing(); }
  // What may run now. To be asked each time, since it is of the present state.
  [[nodiscard]] CommandAdmission admission() const noexcept {
    return {settings, clock, state, replication};
  }
  // To be called after a turn that has changed something. Two relaxed loads, most of the time;
  // until there was a first bucket, about 10 us.
  void RequestReplicationTick() {
    if (!replication) return;
    if (!replication->had_buckets() && upkeep.size().buckets > 0) replication->set_had_buckets();
    replication->RequestTickIfIdle();
  }

  Mutex reload_mutex;  // orders reloads, so that the file read last is in force
  std::uint64_t readings_begun ABSL_GUARDED_BY(reload_mutex) = 0;
  std::uint64_t reading_used ABSL_GUARDED_BY(reload_mutex) = 0;

  const Options options;  // as they were at the start
  Settings settings;      // the options that may change while the server runs
  const Clock& clock;
  Limiter& limiter;
  LimiterUpkeep upkeep{limiter.table()};
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
  // The time, in us, at which this server became a primary; 0 until then, and in tests. What
  // RL.SLICE tells as `changes` begins there, so that it is greater than all that the last run or
  // the last primary has told, also where that had changes that are lost.
  std::atomic<std::uint64_t> first_operator_change{0};
  ThreadCounters main_counters;    // of the thread that accepts connections
  AddressThrottle login_throttle;  // for lines about wrong passwords
  LogThrottle foreign_throttle;    // for lines about peers that speak another protocol
  LogThrottle http2_throttle;      // for lines about floods over HTTP/2
  Http2Counters http2;
  RlsCounters rls;
  XdsStatus xds;
  ReferenceCounters rls_reference{static_cast<std::size_t>(options.metrics_max_limits)};

 private:
  absl::Status ReplacePolicies(const PolicyFile& file, FilePart part);
};

}  // namespace weir
