// The observers of executed commands: SLOWLOG, LATENCY, MONITOR.
#pragma once

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "server/config/options.h"
#include "server/observe/latency_monitor.h"
#include "server/observe/monitors.h"
#include "server/observe/slow_log.h"

namespace weir {

struct Call;

struct Observers {
  Observers(const Options& options, const Clock& clock);

  // Takes the thresholds of these options. Any thread.
  void Configure(const Options& options);

  // Whether Show() would do something. Cost: three relaxed loads.
  [[nodiscard]] bool AreInterested(Nanos duration) const noexcept {
    return slow_log.IsSlow(duration) || latency_monitor.IsSlow(duration) || monitors.any();
  }
  // A call that took so long and is over: no wait is part of it. What an EXEC runs is shown call by
  // call; it is not slow itself.
  void Show(const Call& call, Nanos duration);

  SlowLog slow_log;
  LatencyMonitor latency_monitor;
  Monitors monitors;
};

}  // namespace weir
