// The changes of a limiter as a complete save takes them: with the limits, and with copies of the
// partitions whose logs have overflowed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/limiter/change_reader.h"
#include "core/limiter/limiter.h"

namespace weir {

inline LimiterChanges TakeAll(Limiter& limiter, std::optional<Instant> now,
                              bool consistent_snapshot = false) {
  ChangeReader reader(limiter.table());
  const ChangesLock changes_lock(reader);
  reader.BeginSave();
  LimiterChanges all;
  for (std::size_t next = 0; next < kPartitionCount;) {
    LimiterChanges part = reader.TakeChanges(now, consistent_snapshot, next);
    next = part.next_partition;
    for (const std::uint16_t partition : part.overflowed_partitions) {
      reader.CopyPartition(partition, now, all);
    }
    const auto append = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(all.buckets, part.buckets);
    append(all.holds, part.holds);
    append(all.sums, part.sums);
    all.generation = part.generation;
    all.new_secret = part.new_secret;
  }
  // The bucket of a held limit is counted from the open holds, and never saved.
  std::erase_if(all.buckets,
                [](const BucketChange& change) { return change.algorithm == Algorithm::kHeld; });
  std::ranges::stable_sort(all.buckets, {}, &BucketChange::partition);
  std::ranges::stable_sort(all.holds, {}, &HoldChange::partition);
  std::ranges::stable_sort(all.sums, {}, &SumsChange::partition);
  all.limits = reader.TakeLimits();
  return all;
}

}  // namespace weir
