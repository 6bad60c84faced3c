// Small helpers of the tests about frames.
#pragma once

#include <cstddef>
#include <string>

#include "core/base/instant.h"
#include "core/table/partition_set.h"
#include "replication/frame.h"
#include "tests/support/fake_clock.h"

namespace weir {

inline constexpr Instant kFrameTime = FakeClock::kStart;

[[nodiscard]] inline std::string BytesOf(const Frame& frame) {
  std::string bytes;
  AppendFrame(frame, bytes);
  return bytes;
}

[[nodiscard]] inline PartitionSet Only(std::size_t partition) {
  PartitionSet set;
  set.Add(partition);
  return set;
}

}  // namespace weir
