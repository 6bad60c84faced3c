#include "core/commands/limit_totals.h"

#include <algorithm>
#include <iterator>

#include "absl/container/flat_hash_map.h"

#include "core/commands/request_counters.h"

namespace weir {
namespace {

// Sums up by hash, because a name is looked up once for each thread, and sorts at the end.
LimitTotals::Rows RowsOf(std::span<const RequestCounters* const> counters) {
  absl::flat_hash_map<std::string, LimitTotals::Numbers> sums;
  for (const RequestCounters* request_counters : counters) {
    request_counters->limits.ForEach([&sums](const std::string& name, const LimitCounters& counts) {
      AddTotals(sums[name], counts.totals());
    });
  }
  return {sums.begin(), sums.end()};
}

std::array<std::uint64_t, 2> RequestsOf(std::span<const RequestCounters* const> counters) {
  std::array<std::uint64_t, 2> requests{};
  for (const RequestCounters* request_counters : counters) {
    requests[0] += request_counters->allowed.value();
    requests[1] += request_counters->denied.value();
  }
  return requests;
}

}  // namespace

LimitTotals::Rows LimitTotals::Since(std::span<const RequestCounters* const> counters) const {
  Rows rows = RowsOf(counters);
  std::erase_if(rows, [](const auto& row) { return row.second == Numbers{}; });
  while (rows.size() > kCountedLimitsMax) {
    const auto last = std::prev(rows.end());
    const Numbers numbers = last->second;
    rows.erase(last);
    AddTotals(rows[std::string(kOtherLimits)], numbers);
  }
  return rows;
}

LimitTotals::Numbers LimitTotals::Total(std::span<const RequestCounters* const> counters) const {
  Numbers total{};
  for (const auto& [name, row] : RowsOf(counters)) AddTotals(total, row);
  std::ranges::copy(requests_.Of(RequestsOf(counters)), total.begin());
  return total;
}

LimitTotals::Reading LimitTotals::Read(std::span<const RequestCounters* const> counters) const {
  MutexLock lock(reset_mutex_);
  return {.total = Total(counters), .rows = Since(counters), .resets = resets_};
}

void LimitTotals::Reset(std::span<RequestCounters* const> counters) {
  MutexLock lock(reset_mutex_);
  ++resets_;
  for (RequestCounters* request_counters : counters) {
    request_counters->limits.Reset();
    request_counters->denied_keys.Clear();
    request_counters->near_keys.Clear();
  }
  requests_.Reset(RequestsOf(counters));
}

}  // namespace weir
