// The metrics of the server for Prometheus, which reads them from /metrics of the admin port.
//
// The page is written in parts, between which other clients have their turns. metrics.cc has its
// order, and the metrics with labels; the others are rows of server/measures/measure.h. Metrics are
// the counts that INFO and RL.STATS show, read at each scrape.
#pragma once

#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "server/http/http_services.h"
#include "server/session/services.h"

namespace weir {

// The type of the page: the text format of Prometheus.
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// The page. Thread-safe; holds no lock of the table. Cost: about 4 us for each limit that is shown,
// and 2 us for each that is folded.
[[nodiscard]] std::string MetricsText(Services& services, HttpServices& http, Instant now);

// The tables of docs/metrics.md.
[[nodiscard]] std::string MetricsMarkdown();

}  // namespace weir
