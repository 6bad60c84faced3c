// /check/NAME and /check: decisions for proxies, which pass the response on to the user.
//
// A proxy takes 200 as yes, the status of a denial as no, and anything else as trouble of weir, to
// which it has its own answer (fail open, or closed). So every error here, even one in the request,
// is a status from 500 on, except for an unknown route.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include <spdlog/spdlog.h>

#include "core/commands/request_grammar.h"
#include "core/words/limit_grammar.h"
#include "protocol/http_status.h"
#include "protocol/http_target.h"
#include "protocol/json_writer.h"
#include "protocol/resp_parser.h"
#include "server/access/denial.h"
#include "server/access/user.h"
#include "server/commands/command_table.h"
#include "server/http/check_routes.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"

namespace weir {
namespace {

constexpr std::string_view kRoutesPath = "/check/";
constexpr std::string_view kNoSuchRoute = "ERR no such route of checks";
constexpr std::string_view kProblem = "application/problem+json";
constexpr std::string_view kQuotaExceeded =
    "https://iana.org/assignments/http-problem-types#quota-exceeded";

void Allow(HttpExchange& exchange) {
  exchange.Begin(200);
  exchange.End();
}

// Ends the response to a denial.
void EndWithProblem(HttpExchange& exchange, const CheckAnswer& answer, HttpWriter& writer,
                    std::string_view problem) {
  if (!answer.has_problem) return exchange.End();
  writer.Field("Content-Type", kProblem);
  exchange.End(problem);
}

void DenyMissing(HttpExchange& exchange, const CheckAnswer& answer) {
  std::string problem;
  JsonWriter(problem)
      .Object()
      .Field("title", ReasonPhrase(answer.denied))
      .Field("detail", "The request lacks a value that its limits need.")
      .EndObject();
  EndWithProblem(exchange, answer, exchange.Begin(answer.denied), problem);
}

// Answers with the verdict; with yes if the request was admitted before.
class CheckReader final : public VerdictReader {
 public:
  // Tells `claim` of an admission, unless it is null.
  CheckReader(HttpExchange& exchange, const CheckAnswer& answer, AdmittedChecks::Claim* claim)
      : exchange_(exchange), answer_(answer), claim_(claim) {}

  void Read(const ParsedRequest& request, std::int64_t /*first*/, const Verdict& verdict) override {
    const RateLimitFields fields(request, verdict, exchange_.now(), answer_.fields);
    const bool is_again = claim_ && claim_->is_admitted();
    // A ban, keep= or the cost of a limit: the fields would be those of a denial.
    if (is_again && !verdict.allowed) return Allow(exchange_);
    if (claim_ && verdict.allowed && !is_again) claim_->Admit();
    HttpWriter& writer = exchange_.Begin(verdict.allowed ? 200 : answer_.denied);
    fields.Write(exchange_.services().limiter, writer);
    if (!fields.decisive().empty()) writer.Field("X-Weir-Limit", fields.decisive());
    if (verdict.allowed) return exchange_.End();
    std::string problem;
    JsonWriter json(problem);
    json.Object()
        .Field("type", kQuotaExceeded)
        .Field("title", "Request cannot be satisfied as assigned quota has been exceeded");
    const std::vector<std::string_view> violated = fields.violated();
    if (!violated.empty()) json.Field("violated-policies", violated);
    json.EndObject();
    EndWithProblem(exchange_, answer_, writer, problem);
  }

 private:
  HttpExchange& exchange_;
  const CheckAnswer& answer_;
  AdmittedChecks::Claim* const claim_;
};

// The words of RL.ALLOW or RL.PEEK, and the bytes of those that are made for this request.
class Words {
 public:
  void Add(std::string_view word) { words_.push_back({word, 0, 0}); }
  // Adds a filled template; false if a variable has no value.
  [[nodiscard]] bool Add(const CheckTemplate& text, const ProxiedRequest& request,
                         const KeyHasher& hasher) {
    if (text.is_constant()) {
      Add(text.text());
      return true;
    }
    const std::size_t begin = bytes_.size();
    if (!text.Fill(request, hasher, bytes_)) return false;
    words_.push_back({{}, begin, bytes_.size() - begin});
    return true;
  }

  [[nodiscard]] std::size_t size() const { return words_.size(); }
  void Truncate(std::size_t size) { words_.resize(size); }
  // The last word. Valid until the next Add().
  [[nodiscard]] std::string_view back() const { return TextOf(words_.back()); }

  [[nodiscard]] absl::InlinedVector<std::string_view, 16> View() const {
    absl::InlinedVector<std::string_view, 16> view;
    for (const Word& word : words_) view.push_back(TextOf(word));
    return view;
  }

 private:
  struct Word {
    std::string_view constant;
    std::size_t begin = 0;  // in bytes_, if there is no constant
    std::size_t size = 0;
  };

  [[nodiscard]] std::string_view TextOf(const Word& word) const {
    if (word.constant.data() != nullptr) return word.constant;
    return std::string_view(bytes_).substr(word.begin, word.size);
  }

  absl::InlinedVector<Word, 16> words_;
  std::string bytes_;
};

// The result of adding a group to the words of a request.
enum class Filled { kDone, kMissing, kBad };

// Adds "key limit ... COST n"; of a look, which needs no tokens, "COST 0". After kBad `error` says
// why.
Filled AddGroup(const CheckGroup& group, const ProxiedRequest& request, const KeyHasher& hasher,
                RequestKind kind, Words& words, std::string_view& error) {
  if (!words.Add(group.key, request, hasher)) return Filled::kMissing;
  if (words.back().size() > static_cast<std::size_t>(kRespCaps.arg_bytes_max)) {
    error = "ERR the key is too long";
    return Filled::kBad;
  }
  for (const CheckTemplate& limit : group.limits) {
    if (!words.Add(limit, request, hasher)) return Filled::kMissing;
    // A value adds no option of its own, such as cost=0.
    const bool is_whole =
        std::ranges::count(words.back(), ',') == std::ranges::count(limit.text(), ',');
    if (is_whole && LooksLikeLimit(words.back())) continue;
    error = "ERR a template makes no limit";
    return Filled::kBad;
  }
  if (group.cost) {
    words.Add("COST");
    if (!words.Add(*group.cost, request, hasher)) return Filled::kMissing;
    if (!ParseDigits(words.back())) {
      error = "ERR a template makes no cost";
      return Filled::kBad;
    }
  }
  if (kind != RequestKind::kLook) return Filled::kDone;
  // A look skips the groups that a decision skips, so it reads the cost, too.
  if (group.cost) words.Truncate(words.size() - 2);
  words.Add("COST");
  words.Add("0");
  return Filled::kDone;
}

// Runs the words as the exchange's user, and answers; or has `again` called after a pause. `claim`:
// the claim of a check that is charged once, else null.
void Decide(HttpExchange& exchange, const Words& words, const CheckAnswer& answer,
            void (*again)(HttpExchange&), AdmittedChecks::Claim* claim = nullptr) {
  const auto view = words.View();
  if (exchange.IsHeldBack(view)) return exchange.GoOnLater(again);
  const bool is_again = claim && claim->is_admitted();
  // The answer is yes, so no refused access is recorded.
  const User* const user = is_again ? exchange.session().client().user().get() : nullptr;
  if (user && FindDenial(*user, *FindRequested(view), view)) return Allow(exchange);
  CheckReader reader(exchange, answer, claim);
  const std::string_view error = exchange.Run(view, reader);
  if (error.empty()) return;
  if (user) return Allow(exchange);  // RL.PEEK has failed
  const int status = StatusOfError(error);
  exchange.Fail(status == 503 ? status : 500, error);
}

// Adds the words of RL.ALLOW for the groups of a route, or those of RL.PEEK. kMissing: a group that
// is not skipped lacks a value. After kBad `error` says why.
Filled AddGroups(const CheckRoute& route, const ProxiedRequest& request, const KeyHasher& hasher,
                 RequestKind kind, Words& words, std::string_view& error) {
  words.Add(kind == RequestKind::kLook ? "RL.PEEK" : "RL.ALLOW");
  for (const CheckGroup& group : route.groups) {
    const std::size_t before = words.size();
    if (before > 1) words.Add("AND");
    const Filled filled = AddGroup(group, request, hasher, kind, words, error);
    if (filled == Filled::kDone) continue;
    if (filled == Filled::kBad || route.answer.missing != OnMissing::kSkip) return filled;
    words.Truncate(before);
  }
  return Filled::kDone;
}

// Describes the first variable of a route that has no value in a request.
std::string MissingIn(const CheckRoute& route, const ProxiedRequest& request,
                      const KeyHasher& hasher) {
  for (const CheckGroup& group : route.groups) {
    std::vector<const CheckTemplate*> templates{&group.key};
    for (const CheckTemplate& limit : group.limits) templates.push_back(&limit);
    if (group.cost) templates.push_back(&*group.cost);
    for (const CheckTemplate* text : templates) {
      std::string filled;
      if (!text->Fill(request, hasher, filled)) return text->MissingIn(request);
    }
  }
  return {};
}

// Counts a check that lacked a value, and warns of it at times: else a proxy that does not pass a
// field would show only as denials.
void CountIncomplete(HttpExchange& exchange, std::string_view name, const CheckRoute& route,
                     const ProxiedRequest& request) {
  const auto checks =
      exchange.http().checks.AddIncomplete(name, exchange.services().clock.HostNow());
  if (!checks) return;
  spdlog::warn("check {}: no value for {} ({} such checks since the last line)", name,
               MissingIn(route, request, exchange.services().limiter.hasher()), *checks);
}

// Answers by the route that the path names.
void AnswerByRoute(HttpExchange& exchange) {
  const std::string_view rest = exchange.head().path.substr(kRoutesPath.size());
  const std::string_view name = rest.substr(0, rest.find('/'));
  const std::shared_ptr<const CheckRoute> route = exchange.http().checks.Find(name);
  if (!route) return exchange.Fail(404, kNoSuchRoute);
  if (route->user.empty()) {
    exchange.ActAsNewClient();
  } else if (!exchange.ActAs(route->user)) {
    return exchange.Fail(500, "ERR the user of the route is unknown or off");
  }
  const ProxiedRequest request(exchange.head(), rest.substr(name.size()), route->proxy);
  const KeyHasher& hasher = exchange.services().limiter.hasher();
  std::optional<AdmittedChecks::Claim> claim;
  std::string value;
  if (route->once && route->once->Fill(request, hasher, value)) {
    claim.emplace(*exchange.http().checks.admitted(), AdmittedChecks::IdOf(name, value, hasher),
                  exchange.services().clock.HostNow());
  }
  const bool is_again = claim && claim->is_admitted();
  Words words;
  std::string_view error;
  const Filled filled = AddGroups(
      *route, request, hasher, is_again ? RequestKind::kLook : RequestKind::kDecide, words, error);
  if (filled == Filled::kDone && words.size() > 1) {
    return Decide(exchange, words, route->answer, AnswerByRoute, claim ? &*claim : nullptr);
  }
  if (is_again) return Allow(exchange);
  if (filled == Filled::kBad) return exchange.Fail(500, error);
  if (filled == Filled::kMissing) CountIncomplete(exchange, name, *route, request);
  const bool is_denied = filled == Filled::kMissing && route->answer.missing == OnMissing::kDeny;
  return is_denied ? DenyMissing(exchange, route->answer) : Allow(exchange);
}

// The parameters of /check?key=K&limit=10/s&limit=@p&cost=2&denied=403.
struct OpenCheck {
  std::optional<std::string> key;
  std::vector<std::string> limits;
  std::optional<std::string> cost;
  std::optional<std::string> denied;
};

// Returns an error, or an empty text.
std::string_view ReadQuery(std::string_view query, OpenCheck& check) {
  for (QueryReader parameters(query); parameters.Next();) {
    std::string value;
    if (!AppendDecoded(parameters.value(), PlusMeans::kBlank, value)) {
      return "ERR a parameter is not encoded as a URL needs it";
    }
    if (parameters.name() == "limit") {
      if (!LooksLikeLimit(value)) return "ERR limit= must be a limit, such as limit=10/s";
      check.limits.push_back(std::move(value));
      continue;
    }
    std::optional<std::string>* const once = parameters.name() == "key"      ? &check.key
                                             : parameters.name() == "cost"   ? &check.cost
                                             : parameters.name() == "denied" ? &check.denied
                                                                             : nullptr;
    if (!once) return "ERR /check has the parameters key, limit, cost, denied";
    if (*once) return "ERR key=, cost= and denied= may be given once";
    *once = std::move(value);
  }
  if (!check.key || check.limits.empty()) return "ERR /check needs key= and limit=";
  if (check.cost && !ParseDigits(*check.cost)) return "ERR cost= must be a number from 0";
  return {};
}

// Answers by the parameters of the URL.
void AnswerByQuery(HttpExchange& exchange) {
  if (!exchange.services().options.open_checks) return exchange.Fail(404, kNoSuchRoute);
  exchange.ActAsNewClient();
  OpenCheck check;
  const std::string_view error = ReadQuery(exchange.head().query, check);
  if (!error.empty()) return exchange.Fail(500, error);
  CheckAnswer answer;
  if (check.denied) {
    const std::optional<std::int64_t> status = ParseDigits(*check.denied);
    if (!status || !IsDeniedStatus(*status)) {
      return exchange.Fail(500, "ERR denied= must be from 400 to 499, or 503");
    }
    answer.denied = static_cast<int>(*status);
  }
  // A proxy's variable that had no value.
  if (check.key->empty()) return DenyMissing(exchange, answer);
  Words words;
  words.Add("RL.ALLOW");
  words.Add(*check.key);
  for (const std::string& limit : check.limits) words.Add(limit);
  if (check.cost) {
    words.Add("COST");
    words.Add(*check.cost);
  }
  Decide(exchange, words, answer, AnswerByQuery);
}

}  // namespace

void CheckByRoute(HttpExchange& exchange) {
  exchange.session().worker().checks.Add();
  AnswerByRoute(exchange);
}

void CheckByQuery(HttpExchange& exchange) {
  exchange.session().worker().checks.Add();
  AnswerByQuery(exchange);
}

}  // namespace weir
