#include "server/limit_report.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "server/worker.h"

namespace weir {
namespace {

LimitReport::Rows RowsOf(std::span<Worker* const> workers) {
  LimitReport::Rows rows;
  for (const Worker* worker : workers) {
    worker->stats.ForEach([&rows](const std::string& name, const LimitCounts& counts) {
      LimitReport::Numbers& row = rows[name];
      row[0] += counts.allowed.value();
      row[1] += counts.denied.value();
      row[2] += counts.shadow_denied.value();
      row[3] += counts.near_limit.value();
    });
  }
  return rows;
}

LimitReport::Numbers TotalOf(std::span<Worker* const> workers, const LimitReport::Rows& rows) {
  LimitReport::Numbers total{};
  for (const Worker* worker : workers) {
    total[0] += worker->counters.allowed.value();
    total[1] += worker->counters.denied.value();
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

LimitReport::Rows LimitReport::Since(std::span<Worker* const> workers) const {
  Rows rows = RowsOf(workers);
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

LimitReport::Numbers LimitReport::Total(std::span<Worker* const> workers) const {
  Numbers total = TotalOf(workers, RowsOf(workers));
  MutexLock lock(mutex_);
  Subtract(total, total_at_reset_);
  return total;
}

void LimitReport::Reset(std::span<Worker* const> workers) {
  Rows rows = RowsOf(workers);
  MutexLock lock(mutex_);
  total_at_reset_ = TotalOf(workers, rows);
  rows_at_reset_ = std::move(rows);
}

}  // namespace weir
