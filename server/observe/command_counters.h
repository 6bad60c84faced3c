// One thread's counts of commands: how often each was called, how long it took, and how often it
// failed.
//
// The thread that owns it counts, any thread may read. Memory: 2 KiB for each command that was ever
// called; the first call allocates that, later ones cost three additions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/counter.h"
#include "core/base/instant.h"
#include "core/base/since_reset.h"
#include "core/commands/command_spec.h"
#include "server/observe/latency_histogram.h"

namespace weir {

// The counts of one command, of one thread or summed over all.
struct CommandTotals {
  LatencyHistogram::Counts times{};
  std::uint64_t nanos = 0;
  std::uint64_t failed = 0;
  std::uint64_t rejected = 0;
};

template <typename Visit>
void ForEachNumber(CommandTotals& totals, const CommandTotals& others, Visit visit) {
  ForEachNumber(totals.times, others.times, visit);
  visit(totals.nanos, others.nanos);
  visit(totals.failed, others.failed);
  visit(totals.rejected, others.rejected);
}

// The counters of one command.
struct CommandCounters {
  LatencyHistogram times;  // of its calls
  Counter nanos;           // they took together
  Counter failed;          // of the calls: they answered an error
  Counter rejected;        // not called: wrong number of words, no permission, ...

  [[nodiscard]] CommandTotals totals() const noexcept {
    return {.times = times.counts(),
            .nanos = nanos.value(),
            .failed = failed.value(),
            .rejected = rejected.value()};
  }
};

class CommandCounterTable {
 public:
  CommandCounterTable();
  ~CommandCounterTable();
  CommandCounterTable(const CommandCounterTable&) = delete;
  CommandCounterTable& operator=(const CommandCounterTable&) = delete;

  // Requires: a row of the command table, or RateLimitCallSpec(). For the owner.
  [[nodiscard]] CommandCounters& Of(const CommandSpec& spec) {
    CommandCounters* const counts = CountersOf(spec).load(std::memory_order_relaxed);
    return counts ? *counts : Make(spec);
  }
  // Null: it was never called. For any thread.
  [[nodiscard]] const CommandCounters* Find(const CommandSpec& spec) const noexcept;

 private:
  [[nodiscard]] bool IsRow(const CommandSpec& spec) const noexcept {
    const std::less<> less;
    return !less(&spec, first_row_) && less(&spec, first_row_ + rows_);
  }
  [[nodiscard]] std::atomic<CommandCounters*>& CountersOf(const CommandSpec& spec) const noexcept {
    return places_[IsRow(spec) ? static_cast<std::size_t>(&spec - first_row_) : rows_];
  }
  [[nodiscard]] CommandCounters& Make(const CommandSpec& spec);

  const CommandSpec* const first_row_;
  const std::size_t rows_;
  // By row, and behind them that of RateLimitCallSpec().
  const std::unique_ptr<std::atomic<CommandCounters*>[]> places_;
};

}  // namespace weir
