#include "core/commands/limit_report.h"

#include <algorithm>
#include <iterator>
#include <utility>

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

LimitReport::Numbers TotalOf(std::span<const Tally* const> tallies, const LimitReport::Rows& rows) {
  LimitReport::Numbers total{};
  for (const Tally* tally : tallies) {
    total[0] += tally->allowed.value();
    total[1] += tally->denied.value();
  }
  for (const auto& [name, row] : rows) {
    total[2] += row[2];
    total[3] += row[3];
  }
  return total;
}

// Both were read while others count, so `before` may be ahead by a little.
void Subtract(LimitReport::Numbers& numbers, const LimitReport::Numbers& before) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] -= std::min(numbers[i], before[i]);
  }
}

}  // namespace

LimitReport::Rows LimitReport::Since(std::span<const Tally* const> tallies) const {
  Rows rows = RowsOf(tallies);
  MutexLock lock(mutex_);
  for (const auto& [name, before] : rows_at_reset_) Subtract(rows[name], before);
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

LimitReport::Numbers LimitReport::Total(std::span<const Tally* const> tallies) const {
  Numbers total = TotalOf(tallies, RowsOf(tallies));
  MutexLock lock(mutex_);
  Subtract(total, total_at_reset_);
  return total;
}

void LimitReport::Reset(std::span<const Tally* const> tallies) {
  Rows rows = RowsOf(tallies);
  MutexLock lock(mutex_);
  total_at_reset_ = TotalOf(tallies, rows);
  rows_at_reset_ = std::move(rows);
}

}  // namespace weir
