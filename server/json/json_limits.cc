// POST /v1/allow and the paths like it, one for each LimitCommand, and /v1/batch.
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "protocol/http_target.h"
#include "server/commands/command_table.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/http/rate_limit_fields.h"
#include "server/json/json_body.h"
#include "server/json/json_results.h"
#include "server/json/json_verdict.h"
#include "server/json/limit_request_reader.h"
#include "server/session/read_ahead.h"
#include "server/session/verdict_reader.h"

namespace weir {
namespace {

constexpr std::string_view kDirectory = "/v1/";
constexpr std::string_view kResultTooLong =
    "ERR executed, but the results of this batch are too long to include this one";

// Answers with the verdict of a request.
class VerdictAnswer final : public VerdictReader {
 public:
  // `denied_status`: of an answer that does not allow.
  VerdictAnswer(HttpExchange& exchange, int denied_status)
      : exchange_(exchange), denied_status_(denied_status) {}

  void Read(const ParsedRequest& request, std::int64_t first, const Verdict& verdict) override {
    std::string body;
    AppendJsonVerdict(request, first, verdict, body);
    HttpWriter& writer = exchange_.Begin(verdict.allowed ? 200 : denied_status_);
    RateLimitFields(request, verdict, exchange_.now(), kFields)
        .Write(exchange_.services().limiter, writer);
    writer.Field("Content-Type", kJson);
    exchange_.End(body);
  }

  // A settlement admits and denies nothing, so its status is 200.
  void ReadSettled(const ParsedSettlement& request, const Settled& settled,
                   std::span<const AskedLimit> limits) override {
    std::string body;
    AppendJsonSettled(request, settled, limits, body);
    exchange_.Answer(200, kJson, body);
  }

 private:
  // The client is the application, which may know of all limits.
  static constexpr FieldChoice kFields = {.show = ShownLimits::kAll};

  HttpExchange& exchange_;
  const int denied_status_;
};

// Appends the verdict to the results of a batch.
class VerdictAppender final : public VerdictReader {
 public:
  explicit VerdictAppender(std::string& out) : out_(out) {}

  void Read(const ParsedRequest& request, std::int64_t first, const Verdict& verdict) override {
    AppendJsonVerdict(request, first, verdict, out_);
  }

  void ReadSettled(const ParsedSettlement& request, const Settled& settled,
                   std::span<const AskedLimit> limits) override {
    AppendJsonSettled(request, settled, limits, out_);
  }

 private:
  std::string& out_;
};

// The status of a denial: that of the parameter "denied", else 200. Nothing after a 400.
std::optional<int> ReadDeniedStatus(HttpExchange& exchange) {
  std::optional<int> status;
  for (QueryReader parameters(exchange.head().query); parameters.Next();) {
    if (parameters.name() != "denied" || status) {
      exchange.Fail(400, absl::StrCat("ERR unexpected parameter ", Quote(parameters.name()),
                                      ": denied may stand there, once"));
      return std::nullopt;
    }
    const std::int64_t number = ParseDigits(parameters.value()).value_or(0);
    if ((number < 400 || number > 499) && number != 503 && number != 200) {
      exchange.Fail(400, absl::StrCat("ERR invalid parameter denied=", Quote(parameters.value()),
                                      ": must be 200, 503 or a status from 400 to 499"));
      return std::nullopt;
    }
    status = static_cast<int>(number);
  }
  return status.value_or(200);
}

void FailAsInvalid(HttpExchange& exchange, const absl::Status& status) {
  exchange.Fail(400, absl::StrCat("ERR ", status.message()));
}

// Returns the error of the first command that this server may not run.
absl::Status StateErrorOfAny(const Services& services,
                             std::span<const std::span<const std::string_view>> commands) {
  if (services.is_primary()) return absl::OkStatus();
  for (const std::span<const std::string_view> command : commands) {
    WEIR_RETURN_IF_ERROR(services.admission().StateError(FindRequested(command)->flags));
  }
  return absl::OkStatus();
}

// A batch whose requests are being run.
struct Batch {
  explicit Batch(std::string_view body) : reader(body) {}

  LimitRequestReader reader;
  std::vector<std::span<const std::string_view>> commands;  // of the requests without a mistake
  std::size_t commands_run = 0;
  JsonResults results{"{\"results\":", kResultTooLong};
};

// Appends the result of the next request.
void RunNext(Batch& batch, HttpExchange& exchange) {
  const std::string_view mistake = batch.reader.error(batch.results.count());
  std::string& results = batch.results.Next();
  if (mistake.empty()) {
    VerdictAppender appender(results);
    ++batch.commands_run;
    const ReadAhead::Command command =
        exchange.session().worker().read_ahead.Pop(exchange.services().limiter);
    const std::string_view error = exchange.Run(command, appender);
    if (!error.empty()) results += ErrorJson(error);
  } else {
    results += ErrorJson(absl::StrCat("ERR ", AbslView(mistake)));
  }
  batch.results.End(exchange.session());
}

// Runs the requests that are left, as far as this turn goes.
void GoOn(std::unique_ptr<Batch> batch, HttpExchange& exchange) {
  ReadAhead& ahead = exchange.session().worker().read_ahead;
  while (batch->results.count() < batch->reader.size()) {
    const bool is_command = batch->reader.error(batch->results.count()).empty();
    if (is_command && ahead.empty()) {
      ahead.Fill(std::span(batch->commands).subspan(batch->commands_run),
                 exchange.services().limiter);
    }
    const bool may_wait = is_command && exchange.was_paused();
    if (exchange.IsTurnOver() || (may_wait && exchange.IsHeldBack(ahead.next()))) {
      ahead.Drop();
      const std::size_t bytes = batch->results.held_bytes() + exchange.body().size();
      return exchange.GoOnLater([batch = std::move(batch)](
                                    HttpExchange& later) mutable { GoOn(std::move(batch), later); },
                                bytes);
    }
    RunNext(*batch, exchange);
  }
  exchange.Answer(200, kJson, batch->results.Finish("}"));
}

}  // namespace

void JsonLimit(HttpExchange& exchange) {
  const std::optional<int> denied_status = ReadDeniedStatus(exchange);
  if (!denied_status || !HasJsonBody(exchange)) return;
  LimitRequestReader reader(exchange.body());
  const absl::Status read =
      reader.ReadRequest(*FindLimitCommand(exchange.head().path.substr(kDirectory.size())));
  if (!read.ok()) return FailAsInvalid(exchange, read);
  if (exchange.IsHeldBack(reader.words(0))) return exchange.GoOnLater(JsonLimit);
  VerdictAnswer answer(exchange, *denied_status);
  const std::string_view error = exchange.Run(reader.words(0), answer);
  if (!error.empty()) exchange.FailAs(error);
}

// A server that may not run one of the requests in its present state, since it loads that state or
// is a replica, answers none of them.
void JsonBatch(HttpExchange& exchange) {
  if (!HasJsonBody(exchange) || !exchange.CanLook()) return;
  auto batch = std::make_unique<Batch>(exchange.body());
  const absl::Status read = batch->reader.ReadBatch();
  if (!read.ok()) return FailAsInvalid(exchange, read);
  batch->commands = batch->reader.commands();
  const absl::Status why = StateErrorOfAny(exchange.services(), batch->commands);
  if (!why.ok()) return exchange.FailAs(StdView(why.message()));
  GoOn(std::move(batch), exchange);
}

}  // namespace weir
