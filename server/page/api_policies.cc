// /api/policies: the policies and their overrides, to read and to change.
//
//     GET            /api/policies                   all policies
//     GET            /api/policies/NAME              one, with its overrides
//     POST, DELETE   /api/policies/NAME              RL.POLICY SET, DEL
//     POST, DELETE   /api/policies/NAME/overrides    RL.POLICY OVERRIDE, UNOVERRIDE of ?k=KEY
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/policies/overrides.h"
#include "core/policies/policies.h"
#include "protocol/http_target.h"
#include "protocol/json_writer.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/json/json_body.h"
#include "server/page/limits_body.h"
#include "server/page/list_answer.h"
#include "server/page/page_request.h"

namespace weir {
namespace {

constexpr std::string_view kDirectory = "/api/policies";
constexpr std::string_view kOverridesName = "/overrides";
constexpr std::string_view kListMethods = "GET, HEAD";
constexpr std::size_t kOverridesShown = 1000;

// The part of the path behind /api/policies.
struct Place {
  std::string policy;  // empty: the list of all
  bool is_overrides = false;
};

std::optional<Place> ReadPlace(std::string_view path) {
  Place place;
  std::string_view rest = path.substr(kDirectory.size());
  if (rest.empty() || rest == "/") return place;
  rest.remove_prefix(1);
  place.is_overrides = rest.ends_with(kOverridesName);
  if (place.is_overrides) rest.remove_suffix(kOverridesName.size());
  const bool is_name = !rest.empty() && rest.find('/') == std::string_view::npos &&
                       AppendDecoded(rest, PlusMeans::kPlus, place.policy);
  return is_name ? std::optional(std::move(place)) : std::nullopt;
}

bool IsRead(const HttpHead& head) { return head.method == "GET" || head.method == "HEAD"; }

// Appends the name, the limits and the state of a policy, as fields.
void AppendPolicy(const Policy& policy, const Options& options, JsonWriter json) {
  const bool is_of_rule = options.serves_rls() && policy.name.starts_with(kRulePolicyPrefix);
  const std::string_view file = is_of_rule ? options.rls_config : options.policies;
  const bool is_known = policy.from_file && !policy.retired && !file.empty();
  json.Field("name", policy.name);
  AppendLimits(policy.limits, json);
  json.Field("retired", policy.retired)
      .Field("from_file", policy.from_file)
      .Field("file", is_known ? std::optional(file) : std::nullopt);
}

void ListPolicies(HttpExchange& exchange) {
  constexpr std::array<std::string_view, 2> kList = {"RL.POLICY", "LIST"};
  constexpr std::array<std::string_view, 3> kGet = {"RL.POLICY", "GET", ""};
  if (!exchange.MayRun(kList) || !exchange.MayRun(kGet)) return;
  if (!exchange.CanLook()) return;
  std::vector<std::shared_ptr<const Policy>> policies = exchange.services().policies.All();
  auto list = std::make_unique<ListAnswer>();
  JsonWriter(list->json).Object().Array("policies");
  list->all = policies.size();
  list->most = policies.size();
  list->append_next = [policies = std::move(policies), next = std::size_t{0},
                       &options = exchange.services().options](JsonWriter json) mutable {
    const Policy& policy = *policies[next++];
    AppendPolicy(policy, options, json.Object());
    json.Field("overrides", policy.overrides->size()).EndObject();
    return true;
  };
  WriteList(std::move(list), exchange);
}

// Changes between two turns of the answer may be missing in it.
void ShowPolicy(HttpExchange& exchange, std::string_view name) {
  const std::array<std::string_view, 3> get = {"RL.POLICY", "GET", name};
  const std::array<std::string_view, 3> overrides = {"RL.POLICY", "OVERRIDES", name};
  if (!exchange.MayRun(get) || !exchange.MayRun(overrides)) return;
  if (!exchange.CanLook()) return;
  const std::shared_ptr<const Policy> policy = exchange.services().policies.Find(name);
  if (!policy) return exchange.Fail(404, absl::StrCat("ERR ", UnknownPolicy(name).message()));
  auto list = std::make_unique<ListAnswer>();
  JsonWriter json(list->json);
  AppendPolicy(*policy, exchange.services().options, json.Object());
  json.Array("overrides");
  list->all = policy->overrides->size();
  list->most = kOverridesShown;
  list->append_next = [policy, last = std::optional<std::string>()](JsonWriter member) mutable {
    std::optional<Overrides::Entry> next = policy->overrides->Next(last);
    if (!next) return false;
    AppendKey(next->first, member.Object());
    AppendLimits(*next->second, member);
    member.EndObject();
    last = std::move(next->first);
    return true;
  };
  WriteList(std::move(list), exchange);
}

// Runs RL.POLICY with these words and, after them, those of the limits in the body.
void ChangeToLimits(HttpExchange& exchange, std::vector<std::string_view> words) {
  if (!MayChange(exchange) || !HasJsonBody(exchange)) return;
  LimitsBody body;
  if (const absl::Status status = body.ReadLimits(exchange.body()); !status.ok()) {
    return exchange.Fail(400, absl::StrCat("ERR ", status.message()));
  }
  words.insert(words.end(), body.limits().begin(), body.limits().end());
  RunChange(exchange, words);
}

void ChangePolicy(HttpExchange& exchange, std::string_view name) {
  if (exchange.head().method == "POST") return ChangeToLimits(exchange, {"RL.POLICY", "SET", name});
  const std::array<std::string_view, 3> words = {"RL.POLICY", "DEL", name};
  if (MayChange(exchange)) RunChange(exchange, words);
}

void ChangeOverride(HttpExchange& exchange, std::string_view name) {
  const std::optional<std::string> key = ReadKey(exchange);
  if (!key) return;
  if (exchange.head().method == "POST") {
    return ChangeToLimits(exchange, {"RL.POLICY", "OVERRIDE", name, *key});
  }
  const std::array<std::string_view, 4> words = {"RL.POLICY", "UNOVERRIDE", name, *key};
  if (MayChange(exchange)) RunChange(exchange, words);
}

}  // namespace

void ApiPolicies(HttpExchange& exchange) {
  const std::optional<Place> place = ReadPlace(exchange.head().path);
  if (!place) return exchange.Fail(404, kNoSuchPath);
  const bool reads = IsRead(exchange.head());
  if (place->policy.empty()) {
    return reads ? ListPolicies(exchange) : exchange.RefuseMethod(kListMethods);
  }
  if (place->is_overrides) {
    return reads ? exchange.RefuseMethod("POST, DELETE") : ChangeOverride(exchange, place->policy);
  }
  return reads ? ShowPolicy(exchange, place->policy) : ChangePolicy(exchange, place->policy);
}

}  // namespace weir
