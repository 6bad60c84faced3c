// The counts of all threads since the start or the last CONFIG RESETSTAT, for the sections Stats,
// Commandstats, Errorstats and Latencystats of INFO, and for LATENCY HISTOGRAM.
//
// A reset takes nothing from the counts, which only their threads write: it remembers them, and
// they are subtracted from then on. (As in limit_report.h, for RL.STATS, which has its own reset.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"
#include "server/observe/error_stats.h"
#include "server/observe/latency_histogram.h"

namespace weir {

struct CommandSpec;
struct Services;

// Thread-safe. Cost of each: a few microseconds a thread.
class StatsReport {
 public:
  enum Total : std::size_t {
    kCommands,
    kErrors,
    kProtocolErrors,
    kInputBytes,
    kOutputBytes,
    kConnections,
    kRejectedConnections,
    kExpired,
    kEvicted,
    kEvictedClients,
    kTotals
  };
  using Totals = std::array<std::uint64_t, kTotals>;

  struct CommandRow {
    LatencyHistogram::Counts times{};
    std::uint64_t nanos = 0;
    std::uint64_t failed = 0;
    std::uint64_t rejected = 0;
  };
  // By row of the command table; those that were called or rejected.
  using CommandRows = std::map<const CommandSpec*, CommandRow>;

  [[nodiscard]] Totals TotalsOf(const Services& services) const;
  [[nodiscard]] CommandRows CommandsOf(const Services& services) const;
  [[nodiscard]] ErrorStats::Counts ErrorsOf(const Services& services) const;
  void Reset(const Services& services);

 private:
  mutable Mutex mutex_;
  Totals totals_at_reset_ ABSL_GUARDED_BY(mutex_){};
  CommandRows commands_at_reset_ ABSL_GUARDED_BY(mutex_);
  ErrorStats::Counts errors_at_reset_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
