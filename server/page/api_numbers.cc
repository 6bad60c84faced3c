#include "server/page/api_numbers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/commands/limit_totals.h"
#include "core/rules/limit_counters.h"
#include "protocol/json_writer.h"
#include "server/config/version.h"
#include "server/health/health.h"
#include "server/health/health_watch.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/measures/info_texts.h"
#include "server/measures/measure.h"
#include "server/measures/server_snapshot.h"
#include "server/page/api_parameters.h"
#include "server/page/page_request.h"
#include "server/session/worker.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 1> kInfo = {"INFO"};
constexpr std::array<std::string_view, 1> kStats = {"RL.STATS"};

constexpr std::string_view kTotal = "(total)";
constexpr std::string_view kAllLimits = "*";

// The seconds by which the wall clock is ahead of the server's.
std::int64_t WallOffsetSeconds(const Services& services) {
  return std::chrono::round<std::chrono::seconds>(services.wall_clock_offset()).count();
}

std::int64_t SecondOf(Instant time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

// Appends "allowed":..,"denied":.. and so on.
void AppendNumbers(const LimitTotals::Numbers& numbers, JsonWriter json) {
  for (std::size_t i = 0; i < numbers.size(); ++i) json.Field(LimitCounters::kNames[i], numbers[i]);
}

// --- /api/now -----------------------------------------------------------------------------------

// Appends what came in the last minute, and how long the commands that ask for tokens took.
void AppendMinute(const MinuteFacts& minute, JsonWriter json) {
  const auto micros = [](Nanos time) { return static_cast<double>(time.count()) / 1000; };
  if (minute.calls == 0) {
    json.Field("latency_us", std::nullopt);
  } else {
    json.Object("latency_us")
        .Field("p50", micros(minute.p50))
        .Field("p99", micros(minute.p99))
        .Field("window_s", WholeSeconds(minute.length))
        .EndObject();
  }
  json.Object("last_minute")
      .Field("window_s", WholeSeconds(minute.length))
      .Field("errors", minute.errors)
      .Field("rejected_connections", minute.rejected)
      .Field("evicted", minute.evicted + minute.evicted_full)
      .EndObject();
}

void AppendMeasure(std::string_view name, const MeasureValue& measured, JsonWriter json) {
  if (const auto* const flag = std::get_if<bool>(&measured)) {
    json.Field(name, *flag);
  } else if (const auto* const number = std::get_if<std::int64_t>(&measured)) {
    json.Field(name, *number);
  } else if (const auto* const span = std::get_if<Nanos>(&measured)) {
    json.Field(name, CeilMillis(*span));
  } else if (const auto* const text = std::get_if<std::string>(&measured)) {
    json.Field(name, *text);
  } else {
    json.Field(name, std::nullopt);
  }
}

// Appends measures to an object, each as "name":value; null if it does not exist.
void AppendMeasures(std::initializer_list<std::string_view> names, ServerSnapshot& server,
                    JsonWriter json) {
  for (const std::string_view name : names) {
    const Measure& measure = FindMeasure(&MeasureNames::json, name);
    AppendMeasure(name.substr(name.rfind('.') + 1),
                  measure.Exists(server) ? measure.read(server) : MeasureValue(), json);
  }
}

std::string AddressText(std::string_view host, std::uint16_t port) {
  return absl::StrCat(AbslView(host), ":", port);
}

void AppendLink(ServerSnapshot& server, JsonWriter json) {
  if (!server.Replication().link) {
    json.Field("link", std::nullopt);
    return;
  }
  const LinkStatus& link = server.Link();
  json.Object("link")
      .Field("primary", AddressText(link.primary.host, link.primary.port))
      .Field("state", WordOf(link.state));
  AppendMeasures({"replication.link.up"}, server, json);
  json.Field("down_ms", CeilMillis(link.down_for));
  AppendMeasures({"replication.link.complete", "replication.link.data_age_ms"}, server, json);
  json.EndObject();
}

void AppendReplication(ServerSnapshot& server, JsonWriter json) {
  json.Object("replication");
  AppendMeasures({"replication.term", "replication.offset", "replication.loss_bound_ms"}, server,
                 json);
  AppendLink(server, json);
  json.Array("replicas");
  for (const ReplicaStatus& replica : server.Replication().replicas) {
    json.Object()
        .Field("address", AddressText(replica.ip, replica.port))
        .Field("online", replica.online)
        .Field("offset", replica.offset)
        .Field("lag_ms", CeilMillis(replica.lag))
        .EndObject();
  }
  json.EndArray().EndObject();
}

// The times are those of the wall clock, as all of the page.
void AppendVerdict(const Services& services, JsonWriter json) {
  const std::shared_ptr<const Health> health = HealthOf(services);
  json.Object("verdict").Field("state", WordOf(health->state)).Array("reasons");
  for (const HealthReason& reason : health->reasons) {
    const Nanos since = reason.since.time_since_epoch() + services.host_clock_offset();
    json.Object()
        .Field("code", reason.code)
        .Field("text", reason.text)
        .Field("since_ms", std::chrono::floor<std::chrono::milliseconds>(since).count())
        .EndObject();
  }
  json.EndArray().EndObject();
}

std::string NowJson(HttpExchange& exchange) {
  Services& services = exchange.services();
  ServerSnapshot server(services, exchange.now());
  const std::string_view read_only =
      services.is_replica() ? "this server is a replica" : ReadOnlyReason(exchange);
  std::string text;
  JsonWriter json(text);
  json.Object().Field("time_ms", UnixMillis(services, exchange.now()));
  AppendMeasures({"uptime_s", "version", "role"}, server, json);
  json.Field("server", ServerName(services));
  AppendVerdict(services, json);
  AppendReplication(server, json);
  AppendMeasures({"port"}, server, json);
  json.Field("user", exchange.session().client().user()->name())
      .Field("can_change", read_only.empty())
      .Field("read_only_because", read_only.empty() ? std::nullopt : std::optional(read_only));
  AppendMeasures({"durability", "loss_bound_ms", "last_save_age_ms", "last_save_ok", "buckets",
                  "holds", "memory_bytes", "process_memory_bytes", "max_memory_bytes",
                  "memory_permille", "connections", "http_connections", "commands"},
                 server, json);
  AppendMinute(MinuteOf(services), json);
  json.Object("total");
  AppendNumbers(services.limit_totals.Total(RequestCountersOf(services)), json);
  json.EndObject();
  AppendMeasures({"limits", "policies"}, server, json);
  json.EndObject();
  return text;
}

// --- /api/history -------------------------------------------------------------------------------

// Appends the numbers of a series, each as an array: "allowed":[null,7].
void AppendSeries(const RateHistory::Series& series, std::size_t missing, JsonWriter json) {
  for (std::size_t number = 0; number < RateHistory::kNumbers; ++number) {
    json.Array(LimitCounters::kNames[number]);
    for (std::size_t i = 0; i < missing; ++i) json.Value(std::nullopt);
    for (const RateHistory::Counts& step : series.steps) json.Value(step[number]);
    json.EndArray();
  }
}

std::string HistoryJson(const RateHistory::Steps& steps, std::int64_t width, std::int64_t from,
                        std::string_view wanted) {
  std::string text;
  JsonWriter json(text);
  json.Object().Field("step", width).Field("from", from).Array("series");
  for (const RateHistory::Series& series : steps.series) {
    const std::string_view name = series.limit.empty() ? kTotal : std::string_view(series.limit);
    if (wanted != kAllLimits && wanted != name) continue;
    AppendSeries(series, steps.missing, json.Object().Field("limit", name));
    json.EndObject();
  }
  json.EndArray().EndObject();
  return text;
}

// --- /api/limits --------------------------------------------------------------------------------

using LimitRow = LimitTotals::Rows::value_type;

std::uint64_t DecisionsOf(const LimitRow& row) {
  return row.second[0] + row.second[1] + row.second[2];
}

// The name says so, unless the limit has a label; then it is one that only denied as a shadow.
bool IsShadow(const LimitRow& row) {
  return absl::StrContains(row.first, ",shadow") || (row.second[1] == 0 && row.second[2] > 0);
}

// Appends "recent":[[allowed,denied,shadow_denied,near_limit],..] for the last seconds.
void AppendRecent(const std::vector<RateHistory::Counts>& steps, JsonWriter json) {
  json.Array("recent");
  for (const RateHistory::Counts& step : steps) {
    json.Array().Value(step[0]).Value(step[1]).Value(step[2]).Value(step[3]).EndArray();
  }
  json.EndArray();
}

std::string LimitsJson(HttpExchange& exchange) {
  constexpr std::int64_t kRecentSeconds = 60;
  Services& services = exchange.services();
  const LimitTotals::Rows rows = services.limit_totals.Since(RequestCountersOf(services));
  std::vector<const LimitRow*> busiest;
  for (const LimitRow& row : rows) busiest.push_back(&row);
  const std::size_t shown = std::min(busiest.size(), kApiLimitsMax);
  std::ranges::stable_sort(busiest, std::ranges::greater{},
                           [](const LimitRow* row) { return DecisionsOf(*row); });
  const RateHistory::Steps recent = exchange.http().history.Read(
      kHistoryRings.front(), SecondOf(exchange.now()) - kRecentSeconds);
  absl::flat_hash_map<std::string_view, const RateHistory::Series*> series_of;
  for (const RateHistory::Series& series : recent.series) series_of[series.limit] = &series;

  std::string text;
  JsonWriter json(text);
  json.Object().Field("time_ms", UnixMillis(services, exchange.now())).Array("limits");
  for (std::size_t i = 0; i < shown; ++i) {
    const LimitRow& row = *busiest[i];
    json.Object().Field("limit", row.first);
    AppendNumbers(row.second, json);
    json.Field("shadow", IsShadow(row));
    if (const auto found = series_of.find(row.first); found != series_of.end()) {
      AppendRecent(found->second->steps, json);
    } else {
      json.Field("recent", std::nullopt);
    }
    json.EndObject();
  }
  json.EndArray().Field("more", busiest.size() - shown).EndObject();
  return text;
}

}  // namespace

void UpdateHistory(RateHistory& history, Services& services, Instant now) {
  history.Update(now, [&] { return services.limit_totals.Read(RequestCountersOf(services)); });
}

// Each answer is the last one of its turn: it reads the counts of all threads.

void ApiNow(HttpExchange& exchange) {
  if (!exchange.MayRun(kInfo) || !exchange.MayRun(kStats)) return;
  if (!ReadApiParameters(exchange, {})) return;
  exchange.session().work().Charge(kWorkPerTurn);
  exchange.Answer(200, kJson, NowJson(exchange));
}

void ApiHistory(HttpExchange& exchange) {
  if (!exchange.MayRun(kStats)) return;
  std::optional<std::string> step;
  std::optional<std::string> from;
  std::optional<std::string> limit;
  if (!ReadApiParameters(exchange, {{"step", step}, {"from", from}, {"limit", limit}})) return;
  const auto* const ring = std::ranges::find_if(kHistoryRings, [&](const HistoryRing& candidate) {
    return step.value_or("1") == absl::StrCat(candidate.width);
  });
  if (ring == kHistoryRings.end()) return exchange.Fail(400, "ERR step must be 1, 10 or 300");
  const std::optional<std::int64_t> first =
      ReadNumberParameter(exchange, "from", from, 0, 0, SecondOf(kInstantMax));
  if (!first) return;
  exchange.session().work().Charge(kWorkPerTurn);
  UpdateHistory(exchange.http().history, exchange.services(), exchange.now());
  const std::int64_t offset = WallOffsetSeconds(exchange.services());
  const RateHistory::Steps steps = exchange.http().history.Read(*ring, *first - offset);
  exchange.Answer(200, kJson,
                  HistoryJson(steps, ring->width, steps.from + offset,
                              limit ? std::string_view(*limit) : kTotal));
}

void ApiLimits(HttpExchange& exchange) {
  if (!exchange.MayRun(kStats)) return;
  if (!ReadApiParameters(exchange, {})) return;
  exchange.session().work().Charge(kWorkPerTurn);
  UpdateHistory(exchange.http().history, exchange.services(), exchange.now());
  exchange.Answer(200, kJson,
                  *exchange.http().limits_json.Get(exchange.services().clock.HostNow(),
                                                   [&] { return LimitsJson(exchange); }));
}

}  // namespace weir
