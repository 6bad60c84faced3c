#include "server/observe/latency_histogram.h"

#include <numeric>

namespace weir {
namespace {

constexpr Nanos::rep kFirstStep = 1024;  // nanoseconds

// The microseconds that Redis shows for a step. The classes of its histogram are 1/128 of the step
// wide there, and it shows the last nanosecond of the class that begins at the step.
std::int64_t MicrosOf(Nanos::rep step) noexcept { return (step + step / 128 - 1) / 1000; }

}  // namespace

LatencyHistogram::Counts LatencyHistogram::counts() const noexcept {
  Counts counts;
  std::ranges::transform(counts_, counts.begin(), &Counter::value);
  return counts;
}

std::uint64_t TotalOf(const LatencyHistogram::Counts& counts) noexcept {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

Nanos Percentile(const LatencyHistogram::Counts& counts, std::uint64_t permille) noexcept {
  const std::uint64_t rank = std::max<std::uint64_t>((TotalOf(counts) * permille + 999) / 1000, 1);
  std::uint64_t seen = 0;
  std::size_t index = 0;
  while ((seen += counts[index]) < rank) ++index;
  return LatencyHistogram::EndOf(index) - Nanos{1};
}

std::vector<CumulativeCount> CumulativeCounts(const LatencyHistogram::Counts& counts) {
  std::vector<CumulativeCount> rows;
  std::uint64_t seen = 0;
  std::uint64_t shown = 0;
  Nanos::rep step = kFirstStep;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    seen += counts[i];
    if (LatencyHistogram::EndOf(i).count() < step) continue;
    if (seen > shown) rows.push_back({MicrosOf(step), seen});
    shown = seen;
    step *= 2;
  }
  return rows;
}

}  // namespace weir
