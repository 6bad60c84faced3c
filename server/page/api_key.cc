// GET /api/key?k=KEY, the buckets and the holds of one key, and POST /api/key/reset?k=KEY. Of a key
// whose text the lists have cut, GET /api/key?hash=MARK with the mark of its row; only its first
// bytes are known then, so its overrides are not, and users need the right to all keys.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/commands/reply_numbers.h"
#include "core/commands/request_counters.h"
#include "core/limiter/hold_request.h"
#include "core/limiter/limiter.h"
#include "core/policies/live_bucket.h"
#include "core/policies/overrides.h"
#include "core/policies/policies.h"
#include "core/rules/limit_keys.h"
#include "core/rules/top_keys.h"
#include "core/table/key_hash.h"
#include "protocol/json_writer.h"
#include "server/access/user.h"
#include "server/commands/command_table.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/page/list_answer.h"
#include "server/page/page_request.h"
#include "server/session/call.h"
#include "server/session/worker.h"

namespace weir {
namespace {

constexpr std::size_t kPoliciesPerUnit = 16;  // asked for an override in about a microsecond

struct ShownKey {
  std::string text;  // the first bytes of one that is cut
  KeyHash hash;
  bool is_cut = false;

  // That its overrides name.
  [[nodiscard]] std::optional<std::string_view> whole() const {
    return is_cut ? std::nullopt : std::optional<std::string_view>(text);
  }
};

// The time until the bucket has one token more, in milliseconds; nothing if it never has, or if the
// key is cut: a request needs the whole one.
std::optional<std::int64_t> NextTokenMillis(Limiter& limiter, const ShownKey& key,
                                            const LiveBucket& bucket, Instant now) {
  const std::int64_t capacity = bucket.limit.capacity_tokens();
  if (key.is_cut || bucket.remaining < 0 || bucket.remaining >= capacity) return std::nullopt;
  const Request request = {
      {.key = key.text, .limit = &bucket.limit, .cost = bucket.remaining + 1, .hash = key.hash}};
  const std::int64_t millis = RetryMillis(limiter.Peek(request, now).decisions.front().retry_after);
  return millis < 0 ? std::nullopt : std::optional(millis);
}

void AppendBuckets(Services& services, const ShownKey& key, Instant now, JsonWriter json) {
  const std::vector<LiveBucket> buckets = services.limiter.Inspect(
      key.hash, now,
      [&](const Limit& limit) { return services.policies.PresentLimit(limit, key.whole()); });
  json.Array("buckets");
  for (const LiveBucket& bucket : buckets) {
    // The limit of CL.THROTTLE comes with each request, so its bucket has no numbers.
    std::optional<std::int64_t> capacity;
    if (bucket.remaining >= 0) capacity = bucket.limit.capacity_tokens();
    json.Object()
        .Field("limit", BucketName(services.policies, bucket.limit))
        .Field("remaining", bucket.remaining)
        .Field("capacity", capacity)
        .Field("held", bucket.limit.is_held())
        .Field("used", bucket.used)
        .Field("reset_after_ms", CeilMillis(bucket.reset_after))
        .Field("next_token_ms", NextTokenMillis(services.limiter, key, bucket, now))
        .Field("banned_ms", CeilMillis(bucket.ban_left))
        .EndObject();
  }
  json.EndArray();
}

// Open holds first, then those that are settled.
void AppendHolds(Services& services, const ShownKey& key, Instant now, JsonWriter json) {
  const std::vector<LiveHold> holds = services.limiter.InspectHolds(
      key.hash, now,
      [&](const Limit& limit) { return services.policies.PresentLimit(limit, key.whole()); });
  json.Array("holds");
  for (const LiveHold& hold : holds) {
    json.Object()
        .Field("id", hold.id)
        .Field("settled", hold.settled)
        .Field("expires_in_ms", CeilMillis(hold.expires_in))
        .Array("limits");
    for (const LiveHold::Part& part : hold.parts) {
      json.Object()
          .Field("limit", BucketName(services.policies, part.limit))
          .Field("cost", TokensShown(part.cost))
          .EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
}

// Appends the names of the limits that have denied the key, as far as RL.TOP LIMIT has it in its
// rows; null if the user may not run that.
void AppendDeniedBy(const HttpExchange& exchange, const ShownKey& key, JsonWriter json) {
  constexpr std::array<std::string_view, 1> kTop = {"RL.TOP"};
  Services& services = exchange.services();
  if (!exchange.session().client().user()->MayRun(*FindRequested(kTop))) {
    json.Field("denied_by", std::nullopt);
    return;
  }
  const LimitKeys::LimitsOfKeys limits = LimitsOfDeniedKeys(RequestCountersOf(services));
  const auto found = limits.find(key.hash.hash);
  json.Field("denied_by", found != limits.end() ? found->second : std::vector<std::string>());
}

using OverrideOfKey = std::pair<std::shared_ptr<const Policy>, std::shared_ptr<const PolicyLimits>>;

// The policies in which the key has other limits, with these.
std::vector<OverrideOfKey> OverridesOf(const Policies& policies, std::string_view key) {
  std::vector<OverrideOfKey> overrides;
  for (const std::shared_ptr<const Policy>& policy : policies.All()) {
    if (policy->overrides->empty()) continue;
    if (auto limits = policy->overrides->Find(key)) overrides.emplace_back(policy, limits);
  }
  return overrides;
}

// Ends the answer with the overrides.
void AnswerWithOverrides(HttpExchange& exchange, std::string json,
                         std::vector<OverrideOfKey> overrides) {
  auto list = std::make_unique<ListAnswer>();
  list->json = std::move(json);
  JsonWriter(list->json).Array("overrides");
  list->all = overrides.size();
  list->most = overrides.size();
  list->append_next = [overrides = std::move(overrides),
                       next = std::size_t{0}](JsonWriter member) mutable {
    const auto& [policy, limits] = overrides[next++];
    AppendLimits(*limits, member.Object().Field("policy", policy->name));
    member.EndObject();
    return true;
  };
  WriteList(std::move(list), exchange);
}

// The key of a row of this mark; nothing after an error is answered. The first bytes of a key do
// not say whether a pattern of keys fits it.
std::optional<ShownKey> FindCutKey(HttpExchange& exchange, std::string_view mark) {
  const User& user = *exchange.session().client().user();
  if (!user.MayUseAllKeys()) {
    exchange.Fail(403, "NOPERM a key that is cut can be looked at with the right to all keys");
    return std::nullopt;
  }
  Services& services = exchange.services();
  exchange.session().work().Charge(kWorkPerTurn);
  for (const TopKeys::Row& row : RowsOfCutKeys(RequestCountersOf(services))) {
    if (MarkOfCutKey(row, services) != mark) continue;
    return ShownKey{
        .text = row.key, .hash = {.hash = row.hash, .partition = row.partition}, .is_cut = true};
  }
  exchange.Fail(404, "ERR this key, which is longer than 128 bytes, is in no list any more");
  return std::nullopt;
}

// The key that the query names, if the user may look at it; nothing after an error is answered.
std::optional<ShownKey> FindShownKey(HttpExchange& exchange) {
  constexpr std::string_view kHash = "hash=";
  const std::string_view query = exchange.head().query;
  std::optional<ShownKey> key;
  if (query.starts_with(kHash)) {
    constexpr std::array<std::string_view, 1> kTop = {"RL.TOP"};
    if (!exchange.MayRun(kTop)) return std::nullopt;
    key = FindCutKey(exchange, query.substr(kHash.size()));
  } else if (std::optional<std::string> text = ReadKey(exchange)) {
    const KeyHash hash = exchange.services().limiter.Hash(*text);
    key = {.text = *std::move(text), .hash = hash};
  }
  if (!key) return std::nullopt;
  const std::array<std::string_view, 2> inspect = {"RL.INSPECT", key->text};
  if (!exchange.MayRun(inspect)) return std::nullopt;
  return key;
}

}  // namespace

void ApiKey(HttpExchange& exchange) {
  const std::optional<ShownKey> key = FindShownKey(exchange);
  if (!key) return;
  Services& services = exchange.services();
  if (!exchange.CanLook()) return;
  exchange.session().work().Charge(services.policies.size().policies / kPoliciesPerUnit);
  const std::uint64_t slots_before = Limiter::SlotsVisited();
  const Instant now = services.explicit_time.View(exchange.now());
  std::string text;
  JsonWriter json(text);
  AppendKey(key->text, json.Object().Field("time_ms", UnixMillis(services, exchange.now())));
  json.Field("cut", key->is_cut);
  AppendBuckets(services, *key, now, json);
  AppendHolds(services, *key, now, json);
  AppendDeniedBy(exchange, *key, json);
  exchange.session().work().Charge((Limiter::SlotsVisited() - slots_before) / kSlotsPerUnit);
  AnswerWithOverrides(
      exchange, std::move(text),
      key->is_cut ? std::vector<OverrideOfKey>() : OverridesOf(services.policies, key->text));
}

void ApiKeyReset(HttpExchange& exchange) {
  const std::optional<std::string> key = ReadKey(exchange);
  if (!key || !MayChange(exchange)) return;
  const std::array<std::string_view, 2> reset = {"RL.RESET", *key};
  RunChange(exchange, reset);
}

}  // namespace weir
