// The options of a load, and its report.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/instant.h"

namespace weir {

// The progress of a load. Any thread may read the counts; the errors only after the load.
struct LoadReport {
  std::atomic<std::uint64_t> loaded{0};   // buckets
  std::atomic<std::uint64_t> dropped{0};  // buckets that are full, or whose limit or policy is gone
  std::atomic<std::uint64_t> full{0};     // those of them that are full
  std::atomic<std::uint64_t> holds{0};    // that are open
  std::atomic<std::uint64_t> marks{0};    // of settled holds
  std::atomic<std::uint64_t> expired{0};  // holds that were cancelled, as they had expired
  // Holds and marks whose limit or policy is gone, or that a server of an older version left out of
  // date.
  std::atomic<std::uint64_t> dropped_holds{0};
  std::atomic<std::uint64_t> bad{0};  // records that no server has written
  // The first of the bad records, and why they are bad: "limit 7: invalid limit '1/x': ...".
  std::vector<std::string> errors;
};

struct LoadOptions {
  Instant now{};
  // Drops buckets that are full at `now`, and cancels holds that have expired then; false where
  // clients bring the time.
  bool drops_full = true;
  // Set if the wall clock is behind the mark on disk: the time past the mark at which the clock
  // began instead. Mark and allowance stay on disk until the first save, so that several restarts
  // in a row use one allowance.
  std::optional<Nanos> clock_allowance = std::nullopt;
  std::size_t errors_max = 10;  // of the report
};

}  // namespace weir
