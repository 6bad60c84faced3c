#include "server/http/metrics.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <prometheus/metric_family.h>

#include "core/commands/command_spec.h"
#include "core/commands/limit_totals.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/rules/limit_counters.h"
#include "server/config/version.h"
#include "server/health/health_watch.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/http/limit_labels.h"
#include "server/http/request_tally.h"
#include "server/measures/server_snapshot.h"
#include "server/observe/metric_samples.h"
#include "server/observe/metric_text.h"
#include "server/os/process.h"

namespace weir {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// The state that one scrape reads.
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
  [[nodiscard]] const CommandRows& Commands() {
    if (!commands_) commands_ = services.totals.CommandsOf(services);
    return *commands_;
  }
  [[nodiscard]] std::uint64_t Count(StatsRow<false> row) {
    if (!counters_) counters_ = services.totals.CountersOf(services);
    return (*counters_)[row.index()];
  }
  // Requires: IsReplica, which may have changed since.
  [[nodiscard]] LinkStatus Link() { return Replication().link.value_or(LinkStatus{}); }
  // Converts a time of this host to the wall clock, which other hosts share.
  [[nodiscard]] double WallSeconds(HostInstant time) const {
    return Seconds(time.time_since_epoch() + services.host_clock_offset());
  }

  HttpServices& http;

 private:
  std::optional<LimitLabels::Folded> limits_;
  LimitLabels::Part part_;
  std::optional<CommandRows> commands_;
  std::optional<StatsNumbers> counters_;
};

// One metric.
struct Metric {
  const char* name;
  MetricType type;
  const char* help;
  void (*collect)(Scrape& scrape, Samples& samples);
  bool (*exists)(const Services& services) = nullptr;  // null: always
  bool by_limit = false;  // it has samples for each limit, of which collect() adds the Rows()
};

// A metric with one sample, without labels; `Read` is a lambda without captures.
template <typename Read>
constexpr Metric Single(const char* name, MetricType type, const char* help, Read /*read*/,
                        bool (*exists)(const Services&) = nullptr) {
  return {.name = name,
          .type = type,
          .help = help,
          .collect = [](Scrape& scrape, Samples& samples) { samples.Add(Read{}(scrape)); },
          .exists = exists};
}

// --- Metrics with labels ---

// The numbers of a limit.
constexpr std::size_t kAllowed = 0;
constexpr std::size_t kDenied = 1;
constexpr std::size_t kShadowDenied = 2;
constexpr std::size_t kNear = 3;
constexpr std::size_t kBans = 4;
constexpr std::size_t kChargedBeyond = 5;
static_assert(LimitCounters::kNames[kAllowed] == std::string_view("allowed"));
static_assert(LimitCounters::kNames[kDenied] == std::string_view("denied"));
static_assert(LimitCounters::kNames[kShadowDenied] == std::string_view("shadow_denied"));
static_assert(LimitCounters::kNames[kNear] == std::string_view("near_limit"));
static_assert(LimitCounters::kNames[kBans] == std::string_view("bans"));
static_assert(LimitCounters::kNames[kChargedBeyond] == std::string_view("charged_beyond"));

void CollectDecisions(Scrape& scrape, Samples& samples) {
  for (const auto& [limit, numbers] : scrape.Rows()) {
    samples.Add(numbers[kAllowed], {{"limit", limit}, {"result", "allowed"}});
    samples.Add(numbers[kDenied], {{"limit", limit}, {"result", "denied"}});
    if (numbers[kShadowDenied] == 0) continue;
    samples.Add(numbers[kShadowDenied], {{"limit", limit}, {"result", "shadow_denied"}});
  }
}

void CollectNear(Scrape& scrape, Samples& samples) {
  for (const auto& [limit, numbers] : scrape.Rows()) {
    samples.Add(numbers[kNear], {{"limit", limit}});
  }
}

// For a number that few limits have. The series of the others, which would stay 0, would be half of
// the page.
template <std::size_t kNumber>
void CollectRare(Scrape& scrape, Samples& samples) {
  for (const auto& [limit, numbers] : scrape.Rows()) {
    if (numbers[kNumber] != 0) samples.Add(numbers[kNumber], {{"limit", limit}});
  }
}

void CollectRequests(Scrape& scrape, Samples& samples) {
  const RequestTally::ByFace results = scrape.http.requests.Read(scrape.services);
  for (std::size_t i = 0; i < kRequestResults.size(); ++i) {
    samples.Add(results.resp[i], {{"face", "resp"}, {"result", kRequestResults[i]}});
  }
  for (std::size_t i = 0; i < kRequestResults.size(); ++i) {
    samples.Add(results.http[i], {{"face", "http"}, {"result", kRequestResults[i]}});
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
  const std::uint64_t cancelled = counts.cancelled_holds;
  samples.Add(counts.settled_holds - cancelled, {{"result", "committed"}});
  samples.Add(cancelled, {{"result", "cancelled"}});
  samples.Add(counts.expired_holds, {{"result", "expired"}});
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

void CollectOpenDescriptors(Scrape& /*scrape*/, Samples& samples) {
  if (const auto descriptors = OpenDescriptors()) samples.Add(*descriptors);
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

void AddIfKnown(std::optional<Nanos> span, Samples& samples) {
  if (span) samples.Add(Seconds(*span));
}

bool IsReplica(const Services& services) { return services.is_replica(); }
bool IsPrimary(const Services& services) { return !services.is_replica(); }
bool HasLease(const Services& services) {
  return IsPrimary(services) && services.settings.Get(&Options::min_replicas_to_write) > 0;
}

bool HasAcks(const Services& services) {
  return IsPrimary(services) && services.settings.Get(&Options::ack_replicas) > 0;
}

constexpr MetricType kCounter = MetricType::Counter;
constexpr MetricType kGauge = MetricType::Gauge;

// A counter of each limit.
constexpr Metric ByLimit(const char* name, const char* help, void (*collect)(Scrape&, Samples&)) {
  return {.name = name, .type = kCounter, .help = help, .collect = collect, .by_limit = true};
}

// In the order of the page. No key of a client is a label: there would be a series for each.
constexpr Metric kMetrics[] = {
    // Limits
    ByLimit("weir_limit_decisions_total", "Decisions of each limit, as RL.STATS counts them.",
            CollectDecisions),
    ByLimit("weir_limit_near_total",
            "Admissions after which at least 80 % of the limit was in use.", CollectNear),
    ByLimit("weir_bans_total", "Denials that have shut the limit (ban=).", CollectRare<kBans>),
    ByLimit("weir_charged_beyond_total", "Charges of tokens that were not there (RL.CHARGE).",
            CollectRare<kChargedBeyond>),
    Single("weir_metrics_limits_folded", kGauge,
           "Limits that are counted together as (others): see --metrics-max-limits.",
           [](Scrape& scrape) { return scrape.Limits().folded_names; }),
    // Requests and commands
    {"weir_requests_total", kCounter, "Requests for tokens, by the way they came.",
     CollectRequests},
    {"weir_command_duration_seconds", MetricType::Histogram,
     "The time that calls of commands that limit have kept a thread busy.", CollectDurations},
    {"weir_commands_total", kCounter, "Calls of each command.", CollectCommands},
    {"weir_command_errors_total", kCounter,
     "Calls that answered an error, and requests that were refused before they ran.",
     CollectCommandErrors},
    {"weir_errors_total", kCounter, "Errors by their first word.", CollectErrors},
    {"weir_http_responses_total", kCounter,
     "Responses over HTTP. One that a failed save replaces by a 503 counts as both.",
     CollectResponses},
    {"weir_check_incomplete_total", kCounter,
     "Checks that lacked the value of a variable, by the route of /check that they asked; without "
     "those of a route that skips such groups.",
     CollectIncompleteChecks},
    // The table
    Single("weir_buckets", kGauge, "Buckets in memory, with full ones that are not swept yet.",
           [](Scrape& scrape) { return scrape.Size().buckets; }),
    Single("weir_table_bytes", kGauge, "Memory of the table of buckets.",
           [](Scrape& scrape) { return scrape.Size().table_bytes; }),
    Single("weir_limits", kGauge, "Distinct limits in use.",
           [](Scrape& scrape) { return scrape.Size().limits; }),
    Single("weir_policies", kGauge, "Policies, with those that are retired.",
           [](Scrape& scrape) { return scrape.services.policies.size().policies; }),
    Single("weir_overrides", kGauge, "Overrides of all policies.",
           [](Scrape& scrape) { return scrape.services.policies.size().overrides; }),
    {"weir_evicted_total", kCounter,
     "Buckets dropped because of --max-memory; one that was not full forgave its use.",
     CollectEvicted},
    Single("weir_swept_total", kCounter, "Full buckets that were dropped.",
           [](Scrape& scrape) { return scrape.services.sweeper.dropped(); }),
    Single("weir_holds", kGauge, "Open holds (RL.RESERVE), one for each key of a request.",
           [](Scrape& scrape) { return scrape.services.upkeep.counts().open_holds; }),
    Single("weir_hold_bytes", kGauge, "Memory of holds, with the marks of settled ones.",
           [](Scrape& scrape) { return scrape.services.upkeep.counts().hold_bytes; }),
    {"weir_holds_total", kCounter,
     "Holds that have ended, by their result: committed, cancelled or expired.", CollectEndedHolds},
    // Clients
    {"weir_connections", kGauge, "Connected clients.", CollectConnections},
    Single("weir_connections_max", kGauge, "The most clients that may be connected: --max-clients.",
           [](Scrape& scrape) { return scrape.services.settings.Get(&Options::max_clients); }),
    Single("weir_connections_total", kCounter, "Connections that were accepted.",
           [](Scrape& scrape) { return scrape.Count("total_connections_received"); }),
    Single("weir_rejected_connections_total", kCounter,
           "Connections that were closed because too many were open.",
           [](Scrape& scrape) { return scrape.Count("rejected_connections"); }),
    Single("weir_waiters", kGauge,
           "Clients that wait for an answer: in RL.WAIT, WAIT, ACL LOAD, RL.POLICY DEL and others.",
           [](Scrape& scrape) { return scrape.services.waiters.load(); }),
    Single("weir_clients_memory_bytes", kGauge,
           "Memory of unfinished requests and of replies that wait.",
           [](Scrape& scrape) { return scrape.services.client_memory.held_bytes(); }),
    Single("weir_events_dropped_total", kCounter,
           "Messages of weir:denied and weir:used that a subscriber has missed, as it was behind.",
           [](Scrape& scrape) { return scrape.Count("events_dropped"); }),
    {"weir_denied_access_total", kCounter,
     "Wrong passwords, and commands, keys and channels that a user may not use.",
     CollectDeniedAccess},
    // The state on disk
    Single("weir_loading", kGauge,
           "1 while the state is loaded from disk or from the primary, or the start waits for "
           "Sentinel.",
           [](Scrape& scrape) { return scrape.services.admission().is_preparing() ? 1 : 0; }),
    Single(
        "weir_saves_total", kCounter, "Saves that have written changes.",
        [](Scrape& scrape) { return scrape.Saves().saves; }, IsLoaded),
    Single(
        "weir_save_failures_total", kCounter, "Saves that have failed.",
        [](Scrape& scrape) { return scrape.Saves().failures; }, IsLoaded),
    Single(
        "weir_last_save_timestamp_seconds", kGauge,
        "The beginning of the last save that succeeded, in Unix time.",
        [](Scrape& scrape) { return scrape.WallSeconds(scrape.LastSave()); }, IsLoaded),
    Single(
        "weir_last_save_duration_seconds", kGauge, "The duration of that save.",
        [](Scrape& scrape) { return Seconds(scrape.Saves().last_save_duration); }, IsLoaded),
    Single(
        "weir_unsaved_changes", kGauge,
        "Changes of buckets that wait to be saved: one or more for each changed bucket.",
        [](Scrape& scrape) { return scrape.UnsavedChanges(); }, IsLoaded),
    Single(
        "weir_loss_bound_seconds", kGauge, "The time whose admissions a crash now would lose.",
        [](Scrape& scrape) { return Seconds(scrape.LossBound()); }, IsLoaded),
    // Replication
    Single("weir_replica", kGauge, "1 on a replica, 0 on a primary.",
           [](Scrape& scrape) { return scrape.services.is_replica() ? 1 : 0; }),
    Single("weir_deposed", kGauge, "1 on a primary that has heard of one of a later term.",
           [](Scrape& scrape) { return scrape.Replication().deposed ? 1 : 0; }),
    Single("weir_replication_term", kGauge,
           "The number of the history; it grows by each promotion.",
           [](Scrape& scrape) { return scrape.Replication().term; }),
    Single("weir_replication_offset_bytes", kGauge,
           "The bytes of the history: written by a primary, applied by a replica.",
           [](Scrape& scrape) { return scrape.Replication().offset; }),
    Single(
        "weir_replicas", kGauge, "Replicas that are connected and in sync.",
        [](Scrape& scrape) {
          return std::ranges::count(scrape.Replication().replicas, true, &ReplicaStatus::online);
        },
        IsPrimary),
    {"weir_replica_offset_bytes", kGauge, "The bytes of the history that a replica has applied.",
     CollectReplicaOffsets, IsPrimary},
    {"weir_replica_lag_seconds", kGauge, "The time since a replica's last acknowledgement.",
     CollectReplicaLags, IsPrimary},
    {"weir_replication_loss_bound_seconds", kGauge,
     "The time whose admissions a failover now would lose, once a replica was in sync.",
     [](Scrape& scrape, Samples& samples) { AddIfKnown(scrape.Replication().loss_bound, samples); },
     IsPrimary},
    Single(
        "weir_replication_lease_seconds", kGauge,
        "The time for which a primary may still admit if it hears no replica.",
        [](Scrape& scrape) { return Seconds(scrape.LeaseLeft()); }, HasLease),
    Single(
        "weir_replication_acks_waiting", kGauge,
        "Groups of replies, and clients in WAIT, that wait for replicas to acknowledge.",
        [](Scrape& scrape) { return scrape.AcksWaiting(); }, HasAcks),
    Single(
        "weir_replication_link_up", kGauge, "1 while a replica hears from its primary.",
        [](Scrape& scrape) { return scrape.Link().up ? 1 : 0; }, IsReplica),
    {"weir_replication_data_age_seconds", kGauge,
     "The age of what a replica has, once it was in sync: the time since the last frame that it "
     "applied.",
     [](Scrape& scrape, Samples& samples) { AddIfKnown(scrape.Link().data_age, samples); },
     IsReplica},
    Single(
        "weir_replication_partitions_left", kGauge,
        "Partitions of 4,096 that a replica still waits for.",
        [](Scrape& scrape) { return scrape.Link().partitions_left; }, IsReplica),
    // The program
    Single("weir_health", kGauge, "0: the server is well, 1: a warning, 2: something is wrong.",
           [](auto& scrape) { return static_cast<int>(HealthOf(scrape.services)->state); }),
    {"weir_build_info", kGauge, "1, with the version and the durability of the server.",
     CollectBuild},
    Single("process_cpu_seconds_total", kCounter, "Time on processors, of all threads.",
           [](Scrape&) { return Seconds(ProcessorTime()); }),
    Single("process_resident_memory_bytes", kGauge, "Resident memory.",
           [](Scrape&) { return ResidentBytes(); }),
    {"process_open_fds", kGauge, "Open file descriptors.", CollectOpenDescriptors},
    Single("process_max_fds", kGauge, "The limit on open file descriptors.",
           [](Scrape&) { return DescriptorsMax(); }),
    Single("process_start_time_seconds", kGauge, "The start of the server, in Unix time.",
           [](Scrape& scrape) { return scrape.WallSeconds(scrape.services.started); }),
};

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

  [[nodiscard]] bool is_done() const noexcept { return metric_ == std::size(kMetrics); }
  // Returns the number of bytes. Requires: !is_done().
  [[nodiscard]] std::size_t WritePart() {
    const Metric& metric = kMetrics[metric_];
    const std::size_t before = page_.size();
    if (!metric.exists || metric.exists(scrape_.services)) {
      const bool goes_on = scrape_.TakeRows(metric.by_limit ? kRowsOfPart : 0);
      MetricFamily family{
          .name = metric.name, .help = metric.help, .type = metric.type, .metric = {}};
      Samples added(family);
      metric.collect(scrape_, added);
      AppendMetric(family, goes_on, page_);
    }
    if (!scrape_.HasMoreRows()) ++metric_;
    return page_.size() - before;
  }
  [[nodiscard]] std::string TakePage() { return std::move(page_); }
  [[nodiscard]] std::size_t held_bytes() const noexcept { return page_.capacity(); }

 private:
  Scrape scrape_;
  std::string page_;
  std::size_t metric_ = 0;  // of kMetrics
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

void Metrics(HttpExchange& exchange) {
  constexpr std::array<std::string_view, 1> kInfo = {"INFO"};
  constexpr std::array<std::string_view, 1> kStats = {"RL.STATS"};
  if (!exchange.MayRun(kInfo) || !exchange.MayRun(kStats)) return;
  GoOn(std::make_unique<PageWriter>(exchange.services(), exchange.http(), exchange.now()),
       exchange);
}

}  // namespace weir
