// The state of the server that one scrape of /metrics reads.
#pragma once

#include <cstddef>
#include <optional>

#include "core/base/instant.h"
#include "server/http/http_services.h"
#include "server/http/limit_labels.h"
#include "server/measures/server_snapshot.h"
#include "server/session/services.h"

namespace weir {

class Scrape : public ServerSnapshot {
 public:
  Scrape(Services& of_services, HttpServices& of_http, Instant of_now)
      : ServerSnapshot(of_services, of_now), http(of_http) {}

  [[nodiscard]] const LimitLabels::Folded& Limits() {
    if (!limits_) {
      limits_ =
          http.limit_labels.Fold(services.limit_totals.Since(RequestCountersOf(services)),
                                 static_cast<std::size_t>(services.options.metrics_max_limits));
    }
    return *limits_;
  }
  // The rows of the limits, in parts.
  bool TakeRows(std::size_t rows_max) { return part_.Take(Limits().rows, rows_max); }
  [[nodiscard]] bool HasMoreRows() { return part_.HasMore(Limits().rows); }
  [[nodiscard]] LimitLabels::RowRange Rows() const { return part_.rows(); }

  HttpServices& http;

 private:
  std::optional<LimitLabels::Folded> limits_;
  LimitLabels::Part part_;
};

}  // namespace weir
