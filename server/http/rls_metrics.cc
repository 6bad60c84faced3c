#include "server/http/rls_metrics.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

#include "core/base/counter.h"
#include "core/base/status.h"
#include "core/rules/limit_counters.h"
#include "server/commands/command_table.h"
#include "server/http/request_tally.h"
#include "server/measures/limit_labels.h"
#include "server/observe/command_counters.h"
#include "server/state/reference_counters.h"
#include "server/state/rls_counters.h"

namespace weir {
namespace {

constexpr std::string_view kUnknownDomains = "(unknown)";

// The label of a domain. None is like kUnknownDomains or kOtherLimits.
std::string DomainLabel(std::string_view domain) {
  if (!domain.starts_with('(')) return MetricLabel(domain);
  return MetricLabel(absl::StrCat("%28", AbslView(domain.substr(1))));
}

// Visits the domains by their labels, of which those beyond metrics-max-limits are one.
template <typename Visit>
void ForEachDomain(Scrape& scrape, const Visit& visit) {
  const auto most = static_cast<std::size_t>(scrape.services.options.metrics_max_limits);
  const RlsCounters& counters = scrape.services.rls;
  std::map<std::string, std::array<std::uint64_t, 3>> by_label;
  const auto add = [&by_label](const std::string& label, const RlsDomainCounts& counts) {
    AddTotals(by_label[label],
              {counts.ok.load(), counts.over_limit.load(), counts.no_match.load()});
  };
  counters.ForEachDomain([&](std::string_view domain, const RlsDomainCounts& counts) {
    const std::string label = DomainLabel(domain);
    const bool is_own = by_label.size() < most || by_label.contains(label);
    add(is_own ? label : std::string(kOtherLimits), counts);
  });
  if (by_label.contains(std::string(kOtherLimits))) add(std::string(kOtherLimits), counters.others);
  add(std::string(kUnknownDomains), counters.unknown);
  for (const auto& [label, sums] : by_label) visit(label, sums);
}

void CollectCalls(Scrape& scrape, Samples& samples) {
  ForEachDomain(scrape, [&](std::string_view domain, const auto& numbers) {
    samples.Add(numbers[0], {{"domain", domain}, {"code", "ok"}});
    samples.Add(numbers[1], {{"domain", domain}, {"code", "over_limit"}});
  });
}

void CollectNoMatch(Scrape& scrape, Samples& samples) {
  ForEachDomain(scrape, [&](std::string_view domain, const auto& numbers) {
    samples.Add(numbers[2], {{"domain", domain}});
  });
}

void CollectCallErrors(Scrape& scrape, Samples& samples) {
  for (std::size_t i = 0; i < kRlsErrorNames.size(); ++i) {
    samples.Add(scrape.services.rls.errors(static_cast<RlsError>(i)),
                {{"code", kRlsErrorNames[i]}});
  }
}

void CollectLoads(Scrape& scrape, Samples& samples) {
  samples.Add(scrape.services.rls.loads.load(), {{"result", "success"}});
  samples.Add(scrape.services.rls.load_errors.load(), {{"result", "error"}});
}

void CollectXdsResponses(Scrape& scrape, Samples& samples) {
  samples.Add(scrape.services.xds.accepted.load(), {{"result", "accepted"}});
  samples.Add(scrape.services.xds.refused.load(), {{"result", "refused"}});
}

CommandTotals DurationsOf(Scrape& scrape) {
  const auto row = scrape.Commands().find(&RateLimitCallSpec());
  return row == scrape.Commands().end() ? CommandTotals() : row->second;
}

void CollectCallDurations(Scrape& scrape, Samples& samples) {
  samples.AddDurations(DurationsOf(scrape), {});
}

// --- By the names of envoyproxy/ratelimit ---

constexpr std::string_view kMethod = "ShouldRateLimit";

// The levels of a name: "shop.user_7".
void AddLevels(std::string_view name, std::uint64_t number, Samples& samples) {
  std::array<std::string_view, 3> levels;
  for (std::string_view& level : levels) {
    level = name.substr(0, name.find('.'));
    name.remove_prefix(std::min(name.size(), level.size() + 1));
  }
  if (levels[2].empty()) {
    samples.Add(number, {{"domain", levels[0]}, {"key1", levels[1]}});
  } else {
    samples.Add(number, {{"domain", levels[0]}, {"key1", levels[1]}, {"key2", levels[2]}});
  }
}

template <std::size_t kNumber>
void CollectHits(Scrape& scrape, Samples& samples) {
  for (const auto& [name, numbers] : scrape.ChosenRows())
    AddLevels(name, numbers[kNumber], samples);
}

// Those that the reference would have for itself, and for its Redis.
void CollectReferenceErrors(Scrape& scrape, Samples& samples) {
  const RlsCounters& rls = scrape.services.rls;
  samples.Add(rls.errors(RlsError::kExhausted) + rls.errors(RlsError::kUnavailable),
              {{"err_type", "redis_error"}});
  samples.Add(rls.errors(RlsError::kInvalid) + rls.errors(RlsError::kPermission) +
                  rls.errors(RlsError::kUnauthenticated),
              {{"err_type", "service_error"}});
}

void CollectReferenceRequests(Scrape& scrape, Samples& samples) {
  std::uint64_t sum = scrape.services.rls.errors(RlsError::kTooLong);
  for (const std::uint64_t count : scrape.http.requests.Read(scrape.services).rls) sum += count;
  samples.Add(sum, {{"grpc_method", kMethod}});
}

void CollectReferenceDurations(Scrape& scrape, Samples& samples) {
  samples.AddDurations(DurationsOf(scrape), {{"grpc_method", kMethod}});
}

void CollectReferenceLoads(Scrape& scrape, Samples& samples) {
  samples.Add(scrape.services.rls.loads.load());
}

void CollectReferenceLoadErrors(Scrape& scrape, Samples& samples) {
  samples.Add(scrape.services.rls.load_errors.load());
}

void CollectShadowedCalls(Scrape& scrape, Samples& samples) {
  samples.Add(scrape.services.rls_reference.shadowed_calls.load());
}

// Of the domain that ChosenRows() names.
void CollectUnknownDomain(Scrape& scrape, Samples& samples) {
  for (const auto& [domain, numbers] : scrape.ChosenRows()) samples.Add(numbers[0]);
}

bool HasRls(const Services& services) { return services.options.serves_rls(); }
bool HasXds(const Services& services) { return !services.options.rls_xds.servers.empty(); }

bool HasReference(const Services& services) {
  return HasRls(services) && services.options.rls_metrics == RlsMetrics::kReference;
}

constexpr Metric kRlsMetrics[] = {
    {.title = "Envoy's rate limit service"},
    {"weir_rls_calls_total", "domain, code",
     "Calls of Envoy's rate limit service that were decided: ok or over_limit.", CollectCalls,
     HasRls},
    {"weir_rls_no_match_total", "domain", "Their descriptors that no rule has matched.",
     CollectNoMatch, HasRls},
    {"weir_rls_errors_total", "code",
     "Calls that were answered an error, which Envoy lets pass by default; and messages that are "
     "too long, which are over the limit.",
     CollectCallErrors, HasRls},
    {"weir_rls_duration_seconds", "", "The time that calls have kept a thread busy.",
     CollectCallDurations, HasRls},
    {"weir_rls_config_loads_total", "result", "Loads of the rules: success or error.", CollectLoads,
     HasRls},
    {.measures = {"weir_rls_config_failing", "weir_rls_xds_connected"}},
    {"weir_rls_xds_responses_total", "result",
     "Responses of the control plane of rls-xds: accepted or refused.", CollectXdsResponses,
     HasXds},
    {.title = "The same by the names of envoyproxy/ratelimit (`--rls-metrics=reference`)"},
    {"ratelimit_service_rate_limit_total_hits", "domain, key1, key2",
     "Hits of descriptors that a limit has decided, by the first two levels of their rules.",
     CollectHits<0>, HasReference, &Scrape::ReferenceNames},
    {"ratelimit_service_rate_limit_over_limit", "domain, key1, key2",
     "Those that were over the limit; of a report, those beyond it.", CollectHits<1>, HasReference,
     &Scrape::ReferenceNames},
    {"ratelimit_service_rate_limit_near_limit", "domain, key1, key2",
     "Those for which more than 80 % of the limit was in use.", CollectHits<2>, HasReference,
     &Scrape::ReferenceNames},
    {"ratelimit_service_rate_limit_within_limit", "domain, key1, key2",
     "Those of descriptors that were within the limit.", CollectHits<3>, HasReference,
     &Scrape::ReferenceNames},
    {"ratelimit_service_rate_limit_shadow_mode", "domain, key1, key2",
     "Those that were over the limit of a rule with shadow_mode.", CollectHits<4>, HasReference,
     &Scrape::ReferenceNames},
    {"ratelimit_service_should_rate_limit_error", "err_type",
     "Calls that were answered an error: redis_error if the server could not decide, else "
     "service_error.",
     CollectReferenceErrors, HasReference},
    {"ratelimit_service_total_requests", "grpc_method", "Calls, those over HTTP/1.1 included.",
     CollectReferenceRequests, HasReference},
    {"ratelimit_service_response_time_seconds", "grpc_method",
     "The time that calls have kept a thread busy.", CollectReferenceDurations, HasReference},
    {"ratelimit_service_config_load_success", "", "Loads of the rules.", CollectReferenceLoads,
     HasReference},
    {"ratelimit_service_config_load_error", "", "Loads that have failed.",
     CollectReferenceLoadErrors, HasReference},
    {"ratelimit_service_global_shadow_mode", "",
     "Calls that were over their limits, and that rls-shadow has answered OK.",
     CollectShadowedCalls, HasReference},
    {"ratelimit_service_rate_limit_DOMAIN_domain_not_found", "",
     "Descriptors of a domain that no rule has. What a name of Prometheus may not have is `_` in "
     "the domain.",
     CollectUnknownDomain, HasReference, &Scrape::UnknownDomains, true},
};

}  // namespace

std::span<const Metric> RlsMetricRows() { return kRlsMetrics; }

}  // namespace weir
