// The rules of Envoy's rate limit service: /api/rls.
//
//     {"source":"files","xds":null,"domains":1,"loads":3,"load_errors":1,"error":null,"rules":[
//       {"domain":"shop","path":[{"key":"user","value":null}],"place":"shop.yaml:3",
//        "policy":"rls:shop.user","name":"per_user","replaces":["banned"],"flags":["quota_mode"],
//        "limits":[{"limit":"2/h,fixed,aligned","allowed":7,"denied":1}]}],"more":0}
//
// With rls-xds, "xds" is {"server":"plane:18000","connected":true,"version":"7","error":null},
// whose version and error are those of INFO. The counts are those of RL.STATS, and null where it
// counts the limit not at all (unlimited), by the values of descriptors, or perhaps together with
// others.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/base/host_and_port.h"
#include "core/base/status.h"
#include "core/commands/limit_totals.h"
#include "core/policies/policy.h"
#include "protocol/json_writer.h"
#include "rls/rule.h"
#include "rls/rule_tree.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/page/api_parameters.h"
#include "server/page/list_answer.h"
#include "server/rls/rls_rules.h"
#include "server/session/worker.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 1> kRuleCountsRight = {"RL.STATS"};
constexpr std::array<std::string_view, 2> kRuleListRight = {"RL.POLICY", "LIST"};

struct RuleCounts {
  // By the name of a limit without its label: "@rls:shop.user#0". One that was not used is missing.
  absl::flat_hash_map<std::string, LimitTotals::Numbers> rows;
  bool has_all = true;  // no limit is counted together with others
};

RuleCounts CountsOfRules(Services& services) {
  RuleCounts counts;
  for (auto& [name, numbers] : services.limit_totals.Since(RequestCountersOf(services))) {
    if (name == kOtherLimits) counts.has_all = false;
    if (name.starts_with('@')) counts.rows.emplace(name.substr(0, name.find(' ')), numbers);
  }
  return counts;
}

void AppendPath(const RuleTree& tree, const Rule& rule, JsonWriter json) {
  json.Array("path");
  for (const Rule* const level : tree.PathTo(rule)) {
    json.Object()
        .Field("key", level->key)
        .Field("value", level->value.empty() ? std::nullopt : std::optional(level->value))
        .EndObject();
  }
  json.EndArray();
}

void AppendRuleLimits(const RlsRules::Set& set, std::size_t place, const RuleCounts& counts,
                      JsonWriter json) {
  const Rule& rule = set.tree.rules()[place];
  const std::string& word = set.words[place];
  const bool is_counted = !word.empty() && counts.has_all && !set.tree.HasMetricValues(rule);
  json.Array("limits");
  const std::size_t limits = rule.limit ? rule.limit->limits.size() : 0;
  for (std::size_t i = 0; i < limits; ++i) {
    std::optional<LimitTotals::Numbers> numbers;
    if (is_counted) {
      const auto found = counts.rows.find(absl::StrCat(word, "#", i));
      numbers = found == counts.rows.end() ? LimitTotals::Numbers{} : found->second;
    }
    json.Object().Field("limit", PolicyLimitText(rule.limit->limits[i]));
    json.Field("allowed", numbers ? std::optional((*numbers)[0]) : std::nullopt);
    json.Field("denied", numbers ? std::optional((*numbers)[1]) : std::nullopt).EndObject();
  }
  json.EndArray();
}

void AppendFlags(const Rule& rule, JsonWriter json) {
  json.Array("flags");
  if (!rule.limit) json.Value("no_limit");
  if (rule.shadow_mode) json.Value("shadow_mode");
  if (rule.quota_mode) json.Value("quota_mode");
  if (rule.share_threshold) json.Value("share_threshold");
  if (rule.detailed_metric) json.Value("detailed_metric");
  if (rule.value_to_metric) json.Value("value_to_metric");
  json.EndArray();
}

void AppendRule(const RlsRules::Set& set, std::size_t place, const RuleCounts& counts,
                JsonWriter json) {
  const Rule& rule = set.tree.rules()[place];
  const std::string& word = set.words[place];
  json.Object().Field("domain", set.tree.DomainOf(rule).name);
  AppendPath(set.tree, rule, json);
  json.Field("place", set.places[place])
      .Field("policy", word.empty() ? std::nullopt : std::optional(word.substr(1)));
  const bool is_named = rule.limit && !rule.limit->name.empty();
  json.Field("name", is_named ? std::optional(rule.limit->name) : std::nullopt);
  json.Array("replaces");
  if (rule.limit) {
    for (const std::string& name : rule.limit->replaces) json.Value(name);
  }
  json.EndArray();
  AppendFlags(rule, json);
  AppendRuleLimits(set, place, counts, json);
  json.EndObject();
}

void AppendXds(const Services& services, JsonWriter json) {
  const std::vector<HostAndPort>& servers = services.options.rls_xds.servers;
  if (servers.empty()) return static_cast<void>(json.Field("xds", std::optional<bool>()));
  const std::string version = services.xds.version();
  const std::string error = services.xds.error();
  json.Object("xds")
      .Field("server", AddressText(servers.front()))
      .Field("connected", services.xds.connected.load())
      .Field("version", version.empty() ? std::nullopt : std::optional(version))
      .Field("error", error.empty() ? std::nullopt : std::optional(error))
      .EndObject();
}

}  // namespace

void ApiRls(HttpExchange& exchange) {
  if (!exchange.MayRun(kRuleCountsRight) || !exchange.MayRun(kRuleListRight)) return;
  if (!ReadApiParameters(exchange, {})) return;
  Services& services = exchange.services();
  const RlsRules* const rules = exchange.http().rls;
  const std::shared_ptr<const RlsRules::Set> set = rules == nullptr ? nullptr : rules->Get();
  const std::string error = services.rls.load_error();
  auto list = std::make_unique<ListAnswer>();
  JsonWriter json(list->json);
  json.Object().Field(
      "source",
      set ? std::optional(kRulesFromNames[static_cast<std::size_t>(services.rls.from.load())])
          : std::nullopt);
  AppendXds(services, json);
  json.Field("domains", set ? set->tree.domains().size() : 0)
      .Field("loads", services.rls.loads.load())
      .Field("load_errors", services.rls.load_errors.load())
      .Field("error", error.empty() ? std::nullopt : std::optional(error))
      .Array("rules");
  list->all = set ? set->tree.rules().size() : 0;
  list->most = list->all;
  exchange.session().work().Charge(kWorkPerTurn);  // the counts of all threads
  list->append_next = [set, counts = CountsOfRules(services),
                       next = std::size_t{0}](JsonWriter rule) mutable {
    if (!set || next == set->tree.rules().size()) return false;
    AppendRule(*set, next++, counts, rule);
    return true;
  };
  WriteList(std::move(list), exchange);
}

}  // namespace weir
