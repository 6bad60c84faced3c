// The keys that are denied: /api/top, of all limits, and /api/limit, of one.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/commands/limit_totals.h"
#include "core/commands/request_counters.h"
#include "core/policies/policy.h"
#include "core/rules/limit_counters.h"
#include "core/rules/limit_keys.h"
#include "core/rules/top_keys.h"
#include "protocol/integer.h"
#include "protocol/json_writer.h"
#include "server/access/user.h"
#include "server/commands/command_table.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/page/api_parameters.h"
#include "server/page/page_request.h"
#include "server/session/worker.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 1> kStatsRight = {"RL.STATS"};
constexpr std::array<std::string_view, 1> kTopRight = {"RL.TOP"};
constexpr std::array<std::string_view, 2> kPolicyRight = {"RL.POLICY", "GET"};
constexpr std::int64_t kRowsDefault = 20;
constexpr auto kRowsMax = static_cast<std::int64_t>(kTopKeysMax);

// Begins the object of a row, with the key and its estimate. One whose text is cut has a "hash", by
// which /api/key finds it.
void BeginRow(const TopKeys::Row& row, const Services& services, JsonWriter json) {
  AppendKey(row.key, json.Object());
  json.Field("cut", row.is_cut())
      .Field("hash", row.is_cut() ? std::optional(MarkOfCutKey(row, services)) : std::nullopt)
      .Field("count", row.count)
      .Field("error", row.error);
}

// The limits of each key are of the denials, also in the rows of "near".
std::string TopJson(HttpExchange& exchange, std::string_view by, std::size_t rows_max) {
  const std::vector<RequestCounters*> threads = RequestCountersOf(exchange.services());
  const auto keys = by == "near" ? &RequestCounters::near_keys : &RequestCounters::denied_keys;
  const LimitKeys::LimitsOfKeys limits = LimitsOfDeniedKeys(threads);
  std::string text;
  JsonWriter json(text);
  json.Object().Field("by", by).Array("keys");
  for (const TopKeys::Row& row : MergedKeys(threads, keys, rows_max)) {
    BeginRow(row, exchange.services(), json);
    const auto found = limits.find(row.hash);
    json.Field("limits", found != limits.end() ? found->second : std::vector<std::string>())
        .EndObject();
  }
  json.EndArray().EndObject();
  return text;
}

// A limit of a policy as statistics name it: "@free#0", "@free#1 hourly".
struct PolicyPlace {
  std::string_view policy;
  std::size_t position;
};
std::optional<PolicyPlace> ReadPolicyPlace(std::string_view name) {
  const std::size_t sign = name.find('#');
  if (!name.starts_with('@') || sign == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(sign + 1, name.find_first_of(", ", sign) - sign - 1);
  const std::optional<std::int64_t> position = ParseInteger(digits);
  if (!position || *position < 0) return std::nullopt;
  return PolicyPlace{name.substr(1, sign - 1), static_cast<std::size_t>(*position)};
}

// Appends what the limit is, as far as its name says that, and the user may know it.
void AppendDefinition(const HttpExchange& exchange, std::string_view name, JsonWriter json) {
  const std::optional<PolicyPlace> place = ReadPolicyPlace(name);
  if (!place) {
    json.Field("definition", IsSpelledOut(name) ? std::optional(name) : std::nullopt);
    json.Field("policy", std::nullopt);
    return;
  }
  const bool may_look = exchange.session().client().user()->MayRun(*FindRequested(kPolicyRight));
  const std::shared_ptr<const Policy> policy =
      may_look ? exchange.services().policies.Find(place->policy) : nullptr;
  const bool is_there = policy && place->position < policy->limits.size();
  json.Field("definition", is_there
                               ? std::optional(PolicyLimitText(policy->limits[place->position]))
                               : std::nullopt);
  json.Field("policy", place->policy).Field("position", place->position);
  json.Field("from_file", policy ? std::optional(policy->from_file) : std::nullopt);
}

std::string LimitJson(HttpExchange& exchange, std::string_view name, std::size_t rows_max) {
  const std::vector<RequestCounters*> threads = RequestCountersOf(exchange.services());
  std::uint64_t denied = 0;
  for (const auto& [of, numbers] : exchange.services().limit_totals.Since(threads)) {
    if (of == name) denied = numbers[1];
  }
  std::string text;
  JsonWriter json(text);
  json.Object().Field("limit", name);
  AppendDefinition(exchange, name, json);
  json.Field("denied", denied).Array("keys");
  for (const TopKeys::Row& row : KeysOfLimit(threads, name, rows_max)) {
    BeginRow(row, exchange.services(), json);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return text;
}

}  // namespace

// Each answer is the last one of its turn: it reads the counts of all threads.

void ApiTop(HttpExchange& exchange) {
  if (!exchange.MayRun(kTopRight)) return;
  std::optional<std::string> n;
  std::optional<std::string> by;
  if (!ReadApiParameters(exchange, {{"n", n}, {"by", by}})) return;
  const std::string_view order = by ? std::string_view(*by) : "denied";
  if (order != "denied" && order != "near") {
    return exchange.Fail(400, "ERR by must be denied or near");
  }
  const std::optional<std::int64_t> rows =
      ReadNumberParameter(exchange, "n", n, kRowsDefault, 1, kRowsMax);
  if (!rows) return;
  exchange.session().work().Charge(kWorkPerTurn);
  exchange.Answer(200, kJson, TopJson(exchange, order, static_cast<std::size_t>(*rows)));
}

void ApiLimit(HttpExchange& exchange) {
  if (!exchange.MayRun(kTopRight) || !exchange.MayRun(kStatsRight)) return;
  std::optional<std::string> name;
  std::optional<std::string> n;
  if (!ReadApiParameters(exchange, {{"name", name}, {"n", n}})) return;
  if (!name) return exchange.Fail(400, "ERR name must be that of a limit in RL.STATS");
  const std::optional<std::int64_t> rows =
      ReadNumberParameter(exchange, "n", n, kRowsDefault, 1, kRowsMax);
  if (!rows) return;
  exchange.session().work().Charge(kWorkPerTurn);
  exchange.Answer(200, kJson,
                  LimitJson(exchange, NameInStatistics(*name), static_cast<std::size_t>(*rows)));
}

}  // namespace weir
