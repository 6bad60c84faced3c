// A replay: reads a log line by line, puts its requests into order, and asks each --ask for them.
//
// One thread, no clock, no network. Memory: that of the trials (trial.h) and of the requests of the
// last 2 * slack (time_order.h).
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"

#include "replay/replay_options.h"
#include "replay/report.h"

namespace weir {

struct ReplayProgress {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  std::uint64_t file_bytes = 0;  // 0: unknown
};

// Calls `progress` now and then. Fails with kUnavailable (a file cannot be read), kDataLoss (a
// compressed log is cut or damaged), kInvalidArgument or kNotFound (an ask, the policy file or the
// columns are wrong, or an option is for another format), or kFailedPrecondition (the log has no
// request, and the first bad line is named; most lines go back in time; or the log is compressed by
// another program than gzip).
[[nodiscard]] absl::StatusOr<Report> RunReplay(
    const ReplayOptions& options, const std::function<void(const ReplayProgress&)>& progress);

}  // namespace weir
