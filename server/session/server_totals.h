// The counts of all threads since the start or the last CONFIG RESETSTAT, for the sections Stats,
// Commandstats, Errorstats and Latencystats of INFO, and for LATENCY HISTOGRAM. (RL.STATS has its
// own reset: limit_totals.h.)
#pragma once

#include <map>

#include "core/base/since_reset.h"
#include "server/observe/command_counters.h"
#include "server/observe/error_counters.h"
#include "server/observe/thread_counters.h"

namespace weir {

struct CommandSpec;
struct Services;

// By row of the command table; those that were called or rejected.
using CommandRows = std::map<const CommandSpec*, CommandTotals>;

// Thread-safe. Cost of each: a few microseconds a thread.
class ServerTotals {
 public:
  // The counters of kStatsFields; 0 in the rows of rates.
  [[nodiscard]] StatsNumbers CountersOf(const Services& services) const;
  [[nodiscard]] CommandRows CommandsOf(const Services& services) const;
  [[nodiscard]] ErrorTotals ErrorsOf(const Services& services) const;
  void Reset(const Services& services);

 private:
  SinceReset<StatsNumbers> counters_;
  SinceReset<CommandRows> commands_;
  SinceReset<ErrorTotals> errors_;
};

}  // namespace weir
