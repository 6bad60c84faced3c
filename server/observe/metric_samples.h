// The samples of one metric of the page for Prometheus, as its library takes them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include "core/base/instant.h"
#include "server/observe/command_counters.h"
#include "server/observe/latency_histogram.h"

namespace weir {

// The upper bounds of the buckets of durations.
inline constexpr auto kDurationBounds =
    std::to_array<Nanos>({Nanos{1'000}, Nanos{2'500}, Nanos{5'000}, Nanos{10'000}, Nanos{25'000},
                          Nanos{50'000}, Nanos{100'000}, Nanos{250'000}, Nanos{1'000'000},
                          Nanos{5'000'000}, Nanos{25'000'000}, Nanos{100'000'000}});

[[nodiscard]] inline double Seconds(Nanos span) { return static_cast<double>(span.count()) / 1e9; }

// The samples of a metric.
class Samples {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  explicit Samples(prometheus::MetricFamily& family) : family_(family) {}

  template <typename Number>
  void Add(Number value, Labels labels = {}) {
    prometheus::ClientMetric& sample = AddLabelled(labels);
    (family_.type == prometheus::MetricType::Counter ? sample.counter.value : sample.gauge.value) =
        static_cast<double>(value);
  }
  // A class of durations counts as below a bound only if its longest duration is: so a duration
  // counts as up to an eighth longer than it is, never as shorter.
  void AddDurations(const CommandTotals& totals, Labels labels) {
    prometheus::ClientMetric::Histogram& histogram = AddLabelled(labels).histogram;
    histogram.sample_count = TotalOf(totals.times);
    histogram.sample_sum = static_cast<double>(totals.nanos) / 1e9;
    std::uint64_t count = 0;
    std::size_t index = 0;
    for (const Nanos bound : kDurationBounds) {
      for (; LatencyHistogram::EndOf(index) - Nanos{1} <= bound; ++index)
        count += totals.times[index];
      histogram.bucket.push_back({.cumulative_count = count, .upper_bound = Seconds(bound)});
    }
  }

 private:
  prometheus::ClientMetric& AddLabelled(Labels labels) {
    prometheus::ClientMetric& sample = family_.metric.emplace_back();
    sample.label.reserve(labels.size());
    for (const auto& [name, value] : labels) {
      sample.label.push_back({std::string(name), std::string(value)});
    }
    return sample;
  }

  prometheus::MetricFamily& family_;
};

}  // namespace weir
