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
#include "core/commands/limit_report.h"
#include "core/limiter/limiter.h"
#include "core/limiter/sweeper.h"
#include "core/words/policies.h"
#include "server/access/access_list.h"
#include "server/access/access_log.h"
#include "server/config/options.h"
#include "server/config/policy_file.h"
#include "server/config/settings.h"
#include "server/observe/client_memory.h"
#include "server/observe/client_registry.h"
#include "server/os/log.h"
#include "server/session/observers.h"
#include "server/session/pause.h"
#include "server/session/stats_report.h"
#include "server/state/state_on_disk.h"

namespace weir {

struct Worker;

// A browser or a scanner tries again and again, and one line says it all.
inline constexpr Nanos kForeignLogInterval = std::chrono::minutes{1};

// Every member is immutable or thread-safe, but for `workers`, which is
// filled before the first session starts.
struct Services {
  Services(const Options& server_options, const Clock& server_clock, Limiter& server_limiter);

  // The buckets that DBSIZE and INFO tell: those stored, full ones that are not swept yet included.
  // Where requests bring their own time nothing is swept, so there it is those that are not full.
  // Cost: locks every partition, about 100 us; there a scan of the table.
  [[nodiscard]] std::size_t CountBuckets(Instant now) const;

  // Reads the policy file again. Fails, with nothing changed, if there is none, if it has no policy
  // (it may be half written), or if it has a mistake.
  absl::Status ReloadPolicies();
  // Makes the file's policies just these, and logs which ones are retired thereby.
  absl::Status ReplacePolicyFile(const PolicyFile& file);

  // The state is being loaded: most commands have to wait.
  [[nodiscard]] bool loading() const noexcept { return state && state->loading(); }
  // It cannot be saved, and has to be: nothing may be changed.
  [[nodiscard]] bool refuses_changes() const noexcept {
    return state && state->writes_blocked() &&
           settings.Get(&Options::on_persist_error) == OnPersistError::kRefuse;
  }

  Mutex reload_mutex;  // so that of two reloads the later one's file is the one in force

  const Options options;  // of the start
  Settings settings;      // those that may have changed since
  const Clock& clock;
  Limiter& limiter;
  Policies policies;
  ExplicitTime explicit_time;
  LimitReport limit_report;
  StatsReport stats_report;
  Observers observers;
  ClientRegistry clients;
  ClientMemory client_memory;
  AccessList access;
  AccessLog access_log;
  Pause pause;
  Sweeper sweeper;
  const Instant started;
  const std::string run_id;  // 40 hex digits
  std::uint16_t port = 0;    // in use, set before the first session
  // Both set before the first session; any thread may call them.
  std::function<void(bool saves)> request_shutdown = [](bool) {};
  std::function<Nanos()> wall_clock_offset = [] {
    return Nanos{0};
  };                             // how far the wall clock is ahead of ours
  StateOnDisk* state = nullptr;  // null: nothing is kept; set before the first session
  std::vector<Worker*> workers;
  std::atomic<std::uint64_t> waiters{0};  // sessions in RL.WAIT
  std::atomic<std::uint64_t> connections_received{0};
  std::atomic<std::uint64_t> connections_rejected{0};
  LogThrottle login_throttle;    // of the lines about passwords that were wrong
  LogThrottle foreign_throttle;  // of the lines about clients that speak another protocol
};

}  // namespace weir
