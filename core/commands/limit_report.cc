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
      AddTotals(rows[name], counts.totals());
    });
  }
  return rows;
}

std::array<std::uint64_t, 2> RequestsOf(std::span<const Tally* const> tallies) {
  std::array<std::uint64_t, 2> requests{};
  for (const Tally* tally : tallies) {
    requests[0] += tally->allowed.value();
    requests[1] += tally->denied.value();
  }
  return requests;
}

}  // namespace

LimitReport::Rows LimitReport::Since(std::span<const Tally* const> tallies) const {
  Rows rows = RowsOf(tallies);
  std::erase_if(rows, [](const auto& row) { return row.second == Numbers{}; });
  while (rows.size() > kCountedLimitsMax) {
    const auto last = std::prev(rows.end());
    const Numbers numbers = last->second;
    rows.erase(last);
    AddTotals(rows[std::string(kOtherLimits)], numbers);
  }
  return rows;
}

LimitReport::Numbers LimitReport::Total(std::span<const Tally* const> tallies) const {
  Numbers total{};
  for (const auto& [name, row] : RowsOf(tallies)) AddTotals(total, row);
  std::ranges::copy(requests_.Of(RequestsOf(tallies)), total.begin());
  return total;
}

void LimitReport::Reset(std::span<Tally* const> tallies) {
  for (Tally* tally : tallies) {
    tally->limits.Reset();
    tally->denied_keys.Clear();
  }
  requests_.Reset(RequestsOf(tallies));
}

}  // namespace weir
