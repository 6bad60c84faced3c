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

std::atomic<CommandCounters*>& CommandCounterTable::CountersOf(
    const CommandSpec& spec) const noexcept {
  if (&spec == &RateLimitCallSpec()) return places_[rows_];
  const auto row = static_cast<std::size_t>(&spec - first_row_);
  WEIR_DCHECK(row < rows_);
  return places_[row];
}

CommandCounters& CommandCounterTable::Of(const CommandSpec& spec) {
  std::atomic<CommandCounters*>& place = CountersOf(spec);
  CommandCounters* counts = place.load(std::memory_order_relaxed);
  if (counts == nullptr) {
    counts = std::make_unique<CommandCounters>().release();
    place.store(counts, std::memory_order_release);
  }
  return *counts;
}

const CommandCounters* CommandCounterTable::Find(const CommandSpec& spec) const noexcept {
  return CountersOf(spec).load(std::memory_order_acquire);
}

}  // namespace weir
