#include "server/session/server_totals.h"

#include "server/commands/command_table.h"
#include "server/session/worker.h"

namespace weir {
namespace {

StatsNumbers CountAll(const Services& services) {
  StatsNumbers numbers = services.main_counters.totals();
  for (const Worker* worker : services.workers) AddTotals(numbers, worker->counters.totals());
  const auto add = [&numbers](StatsRow<false> row, std::uint64_t n) { numbers[row.index()] += n; };
  add("expired_keys", services.sweeper.dropped());
  add("evicted_keys", services.upkeep.counts().evicted);
  add("evicted_clients", services.client_memory.evicted());
  return numbers;
}

CommandRows CountCommands(const Services& services) {
  CommandRows rows;
  const auto add = [&rows](const Worker& worker, const CommandSpec& spec) {
    const CommandCounters* counts = worker.command_counters.Find(spec);
    if (counts != nullptr) AddTotals(rows[&spec], counts->totals());
  };
  for (const Worker* worker : services.workers) {
    for (const CommandSpec& spec : CommandTable()) add(*worker, spec);
    add(*worker, RateLimitCallSpec());
  }
  return rows;
}

ErrorTotals CountErrors(const Services& services) {
  ErrorTotals errors;
  for (const Worker* worker : services.workers) AddTotals(errors, worker->error_counters.totals());
  return errors;
}

}  // namespace

StatsNumbers ServerTotals::CountersOf(const Services& services) const {
  return counters_.Of(CountAll(services));
}

CommandRows ServerTotals::CommandsOf(const Services& services) const {
  CommandRows rows = commands_.Of(CountCommands(services));
  std::erase_if(rows, [](const auto& row) {
    return row.second.rejected == 0 && TotalOf(row.second.times) == 0;
  });
  return rows;
}

ErrorTotals ServerTotals::ErrorsOf(const Services& services) const {
  ErrorTotals errors = errors_.Of(CountErrors(services));
  std::erase_if(errors, [](const auto& error) { return error.second == 0; });
  return errors;
}

void ServerTotals::Reset(const Services& services) {
  counters_.Reset(CountAll(services));
  commands_.Reset(CountCommands(services));
  errors_.Reset(CountErrors(services));
}

}  // namespace weir
