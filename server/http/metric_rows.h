// The rows of the page of metrics, and the state that they read.
//
// metrics.cc writes the page, row by row; rls_metrics.h has those of Envoy's rate limit service.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "core/base/instant.h"
#include "core/commands/limit_totals.h"
#include "server/http/http_services.h"
#include "server/measures/limit_labels.h"
#include "server/measures/server_snapshot.h"
#include "server/observe/metric_samples.h"
#include "server/session/services.h"

namespace weir {

// The state that one scrape reads.
class Scrape : public ServerSnapshot {
 public:
  using Rows = LimitLabels::Rows;

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
  // The tables of which a metric may have a sample for each row.
  [[nodiscard]] const Rows& LimitRows() { return Limits().rows; }
  // By names of ReferenceCounters, with the numbers of ReferenceCounts first.
  [[nodiscard]] const Rows& ReferenceNames() {
    if (!reference_names_) {
      reference_names_.emplace();
      for (const auto& [name, totals] : services.rls_reference.Names()) {
        std::ranges::copy(totals, (*reference_names_)[name].begin());
      }
    }
    return *reference_names_;
  }
  // By the domains of ReferenceCounters, with the number of their descriptors first.
  [[nodiscard]] const Rows& UnknownDomains() {
    if (!unknown_domains_) {
      unknown_domains_.emplace();
      for (const auto& [domain, count] : services.rls_reference.UnknownDomains()) {
        (*unknown_domains_)[domain][0] = count;
      }
    }
    return *unknown_domains_;
  }

  // Chooses the rows that are written next, of a table, which is taken in parts.
  bool TakeRows(const Rows& all, std::size_t rows_max) { return part_.Take(all, rows_max); }
  [[nodiscard]] bool HasMoreRows(const Rows& all) const { return part_.HasMore(all); }
  // To be called before the first part of another table, or of the same one again.
  void EndRows() { part_ = {}; }
  [[nodiscard]] LimitLabels::RowRange ChosenRows() const { return part_.rows(); }

  HttpServices& http;

 private:
  std::optional<LimitLabels::Folded> limits_;
  std::optional<Rows> reference_names_;
  std::optional<Rows> unknown_domains_;
  LimitLabels::Part part_;
};

// A row of the page: measures of the server, or a metric that has labels or that HTTP alone knows.
struct Metric {
  std::string_view name = {};
  std::string_view labels = {};  // "face, result"
  std::string_view help = {};
  void (*collect)(Scrape& scrape, Samples& samples) = nullptr;
  bool (*exists)(const Services& services) = nullptr;  // null: always; of measures: as they say
  // The table of which `collect` takes ChosenRows(); null: it needs none.
  const Scrape::Rows& (Scrape::*rows)() = nullptr;
  // Each row is a metric of its own: its name stands for DOMAIN in that of the metric.
  bool is_named_by_row = false;
  std::string_view title = {};  // of the group that begins here, in docs/metrics.md
  std::array<std::string_view, 7> measures = {};
};

}  // namespace weir
