#include "server/health/last_minute.h"

#include <algorithm>
#include <cstddef>

#include "core/base/check.h"

namespace weir {
namespace {

std::uint64_t Added(std::uint64_t count, std::uint64_t before) {
  return count - std::min(count, before);
}

}  // namespace

Activity LastMinute::Add(HostInstant now, const Activity& counts) {
  WEIR_CHECK(steps_.empty() || now >= steps_.back().at);
  if (steps_.empty() || now - steps_.back().at >= kStep) steps_.push_back({now, counts});
  while (steps_.size() > 1 && now - steps_[1].at >= kLength) steps_.pop_front();
  const Activity& before = steps_.front().counts;
  Activity added{.evicted = Added(counts.evicted, before.evicted),
                 .evicted_full = Added(counts.evicted_full, before.evicted_full),
                 .rejected = Added(counts.rejected, before.rejected),
                 .commands = Added(counts.commands, before.commands),
                 .errors = Added(counts.errors, before.errors),
                 .times = {}};
  for (std::size_t i = 0; i < added.times.size(); ++i) {
    added.times[i] = Added(counts.times[i], before.times[i]);
  }
  return added;
}

}  // namespace weir
