// POST /v1/command, also as /v1, and /v1/pipeline: any command, in the form of Upstash's REST API.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/commands/command_spec.h"
#include "server/commands/command_table.h"
#include "server/http/http_exchange.h"
#include "server/http/http_route.h"
#include "server/json/command_reader.h"
#include "server/json/json_body.h"
#include "server/json/json_reply.h"
#include "server/json/json_results.h"
#include "server/session/transaction.h"

namespace weir {
namespace {

constexpr std::string_view kReplyTooLong =
    "ERR executed, but the results of this pipeline are too long to include this one";

// The error of a command that does not go with HTTP, or an empty text.
std::string Unsuitable(const CommandSpec& spec) {
  const absl::string_view name = AbslView(spec.name);
  if (spec.Is(kBlocking)) {
    return absl::StrCat("ERR ", name, " may be answered later, which HTTP does not wait for");
  }
  if (spec.Is(kOwnConnection) || spec.group == "transaction") {
    return absl::StrCat("ERR ", name,
                        " concerns a connection, but over HTTP each request stands alone");
  }
  return {};
}

// Returns the error of commands that may not run over HTTP, or not all in one request, or an empty
// text. Marks a request that may have a password in it, if there is no error.
std::string CheckCommands(HttpExchange& exchange, const CommandReader& commands) {
  std::size_t units = 0;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const CommandSpec* const spec = FindRequested(commands[i]);
    if (!spec || spec->Is(kSecret)) exchange.MarkSecret();
    if (!spec) continue;  // that is its reply
    std::string unsuitable = Unsuitable(*spec);
    if (!unsuitable.empty()) return unsuitable;
    units += Transaction::LeastUnitsOf(*spec, commands[i].size());
  }
  if (commands.size() <= 1 || units <= Transaction::kUnitsMax) return {};
  return absl::StrCat("ERR pipeline is too large: at most ", Transaction::kUnitsMax,
                      " units of work, and slow commands count as ", kWholeTableWork);
}

JsonBytes BytesWanted(const HttpHead& head) {
  const std::string_view encoding = head.Field("Upstash-Encoding").value_or("");
  return absl::EqualsIgnoreCase(AbslView(encoding), "base64") ? JsonBytes::kBase64
                                                              : JsonBytes::kText;
}

// Returns the error of a body, or an empty text after reading its commands.
std::string ReadBody(HttpExchange& exchange, CommandReader& commands,
                     absl::Status (CommandReader::*read)()) {
  const absl::Status status = (commands.*read)();
  return status.ok() ? CheckCommands(exchange, commands) : absl::StrCat("ERR ", status.message());
}

// Reads the body; false after answering an error. A body that is refused was not understood to its
// end, so it may have a password in it.
bool ReadCommands(HttpExchange& exchange, CommandReader& commands,
                  absl::Status (CommandReader::*read)()) {
  if (HasJsonBody(exchange)) {
    const std::string error = ReadBody(exchange, commands, read);
    if (error.empty()) return true;
    exchange.Fail(400, error);
  }
  exchange.MarkSecret();
  return false;
}

// A pipeline whose commands are being run.
struct Pipeline {
  explicit Pipeline(HttpExchange& exchange)
      : commands(exchange.body()), bytes(BytesWanted(exchange.head())) {}

  CommandReader commands;
  JsonBytes bytes;
  JsonResults results{"", kReplyTooLong};
};

// Runs the commands that are left, as far as this turn goes.
void GoOn(std::unique_ptr<Pipeline> pipeline, HttpExchange& exchange) {
  JsonResults& results = pipeline->results;
  while (results.count() < pipeline->commands.size()) {
    const std::span<const std::string_view> command = pipeline->commands[results.count()];
    if (exchange.IsTurnOver() || exchange.IsHeldBack(command)) {
      const std::size_t bytes = results.held_bytes() + exchange.body().size();
      return exchange.GoOnLater(
          [pipeline = std::move(pipeline)](HttpExchange& later) mutable {
            GoOn(std::move(pipeline), later);
          },
          bytes);
    }
    AppendJsonReply(exchange.Run(command), pipeline->bytes, results.Next());
    results.End(exchange.session());
  }
  exchange.Answer(200, kJson, results.Finish(""));
}

}  // namespace

void JsonCommand(HttpExchange& exchange) {
  CommandReader commands(exchange.body());
  if (!ReadCommands(exchange, commands, &CommandReader::ReadCommand)) return;
  if (exchange.IsHeldBack(commands[0])) return exchange.GoOnLater(JsonCommand);
  const std::string_view reply = exchange.Run(commands[0]);
  if (reply.starts_with('-')) return exchange.FailAs(reply.substr(1, reply.size() - 3));
  std::string body;
  AppendJsonReply(reply, BytesWanted(exchange.head()), body);
  exchange.Answer(200, kJson, body);
}

void JsonPipeline(HttpExchange& exchange) {
  auto pipeline = std::make_unique<Pipeline>(exchange);
  if (!ReadCommands(exchange, pipeline->commands, &CommandReader::ReadPipeline)) return;
  GoOn(std::move(pipeline), exchange);
}

}  // namespace weir
