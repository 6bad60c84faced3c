// The state that the HTTP sessions of all threads share.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/http/check_routes.h"
#include "server/http/request_tally.h"
#include "server/measures/limit_labels.h"
#include "server/observe/rate_history.h"
#include "server/observe/recent_text.h"

namespace weir {

class RlsRules;

// The groups of paths that are counted apart, the label `route` of weir_http_responses_total.
enum class HttpRouteGroup : std::uint8_t {
  kNone,
  kHealth,
  kCheck,
  kJson,
  kMetrics,
  kPage,
  kApi,
  kRls
};
inline constexpr auto kHttpRouteGroupNames = std::to_array<std::string_view>(
    {"none", "health", "check", "v1", "metrics", "page", "api", "rls"});

// The number of responses by group and by the first digit of the status. Thread-safe.
class HttpResponseCounters {
 public:
  static constexpr std::size_t kClasses = 5;  // 1xx to 5xx

  void Add(HttpRouteGroup group, int status) noexcept {
    const auto of = static_cast<std::size_t>(status) / 100 - 1;
    counts_[static_cast<std::size_t>(group)][of].fetch_add(1, std::memory_order_relaxed);
  }
  // `of`: 0 for 1xx, and so on.
  [[nodiscard]] std::uint64_t value(HttpRouteGroup group, std::size_t of) const noexcept {
    return counts_[static_cast<std::size_t>(group)][of].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::array<std::atomic<std::uint64_t>, kClasses>, kHttpRouteGroupNames.size()>
      counts_{};
};

struct HttpServices {
  const RlsRules* rls =
      nullptr;  // null: the server is no such service; set before the first session
  HttpResponseCounters responses;
  CheckRouteTable checks;
  RequestTally requests;     // of decisions over HTTP
  LimitLabels limit_labels;  // of /metrics
  RateHistory history;       // of the page; only where an admin port is open
  // The answer of /api/limits. A page asks once a second, so it misses little.
  RecentText limits_json{std::chrono::milliseconds(500)};
};

}  // namespace weir
