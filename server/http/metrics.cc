#include "server/http/metrics.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <prometheus/metric_family.h>

#include "core/base/status.h"
#include "core/commands/command_spec.h"
#include "core/commands/limit_totals.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/rules/limit_counters.h"
#include "server/commands/command_table.h"
#include "server/config/version.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/http/metric_rows.h"
#include "server/http/request_tally.h"
#include "server/http/rls_metrics.h"
#include "server/measures/limit_labels.h"
#include "server/measures/measure.h"
#include "server/measures/server_snapshot.h"
#include "server/observe/metric_samples.h"
#include "server/observe/metric_text.h"
#include "server/session/worker.h"

namespace weir {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// --- Metrics with labels ---

// A number of a limit.
consteval std::size_t Number(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(LimitCounters::kNames, name) -
                                  LimitCounters::kNames.begin());
}

void CollectDecisions(Scrape& scrape, Samples& samples) {
  for (const auto& [limit, numbers] : scrape.ChosenRows()) {
    samples.Add(numbers[Number("allowed")], {{"limit", limit}, {"result", "allowed"}});
    samples.Add(numbers[Number("denied")], {{"limit", limit}, {"result", "denied"}});
    if (numbers[Number("shadow_denied")] == 0) continue;
    samples.Add(numbers[Number("shadow_denied")], {{"limit", limit}, {"result", "shadow_denied"}});
  }
}

void CollectNear(Scrape& scrape, Samples& samples) {
  for (const auto& [limit, numbers] : scrape.ChosenRows()) {
    samples.Add(numbers[Number("near_limit")], {{"limit", limit}});
  }
}

// For a number that few limits have. The series of the others, which would stay 0, would be half of
// the page.
template <std::size_t kNumber>
void CollectRare(Scrape& scrape, Samples& samples) {
  for (const auto& [limit, numbers] : scrape.ChosenRows()) {
    if (numbers[kNumber] != 0) samples.Add(numbers[kNumber], {{"limit", limit}});
  }
}

void CollectFolded(Scrape& scrape, Samples& samples) { samples.Add(scrape.Limits().folded_names); }

void CollectRequests(Scrape& scrape, Samples& samples) {
  const RequestTally::ByFace results = scrape.http.requests.Read(scrape.services);
  for (std::size_t i = 0; i < kRequestResults.size(); ++i) {
    samples.Add(results.resp[i], {{"face", "resp"}, {"result", kRequestResults[i]}});
  }
  for (std::size_t i = 0; i < kRequestResults.size(); ++i) {
    samples.Add(results.http[i], {{"face", "http"}, {"result", kRequestResults[i]}});
  }
  if (!scrape.services.options.serves_rls()) return;
  for (std::size_t i = 0; i < kRequestResults.size(); ++i) {
    samples.Add(results.rls[i], {{"face", "rls"}, {"result", kRequestResults[i]}});
  }
}

void CollectDurations(Scrape& scrape, Samples& samples) {
  for (const auto& [spec, row] : scrape.Commands()) {
    const bool limits = spec->name.starts_with("RL.") || spec->name.starts_with("CL.");
    if (limits) samples.AddDurations(row, {{"command", LowerName(*spec)}});
  }
}

void CollectCommands(Scrape& scrape, Samples& samples) {
  for (const auto& [spec, row] : scrape.Commands()) {
    samples.Add(TotalOf(row.times), {{"command", LowerName(*spec)}});
  }
}

void CollectCommandErrors(Scrape& scrape, Samples& samples) {
  for (const auto& [spec, row] : scrape.Commands()) {
    samples.Add(row.failed + row.rejected, {{"command", LowerName(*spec)}});
  }
}

void CollectErrors(Scrape& scrape, Samples& samples) {
  for (const auto& [prefix, count] : scrape.services.totals.ErrorsOf(scrape.services)) {
    samples.Add(count, {{"prefix", MetricLabel(prefix)}});
  }
}

// 1xx are not counted, and paths that do not exist have errors only.
void CollectResponses(Scrape& scrape, Samples& samples) {
  constexpr auto kCodes = std::to_array<std::string_view>({"1xx", "2xx", "3xx", "4xx", "5xx"});
  static_assert(kCodes.size() == HttpResponseCounters::kClasses);
  for (std::size_t group = 0; group < kHttpRouteGroupNames.size(); ++group) {
    for (std::size_t of = 1; of < kCodes.size(); ++of) {
      samples.Add(scrape.http.responses.value(static_cast<HttpRouteGroup>(group), of),
                  {{"route", kHttpRouteGroupNames[group]}, {"code", kCodes[of]}});
    }
  }
}

void CollectHttp2Closed(Scrape& scrape, Samples& samples) {
  for (std::size_t end = 0; end < kHttp2EndNames.size(); ++end) {
    samples.Add(scrape.services.http2.closed(static_cast<Http2End>(end)),
                {{"reason", kHttp2EndNames[end]}});
  }
}

void CollectIncompleteChecks(Scrape& scrape, Samples& samples) {
  for (const auto& [route, checks] : scrape.http.checks.Incomplete()) {
    samples.Add(checks, {{"route", route}});
  }
}

void CollectEvicted(Scrape& scrape, Samples& samples) {
  samples.Add(scrape.services.upkeep.counts().evicted, {{"full", "false"}});
  samples.Add(scrape.services.upkeep.counts().evicted_full, {{"full", "true"}});
}

void CollectEndedHolds(Scrape& scrape, Samples& samples) {
  const LimiterUpkeep::Counts counts = scrape.services.upkeep.counts();
  samples.Add(counts.settled_holds - counts.cancelled_holds, {{"result", "committed"}});
  samples.Add(counts.cancelled_holds, {{"result", "cancelled"}});
  samples.Add(counts.expired_holds, {{"result", "expired"}});
  samples.Add(counts.lapsed_slices, {{"result", "lapsed"}});
}

void CollectConnections(Scrape& scrape, Samples& samples) {
  for (std::size_t face = 0; face < kFaceNames.size(); ++face) {
    samples.Add(scrape.services.clients.size(static_cast<Face>(face)),
                {{"face", kFaceNames[face]}});
  }
}

void CollectDeniedAccess(Scrape& scrape, Samples& samples) {
  const AccessLog::Counts counts = scrape.services.access_log.counts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    samples.Add(counts[i], {{"reason", AccessLog::kReasonNames[i]}});
  }
}

void CollectBuild(Scrape& scrape, Samples& samples) {
  samples.Add(1, {{"version", kVersion}, {"durability", scrape.DurabilityWord()}});
}

// A replica by its address and port.
void CollectReplicas(Scrape& scrape, Samples& samples, double (*value)(const ReplicaStatus&)) {
  for (const ReplicaStatus& replica : scrape.Replication().replicas) {
    const std::string name = absl::StrCat(replica.ip, ":", replica.port);
    samples.Add(value(replica), {{"replica", name}});
  }
}

void CollectReplicaOffsets(Scrape& scrape, Samples& samples) {
  CollectReplicas(scrape, samples,
                  [](const ReplicaStatus& replica) { return static_cast<double>(replica.offset); });
}

void CollectReplicaLags(Scrape& scrape, Samples& samples) {
  CollectReplicas(scrape, samples,
                  [](const ReplicaStatus& replica) { return Seconds(replica.lag); });
}

void CollectEdgeLink(Scrape& scrape, Samples& samples) {
  samples.Add(IsEdgeConnected(scrape.services));
}

void CollectEdgeRtt(Scrape& scrape, Samples& samples) {
  samples.Add(static_cast<double>(EdgeMax(scrape.services, &EdgeNumbers::rtt_us)) / 1e6);
}

void CollectDecidedByEdge(Scrape& scrape, Samples& samples) {
  samples.Add(EdgeSum(scrape.services, &EdgeNumbers::decided_locally_allowed),
              {{"result", "allowed"}});
  samples.Add(EdgeSum(scrape.services, &EdgeNumbers::decided_locally_denied),
              {{"result", "denied"}});
}

void CollectPassedOn(Scrape& scrape, Samples& samples) {
  samples.Add(EdgeSum(scrape.services, &EdgeNumbers::passed_on));
}

void CollectAnsweredAway(Scrape& scrape, Samples& samples) {
  samples.Add(EdgeSum(scrape.services, &EdgeNumbers::away_error), {{"answer", "error"}});
  samples.Add(EdgeSum(scrape.services, &EdgeNumbers::away_closed), {{"answer", "closed"}});
  samples.Add(EdgeSum(scrape.services, &EdgeNumbers::away_open), {{"answer", "open"}});
}

void CollectEdgeTokens(Scrape& scrape, Samples& samples) {
  samples.Add(EdgeSum(scrape.services, &EdgeNumbers::granted), {{"result", "granted"}});
  samples.Add(EdgeSum(scrape.services, &EdgeNumbers::spent), {{"result", "spent"}});
  samples.Add(EdgeSum(scrape.services, &EdgeNumbers::settled), {{"result", "settled"}});
  samples.Add(EdgeSum(scrape.services, &EdgeNumbers::wasted), {{"result", "wasted"}});
}

bool IsEdge(const Services& services) { return services.options.is_edge(); }
bool IsReplica(const Services& services) { return services.is_replica(); }
bool IsPrimary(const Services& services) { return !services.is_replica(); }
bool HasLease(const Services& services) {
  return IsPrimary(services) && services.settings.Get(&Options::min_replicas_to_write) > 0;
}

bool HasAcks(const Services& services) {
  return IsPrimary(services) && services.settings.Get(&Options::ack_replicas) > 0;
}

// The rows of the page are these, then those of Envoy's rate limit service, then kServerMetrics. No
// key of a client is a label: there would be a series for each.
constexpr Metric kRequestMetrics[] = {
    {.title = "Limits"},
    {"weir_limit_decisions_total", "limit, result",
     "Decisions of each limit, as RL.STATS counts them.", CollectDecisions, nullptr,
     &Scrape::LimitRows},
    {"weir_limit_near_total", "limit",
     "Admissions after which at least 80 % of the limit was in use.", CollectNear, nullptr,
     &Scrape::LimitRows},
    {"weir_bans_total", "limit", "Denials that have shut the limit (ban=).",
     CollectRare<Number("bans")>, nullptr, &Scrape::LimitRows},
    {"weir_charged_beyond_total", "limit", "Charges of tokens that were not there (RL.CHARGE).",
     CollectRare<Number("charged_beyond")>, nullptr, &Scrape::LimitRows},
    {"weir_metrics_limits_folded", "",
     "Limits that are counted together as (others): see --metrics-max-limits.", CollectFolded},
    {.title = "Requests and commands"},
    {"weir_requests_total", "face, result", "Requests for tokens, by the way they came.",
     CollectRequests},
    {"weir_command_duration_seconds", "command",
     "The time that calls of commands that limit have kept a thread busy.", CollectDurations},
    {"weir_commands_total", "command", "Calls of each command.", CollectCommands},
    {"weir_command_errors_total", "command",
     "Calls that answered an error, and requests that were refused before they ran.",
     CollectCommandErrors},
    {"weir_errors_total", "prefix", "Errors by their first word.", CollectErrors},
    {"weir_http_responses_total", "route, code",
     "Responses over HTTP. One that a failed save replaces by a 503 counts as both.",
     CollectResponses},
    {"weir_h2_closed_total", "reason", "Connections of HTTP/2 that have ended, by the reason.",
     CollectHttp2Closed},
    {"weir_check_incomplete_total", "route",
     "Checks that lacked the value of a variable, by the route of /check that they asked; "
     "without those of a route that skips such groups.",
     CollectIncompleteChecks},
};

constexpr Metric kServerMetrics[] = {
    {.title = "The table",
     .measures = {"weir_buckets", "weir_table_bytes", "weir_limits", "weir_policies",
                  "weir_overrides"}},
    {"weir_evicted_total", "full",
     "Buckets dropped because of --max-memory; one that was not full forgave its use.",
     CollectEvicted},
    {.measures = {"weir_swept_total", "weir_holds", "weir_hold_bytes"}},
    {"weir_holds_total", "result",
     "Holds that have ended, by their result: committed, cancelled, expired or (slices) lapsed.",
     CollectEndedHolds},
    {.measures = {"weir_slices", "weir_slice_tokens", "weir_slices_granted_total",
                  "weir_slices_lapsed_total"}},
    {.title = "Clients"},
    {"weir_connections", "face", "Connected clients.", CollectConnections},
    {.measures = {"weir_connections_max", "weir_connections_total",
                  "weir_rejected_connections_total", "weir_waiters", "weir_clients_memory_bytes",
                  "weir_events_dropped_total"}},
    {"weir_denied_access_total", "reason",
     "Wrong passwords, and commands, keys and channels that a user may not use.",
     CollectDeniedAccess},
    {.title = "The state on disk",
     .measures = {"weir_loading", "weir_saves_total", "weir_save_failures_total",
                  "weir_last_save_timestamp_seconds", "weir_last_save_duration_seconds",
                  "weir_unsaved_changes", "weir_loss_bound_seconds"}},
    {.title = "Replication",
     .measures = {"weir_replica", "weir_deposed", "weir_replication_term",
                  "weir_replication_offset_bytes"}},
    {.exists = IsPrimary, .measures = {"weir_replicas"}},
    {"weir_replica_offset_bytes", "replica", "The bytes of the history that a replica has applied.",
     CollectReplicaOffsets, IsPrimary},
    {"weir_replica_lag_seconds", "replica", "The time since a replica's last acknowledgement.",
     CollectReplicaLags, IsPrimary},
    {.exists = IsPrimary, .measures = {"weir_replication_loss_bound_seconds"}},
    {.exists = HasLease, .measures = {"weir_replication_lease_seconds"}},
    {.exists = HasAcks, .measures = {"weir_replication_acks_waiting"}},
    {.exists = IsReplica,
     .measures = {"weir_replication_link_up", "weir_replication_data_age_seconds",
                  "weir_replication_partitions_left"}},
    {.title = "An edge"},
    {"weir_edge_connected", "", "1 while an edge is connected to its primary, else 0.",
     CollectEdgeLink, IsEdge},
    {"weir_edge_rtt_seconds", "",
     "The time until the primary answers, smoothed, on the slowest link; 0: none is up.",
     CollectEdgeRtt, IsEdge},
    {.exists = IsEdge, .measures = {"weir_edge_forms", "weir_edge_in_hand"}},
    {"weir_edge_decided_locally_total", "result", "Requests that an edge has decided itself.",
     CollectDecidedByEdge, IsEdge},
    {"weir_edge_passed_on_total", "", "Commands that an edge has passed on to its primary.",
     CollectPassedOn, IsEdge},
    {"weir_edge_away_total", "answer",
     "Requests that were answered without a primary: --edge-away.", CollectAnsweredAway, IsEdge},
    {.exists = IsEdge, .measures = {"weir_edge_asks_total"}},
    {"weir_edge_slice_tokens_total", "result",
     "Tokens of slices: granted by the primary, spent, settled (given back) and wasted (lapsed).",
     CollectEdgeTokens, IsEdge},
    {.title = "The program", .measures = {"weir_health"}},
    {"weir_build_info", "version, durability",
     "1, with the version and the durability of the server.", CollectBuild},
    {.measures = {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
                  "process_max_fds", "process_start_time_seconds"}},
};

MetricFamily FamilyOf(std::string_view name, std::string_view help) {
  const bool is_histogram =
      name.ends_with("_duration_seconds") || name.ends_with("_response_time_seconds");
  // Those of the reference are no gauges either.
  const bool is_counter = name.ends_with("_total") || name.starts_with("ratelimit_");
  const MetricType type = is_histogram && name != "weir_last_save_duration_seconds"
                              ? MetricType::Histogram
                          : is_counter ? MetricType::Counter
                                       : MetricType::Gauge;
  return {.name = std::string(name), .help = std::string(help), .type = type, .metric = {}};
}

MetricFamily FamilyOf(const Measure& measure) {
  return FamilyOf(measure.names.metric, measure.help);
}

// All rows, in the order of the page.
std::span<const Metric* const> MetricRows() {
  static const std::vector<const Metric*> kRows = [] {
    std::vector<const Metric*> rows;
    for (const Metric& metric : kRequestMetrics) rows.push_back(&metric);
    for (const Metric& metric : RlsMetricRows()) rows.push_back(&metric);
    for (const Metric& metric : kServerMetrics) rows.push_back(&metric);
    return rows;
  }();
  return kRows;
}

constexpr std::size_t kPageBytes = std::size_t{128} * 1024;  // of a page for 500 limits
constexpr std::size_t kRowsOfPart = 64;
constexpr std::size_t kBytesPerUnit = 64;  // written in about a microsecond: a line

// Writes the page in parts, each of a metric, or of some limits of one, so that other clients have
// their turns between them. The counts of limits are all of one time.
class PageWriter {
 public:
  PageWriter(Services& services, HttpServices& http, Instant now) : scrape_(services, http, now) {
    page_.reserve(kPageBytes);
  }

  [[nodiscard]] bool is_done() const noexcept { return metric_ == MetricRows().size(); }
  // Returns the number of bytes. Requires: !is_done().
  [[nodiscard]] std::size_t WritePart() {
    const Metric& metric = *MetricRows()[metric_];
    const std::size_t before = page_.size();
    const bool exists = !metric.exists || metric.exists(scrape_.services);
    if (exists) {
      for (const std::string_view name : metric.measures) {
        if (name.empty()) continue;
        const Measure& measure = FindMeasure(&MeasureNames::metric, name);
        if (metric.exists || measure.Exists(scrape_)) Append(measure);
      }
      if (metric.collect) AppendLabelled(metric);
    }
    if (!exists || !metric.rows || !scrape_.HasMoreRows((scrape_.*metric.rows)())) {
      scrape_.EndRows();
      ++metric_;
    }
    return page_.size() - before;
  }
  [[nodiscard]] std::string TakePage() { return std::move(page_); }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return page_.capacity(); }

 private:
  // Without a sample if the value is unknown.
  void Append(const Measure& measure) {
    MetricFamily family = FamilyOf(measure);
    Samples samples(family);
    const MeasureValue value = measure.read(scrape_);
    if (const auto* const flag = std::get_if<bool>(&value)) samples.Add(*flag);
    if (const auto* const number = std::get_if<std::int64_t>(&value)) samples.Add(*number);
    if (const auto* const span = std::get_if<Nanos>(&value)) samples.Add(Seconds(*span));
    AppendMetric(family, false, page_);
  }
  void AppendLabelled(const Metric& metric) {
    const std::size_t rows_max = metric.is_named_by_row ? 1 : kRowsOfPart;
    bool goes_on = metric.rows && scrape_.TakeRows((scrape_.*metric.rows)(), rows_max);
    std::string name(metric.name);
    if (metric.is_named_by_row) {
      const LimitLabels::RowRange row = scrape_.ChosenRows();
      if (row.begin() == row.end()) return;
      name = absl::StrReplaceAll(name, {{"DOMAIN", row.begin()->first}});
      goes_on = false;
    }
    MetricFamily family = FamilyOf(name, metric.help);
    Samples samples(family);
    metric.collect(scrape_, samples);
    AppendMetric(family, goes_on, page_);
  }

  Scrape scrape_;
  std::string page_;
  std::size_t metric_ = 0;  // of kServerMetrics
};

// Writes the parts that are left, as far as this turn goes.
void GoOn(std::unique_ptr<PageWriter> writer, HttpExchange& exchange) {
  while (!writer->is_done()) {
    if (exchange.IsTurnOver()) {
      const std::size_t bytes = writer->held_bytes();
      return exchange.GoOnLater(
          [writer = std::move(writer)](HttpExchange& later) mutable {
            GoOn(std::move(writer), later);
          },
          bytes);
    }
    exchange.session().work().Charge(1 + writer->WritePart() / kBytesPerUnit);
  }
  exchange.Answer(200, kMetricsType, writer->TakePage());
}

}  // namespace

std::string MetricsText(Services& services, HttpServices& http, Instant now) {
  PageWriter writer(services, http, now);
  while (!writer.is_done()) static_cast<void>(writer.WritePart());
  return writer.TakePage();
}

std::string MetricsMarkdown() {
  std::string page;
  const auto add = [&page](const MetricFamily& family, std::string_view labels) {
    const std::string names = absl::StrReplaceAll(AbslView(labels), {{", ", "`, `"}});
    absl::StrAppend(&page, "| `", family.name, "` | ",
                    family.type == MetricType::Counter ? "counter"
                    : family.type == MetricType::Gauge ? "gauge"
                                                       : "histogram",
                    " | ", labels.empty() ? "-" : absl::StrCat("`", names, "`"), " | ", family.help,
                    " |\n");
  };
  for (const Metric* const row : MetricRows()) {
    const Metric& metric = *row;
    if (!metric.title.empty()) {
      absl::StrAppend(&page, page.empty() ? "" : "\n", "### ", AbslView(metric.title),
                      "\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n");
    }
    for (const std::string_view name : metric.measures) {
      if (!name.empty()) add(FamilyOf(FindMeasure(&MeasureNames::metric, name)), "");
    }
    if (metric.collect) add(FamilyOf(metric.name, metric.help), metric.labels);
  }
  return page;
}

void Metrics(HttpExchange& exchange) {
  constexpr std::array<std::string_view, 1> kInfo = {"INFO"};
  constexpr std::array<std::string_view, 1> kStats = {"RL.STATS"};
  if (!exchange.MayRun(kInfo) || !exchange.MayRun(kStats)) return;
  GoOn(std::make_unique<PageWriter>(exchange.services(), exchange.http(), exchange.now()),
       exchange);
}

}  // namespace weir
