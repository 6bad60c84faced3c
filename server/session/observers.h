// The observers of executed commands: SLOWLOG, LATENCY, MONITOR.
#pragma once

#include <span>
#include <string_view>

#include "core/base/instant.h"
#include "server/config/options.h"
#include "server/observe/latency_monitor.h"
#include "server/observe/monitors.h"
#include "server/observe/slow_log.h"

namespace weir {

struct Call;
struct CommandSpec;
class Session;

struct Observers {
  explicit Observers(const Options& options);

  // Applies the thresholds of these options. Thread-safe.
  void Configure(const Options& options);

  // True if Show() would record or show the call. Cost: three relaxed loads.
  [[nodiscard]] bool AreInterested(Nanos duration) const noexcept {
    return slow_log.IsSlow(duration) || latency_monitor.IsSlow(duration) || monitors.any();
  }
  // Shows a finished call and the time that its handler took, without waits. The commands of a
  // transaction are shown one by one; EXEC itself never counts as slow.
  void Show(const Call& call, Nanos duration);
  // Likewise a call that came as no command, by words that stand for it.
  void Show(const CommandSpec& spec, std::span<const std::string_view> words, Instant now,
            Session& session, Nanos duration);

  SlowLog slow_log;
  LatencyMonitor latency_monitor;
  Monitors monitors;
};

}  // namespace weir
