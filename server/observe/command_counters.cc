#include "server/observe/command_counters.h"

#include "core/base/check.h"
#include "server/commands/command_table.h"

namespace weir {

CommandCounterTable::CommandCounterTable()
    : first_row_(CommandTable().data()),
      rows_(CommandTable().size()),
      places_(std::make_unique<std::atomic<CommandCounters*>[]>(rows_ + 1)) {}

CommandCounterTable::~CommandCounterTable() {
  for (std::size_t i = 0; i <= rows_; ++i) delete places_[i].load(std::memory_order_relaxed);
}

CommandCounters& CommandCounterTable::Make(const CommandSpec& spec) {
  WEIR_DCHECK(IsRow(spec) || &spec == &RateLimitCallSpec());
  CommandCounters* const counts = std::make_unique<CommandCounters>().release();
  CountersOf(spec).store(counts, std::memory_order_release);
  return *counts;
}

const CommandCounters* CommandCounterTable::Find(const CommandSpec& spec) const noexcept {
  return CountersOf(spec).load(std::memory_order_acquire);
}

}  // namespace weir
