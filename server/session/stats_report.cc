#include "server/session/stats_report.h"

#include "server/commands/command_table.h"
#include "server/session/worker.h"

namespace weir {
namespace {

StatsReport::Totals CountTotals(const Services& services) {
  StatsReport::Totals totals{};
  for (const Worker* worker : services.workers) {
    const Counters& counters = worker->counters;
    totals[StatsReport::kCommands] += counters.commands.value();
    totals[StatsReport::kErrors] += counters.errors.value();
    totals[StatsReport::kProtocolErrors] += counters.protocol_errors.value();
    totals[StatsReport::kInputBytes] += counters.input_bytes.value();
    totals[StatsReport::kOutputBytes] += counters.output_bytes.value();
  }
  totals[StatsReport::kConnections] = services.connections_received.load();
  totals[StatsReport::kRejectedConnections] = services.connections_rejected.load();
  totals[StatsReport::kExpired] = services.sweeper.dropped();
  totals[StatsReport::kEvicted] = services.limiter.evicted();
  totals[StatsReport::kEvictedClients] = services.client_memory.evicted();
  return totals;
}

StatsReport::CommandRows CountCommands(const Services& services) {
  StatsReport::CommandRows rows;
  for (const Worker* worker : services.workers) {
    for (const CommandSpec& spec : CommandTable()) {
      const CommandCounts* counts = worker->command_stats.Find(spec);
      if (counts != nullptr) AddTotals(rows[&spec], counts->totals());
    }
  }
  return rows;
}

ErrorStats::Counts CountErrors(const Services& services) {
  ErrorStats::Counts errors;
  for (const Worker* worker : services.workers) AddTotals(errors, worker->error_stats.counts());
  return errors;
}

}  // namespace

StatsReport::Totals StatsReport::TotalsOf(const Services& services) const {
  return totals_.Of(CountTotals(services));
}

StatsReport::CommandRows StatsReport::CommandsOf(const Services& services) const {
  CommandRows rows = commands_.Of(CountCommands(services));
  std::erase_if(rows, [](const auto& row) {
    return row.second.rejected == 0 && TotalOf(row.second.times) == 0;
  });
  return rows;
}

ErrorStats::Counts StatsReport::ErrorsOf(const Services& services) const {
  ErrorStats::Counts errors = errors_.Of(CountErrors(services));
  std::erase_if(errors, [](const auto& error) { return error.second == 0; });
  return errors;
}

void StatsReport::Reset(const Services& services) {
  totals_.Reset(CountTotals(services));
  commands_.Reset(CountCommands(services));
  errors_.Reset(CountErrors(services));
}

}  // namespace weir
