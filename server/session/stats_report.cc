#include "server/session/stats_report.h"

#include <algorithm>
#include <utility>

#include "server/commands/command_table.h"
#include "server/session/worker.h"

namespace weir {
namespace {

// The counts were read while others counted, so `before` may be ahead by a little.
void Subtract(std::uint64_t& count, std::uint64_t before) noexcept {
  count -= std::min(count, before);
}

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
      if (counts == nullptr) continue;
      StatsReport::CommandRow& row = rows[&spec];
      const LatencyHistogram::Counts times = counts->times.counts();
      for (std::size_t i = 0; i < times.size(); ++i) row.times[i] += times[i];
      row.nanos += counts->nanos.value();
      row.failed += counts->failed.value();
      row.rejected += counts->rejected.value();
    }
  }
  return rows;
}

ErrorStats::Counts CountErrors(const Services& services) {
  ErrorStats::Counts errors;
  for (const Worker* worker : services.workers) {
    for (const auto& [prefix, count] : worker->error_stats.counts()) errors[prefix] += count;
  }
  return errors;
}

}  // namespace

StatsReport::Totals StatsReport::TotalsOf(const Services& services) const {
  Totals totals = CountTotals(services);
  MutexLock lock(mutex_);
  for (std::size_t i = 0; i < kTotals; ++i) Subtract(totals[i], totals_at_reset_[i]);
  return totals;
}

StatsReport::CommandRows StatsReport::CommandsOf(const Services& services) const {
  CommandRows rows = CountCommands(services);
  MutexLock lock(mutex_);
  for (const auto& [spec, before] : commands_at_reset_) {
    CommandRow& row = rows[spec];
    for (std::size_t i = 0; i < row.times.size(); ++i) Subtract(row.times[i], before.times[i]);
    Subtract(row.nanos, before.nanos);
    Subtract(row.failed, before.failed);
    Subtract(row.rejected, before.rejected);
  }
  std::erase_if(rows, [](const auto& row) {
    return row.second.rejected == 0 && TotalOf(row.second.times) == 0;
  });
  return rows;
}

ErrorStats::Counts StatsReport::ErrorsOf(const Services& services) const {
  ErrorStats::Counts errors = CountErrors(services);
  MutexLock lock(mutex_);
  for (const auto& [prefix, before] : errors_at_reset_) Subtract(errors[prefix], before);
  std::erase_if(errors, [](const auto& error) { return error.second == 0; });
  return errors;
}

void StatsReport::Reset(const Services& services) {
  Totals totals = CountTotals(services);
  CommandRows commands = CountCommands(services);
  ErrorStats::Counts errors = CountErrors(services);
  MutexLock lock(mutex_);
  totals_at_reset_ = totals;
  commands_at_reset_ = std::move(commands);
  errors_at_reset_ = std::move(errors);
}

}  // namespace weir
