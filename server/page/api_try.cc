// POST /api/peek, the verdict of one request, and POST /api/simulate, the verdicts of many arrivals
// at limits that are not used yet.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/ignore_case.h"
#include "core/base/status.h"
#include "core/commands/reply_numbers.h"
#include "core/commands/request_grammar.h"
#include "core/limiter/limiter.h"
#include "core/policies/limit_memo.h"
#include "core/rules/calendar.h"
#include "protocol/json_writer.h"
#include "server/commands/command_table.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/json/command_reader.h"
#include "server/json/json_body.h"
#include "server/json/json_verdict.h"
#include "server/page/limits_body.h"
#include "server/session/call.h"

namespace weir {
namespace {

constexpr std::string_view kPeek = "RL.PEEK";
constexpr std::string_view kWithLimits = "WITHLIMITS";
// Decisions of single limits in one simulation, about 10 ms.
constexpr std::size_t kSimulatedMax = 40'000;
constexpr std::size_t kDecisionsPerUnit = 4;    // in about a microsecond
constexpr std::size_t kDecisionsPerWindow = 4;  // in the time that a calendar's window takes

absl::Status TooMuchToSimulate() {
  return absl::InvalidArgumentError(absl::StrCat(
      "too much to simulate: at most ", kSimulatedMax,
      " arrivals times limits; each window of a calendar counts as ", kDecisionsPerWindow));
}

void FailAsMistake(HttpExchange& exchange, const absl::Status& status) {
  exchange.Fail(400, absl::StrCat("ERR ", status.message()));
}

// Answers with the verdict.
class PeekReader final : public VerdictReader {
 public:
  explicit PeekReader(HttpExchange& exchange) : exchange_(exchange) {}

  void Read(const ParsedRequest& request, std::int64_t first, const Verdict& verdict) override {
    std::string json;
    AppendJsonVerdict(request, first, verdict, json);
    exchange_.Answer(200, kJson, json);
  }

 private:
  HttpExchange& exchange_;
};

// The numbers of a simulation's verdicts, each in the order of the arrivals.
struct Simulated {
  std::string allowed;  // '1' or '0'
  std::vector<std::int64_t> remaining;
  std::vector<std::int64_t> retry_after_ms;
  std::size_t work = 0;  // in decisions
};

// Decides the arrivals, of which the first one may be at `begin`, on a table of their own.
absl::StatusOr<Simulated> Simulate(const Services& services, const LimitsBody& body,
                                   Instant begin) {
  // The key is random, so that no policy has an override for it.
  const HashSecret secret = RandomHashSecret();
  const std::string key(secret.begin(), secret.end());
  Limiter limiter({.secret = secret, .max_wait = services.options.max_wait});
  LimitMemo memo(&services.policies);  // the thread's memo has the ids of the real limits
  std::vector<std::string_view> words = {key};
  words.insert(words.end(), body.limits().begin(), body.limits().end());
  const std::string cost = absl::StrCat(body.cost());
  words.insert(words.end(), {"COST", cost});
  absl::StatusOr<ParsedRequest> request = ParseRequest(words, memo, KeyHashes(limiter.hasher()));
  if (!request.ok()) return request.status();
  Simulated simulated;
  simulated.work = request->checks.size() * body.arrivals_ms().size();
  for (const std::int64_t arrival : body.arrivals_ms()) {
    if (simulated.work > kSimulatedMax) return TooMuchToSimulate();
    const std::uint64_t windows_before = WindowsComputed();
    const absl::StatusOr<Verdict> verdict =
        limiter.Decide(request->checks, begin + std::chrono::milliseconds{arrival});
    if (!verdict.ok()) return verdict.status();
    simulated.allowed += verdict->allowed ? '1' : '0';
    simulated.remaining.push_back(verdict->remaining);
    simulated.retry_after_ms.push_back(RetryMillis(verdict->retry_after));
    simulated.work += kDecisionsPerWindow * (WindowsComputed() - windows_before);
  }
  return simulated;
}

// Returns true if the user may ask about some key; otherwise answers 403.
bool MayPeek(HttpExchange& exchange) {
  constexpr std::array<std::string_view, 2> kAnyKey = {kPeek, ""};
  const std::shared_ptr<const User>& user = exchange.session().client().user();
  if (user && user->MayRun(*FindRequested(kAnyKey))) return true;
  return exchange.MayRun(kAnyKey);
}

}  // namespace

void ApiPeek(HttpExchange& exchange) {
  if (!HasJsonBody(exchange)) return;
  CommandReader reader(exchange.body());
  if (const absl::Status status = reader.ReadCommand(); !status.ok()) {
    return FailAsMistake(exchange, status);
  }
  std::vector<std::string_view> words = {kPeek};
  words.insert(words.end(), reader[0].begin(), reader[0].end());
  const bool has_details = std::any_of(words.begin() + 2, words.end(), [](std::string_view word) {
    return EqualsIgnoreCase(word, kWithLimits);
  });
  if (!has_details) words.push_back(kWithLimits);
  if (exchange.IsHeldBack(words)) return exchange.GoOnLater(ApiPeek);
  PeekReader answer(exchange);
  const std::string_view error = exchange.Run(words, answer);
  if (!error.empty()) exchange.FailAs(error);
}

void ApiSimulate(HttpExchange& exchange) {
  if (!MayPeek(exchange) || !HasJsonBody(exchange)) return;
  if (!exchange.CanLook()) return;
  LimitsBody body;
  if (const absl::Status status = body.ReadSimulation(exchange.body()); !status.ok()) {
    return FailAsMistake(exchange, status);
  }
  const absl::StatusOr<Simulated> simulated = Simulate(exchange.services(), body, exchange.now());
  if (!simulated.ok()) return FailAsMistake(exchange, simulated.status());
  exchange.session().work().Charge(simulated->work / kDecisionsPerUnit);
  std::string text;
  JsonWriter(text)
      .Object()
      .Field("allowed", simulated->allowed)
      .Field("remaining", simulated->remaining)
      .Field("retry_after_ms", simulated->retry_after_ms)
      .EndObject();
  exchange.Answer(200, kJson, text);
}

}  // namespace weir
