#include "server/observe/command_stats.h"

#include "core/base/check.h"
#include "server/commands/command_table.h"

namespace weir {

CommandStats::CommandStats()
    : first_row_(CommandTable().data()),
      rows_(CommandTable().size()),
      places_(std::make_unique<std::atomic<CommandCounts*>[]>(rows_)) {}

CommandStats::~CommandStats() {
  for (std::size_t i = 0; i < rows_; ++i) delete places_[i].load(std::memory_order_relaxed);
}

std::atomic<CommandCounts*>& CommandStats::CountsOf(const CommandSpec& spec) const noexcept {
  const auto row = static_cast<std::size_t>(&spec - first_row_);
  WEIR_DCHECK(row < rows_);
  return places_[row];
}

CommandCounts& CommandStats::Of(const CommandSpec& spec) {
  std::atomic<CommandCounts*>& place = CountsOf(spec);
  CommandCounts* counts = place.load(std::memory_order_relaxed);
  if (counts == nullptr) {
    counts = std::make_unique<CommandCounts>().release();
    place.store(counts, std::memory_order_release);
  }
  return *counts;
}

const CommandCounts* CommandStats::Find(const CommandSpec& spec) const noexcept {
  return CountsOf(spec).load(std::memory_order_acquire);
}

}  // namespace weir
