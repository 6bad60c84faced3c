// The rows of /metrics about Envoy's rate limit service: weir's own, and with
// rls-metrics=reference those that have the names of envoyproxy/ratelimit.
#pragma once

#include <span>

#include "server/http/metric_rows.h"

namespace weir {

[[nodiscard]] std::span<const Metric> RlsMetricRows();

}  // namespace weir
