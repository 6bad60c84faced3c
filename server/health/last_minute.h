// The counts of the last minute, from counts that only grow.
//
//     LastMinute minute;
//     Activity added = minute.Add(now, counts);   // each second; what came in the last minute
//
// It keeps the counts of every tenth second, so its minute is 60 to 70 s long, and in the first
// minute as long as there is. Memory: 15 KiB.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "core/base/instant.h"
#include "server/observe/latency_histogram.h"

namespace weir {

// Counts since the start.
struct Activity {
  std::uint64_t evicted = 0;       // buckets in use
  std::uint64_t evicted_full = 0;  // full ones
  std::uint64_t rejected = 0;      // clients
  std::uint64_t commands = 0;
  std::uint64_t errors = 0;
  LatencyHistogram::Counts times{};  // of commands that ask for tokens

  friend bool operator==(const Activity&, const Activity&) = default;
};

// Used by one thread.
class LastMinute {
 public:
  static constexpr Nanos kLength = std::chrono::minutes{1};
  static constexpr Nanos kStep = std::chrono::seconds{10};

  // Returns what was added since the beginning of the last minute; nothing at the first call.
  // Requires: `now` does not go back.
  Activity Add(HostInstant now, const Activity& counts);
  // Requires: a call of Add().
  [[nodiscard]] HostInstant begin() const { return steps_.front().at; }

 private:
  struct Step {
    HostInstant at;
    Activity counts;
  };
  std::deque<Step> steps_;  // from the beginning of the minute on
};

}  // namespace weir
