// One thread's counts of commands: how often each was called, how long it took, and how often it
// failed.
//
// The thread that owns it counts, any thread may read. Memory: 2 KiB for each command that was ever
// called; the first call allocates that, later ones cost three additions.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "core/base/counter.h"
#include "core/base/instant.h"
#include "server/observe/latency_histogram.h"

namespace weir {

struct CommandSpec;

// The counts of one command.
struct CommandCounts {
  LatencyHistogram times;  // of its calls
  Counter nanos;           // they took together
  Counter failed;          // of the calls: they answered an error
  Counter rejected;        // not called: wrong number of words, no permission, ...
};

class CommandStats {
 public:
  CommandStats();
  ~CommandStats();
  CommandStats(const CommandStats&) = delete;
  CommandStats& operator=(const CommandStats&) = delete;

  // Requires: a row of the command table. For the owner.
  [[nodiscard]] CommandCounts& Of(const CommandSpec& spec);
  // Null: it was never called. For any thread.
  [[nodiscard]] const CommandCounts* Find(const CommandSpec& spec) const noexcept;

 private:
  [[nodiscard]] std::atomic<CommandCounts*>& CountsOf(const CommandSpec& spec) const noexcept;

  const CommandSpec* const first_row_;
  const std::size_t rows_;
  const std::unique_ptr<std::atomic<CommandCounts*>[]> places_;  // by row
};

}  // namespace weir
