#include "core/commands/limit_report.h"

#include <algorithm>
#include <iterator>

#include "core/commands/tally.h"

namespace weir {
namespace {

LimitReport::Rows RowsOf(std::span<const Tally* const> tallies) {
  LimitReport::Rows rows;
  for (const Tally* tally : tallies) {
    tally->limits.ForEach([&rows](const std::string& name, const LimitCounts& counts) {
      LimitReport::Numbers& row = rows[name];
      row[0] += counts.allowed.value();
      row[1] += counts.denied.value();
      row[2] += counts.shadow_denied.value();
      row[3] += counts.near_limit.value();
    });
  }
  return rows;
}

}  // namespace

LimitReport::Rows LimitReport::Since(std::span<const Tally* const> tallies) const {
  Rows rows = RowsOf(tallies);
  std::erase_if(rows, [](const auto& row) { return row.second == Numbers{}; });
  while (rows.size() > kCountedLimitsMax) {
    const auto last = std::prev(rows.end());
    const Numbers numbers = last->second;
    rows.erase(last);
    Numbers& others = rows[std::string(kOtherLimits)];
    for (std::size_t i = 0; i < numbers.size(); ++i) others[i] += numbers[i];
  }
  return rows;
}

LimitReport::Requests LimitReport::Count(std::span<const Tally* const> tallies) {
  Requests requests;
  for (const Tally* tally : tallies) {
    requests.allowed += tally->allowed.value();
    requests.denied += tally->denied.value();
  }
  return requests;
}

LimitReport::Numbers LimitReport::Total(std::span<const Tally* const> tallies) const {
  Numbers total{};
  for (const auto& [name, row] : RowsOf(tallies)) {
    total[2] += row[2];
    total[3] += row[3];
  }
  const Requests requests = Count(tallies);
  MutexLock lock(mutex_);
  total[0] = requests.allowed - std::min(requests.allowed, at_reset_.allowed);
  total[1] = requests.denied - std::min(requests.denied, at_reset_.denied);
  return total;
}

void LimitReport::Reset(std::span<Tally* const> tallies) {
  for (Tally* tally : tallies) {
    tally->limits.Reset();
    tally->denied_keys.Clear();
  }
  const Requests requests = Count(tallies);
  MutexLock lock(mutex_);
  at_reset_ = requests;
}

}  // namespace weir
