// RL.*: the commands that this server exists for.
#include <string>

#include "absl/strings/str_cat.h"

#include "core/limit_grammar.h"
#include "core/reply_numbers.h"
#include "core/request_grammar.h"
#include "core/status.h"
#include "server/command.h"
#include "server/command_docs.h"
#include "server/command_table.h"
#include "server/handlers.h"

namespace weir {
namespace {

// One element of WITHLIMITS: an array, or in RESP3 a map with the fields' names.
void WriteDecision(RespWriter& reply, const LimitWord& word, const Decision& decision) {
  const auto numbers = DecisionNumbers(*word.limit, decision);
  if (reply.protocol() == 2) {
    reply.Array(1 + numbers.size());
    reply.Bulk(word.name);
    for (const std::int64_t number : numbers) reply.Integer(number);
    return;
  }
  reply.Map(1 + numbers.size());
  reply.Bulk("name");
  reply.Bulk(word.name);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    reply.Bulk(kDecisionFields[i]);
    reply.Integer(numbers[i]);
  }
}

void WriteVerdict(RespWriter& reply, const ParsedRequest& request, const Verdict& verdict) {
  const auto numbers = VerdictNumbers(verdict);
  reply.Array(numbers.size() + (request.with_limits ? 1 : 0));
  for (const std::int64_t number : numbers) reply.Integer(number);
  if (!request.with_limits) return;
  reply.Array(verdict.decisions.size());
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    WriteDecision(reply, *request.words[i], verdict.decisions[i]);
  }
}

// The execution time of a request: the clock's, or the client's where that is allowed.
absl::StatusOr<Instant> ExecutionTime(const Call& call, const ParsedRequest& request) {
  if (!request.at) return call.now;
  ExplicitTime& explicit_time = call.services().explicit_time;
  if (!explicit_time.allowed()) {
    return absl::PermissionDeniedError("AT needs a server that runs with --allow-explicit-time");
  }
  explicit_time.Record(*request.at);
  return *request.at;
}

}  // namespace

void RlAllow(Call& call) {
  Worker& worker = call.session.worker();
  const absl::StatusOr<ParsedRequest> request = ParseRequest(call.arguments(), worker.memo);
  if (!request.ok()) return call.Fail(request.status());
  const absl::StatusOr<Instant> now = ExecutionTime(call, *request);
  if (!now.ok()) return call.Fail(now.status());
  const absl::StatusOr<Verdict> verdict = call.services().limiter.Decide(request->checks, *now);
  if (!verdict.ok()) return call.Fail(verdict.status());
  (verdict->allowed ? worker.counters.allowed : worker.counters.denied).Add();
  WriteVerdict(call.reply, *request, *verdict);
}

void RlPeek(Call& call) {
  const absl::StatusOr<ParsedRequest> request =
      ParseRequest(call.arguments(), call.session.worker().memo);
  if (!request.ok()) return call.Fail(request.status());
  const absl::StatusOr<Instant> now = ExecutionTime(call, *request);
  if (!now.ok()) return call.Fail(now.status());
  WriteVerdict(call.reply, *request, call.services().limiter.Peek(request->checks, *now));
}

void RlReset(Call& call) {
  const auto arguments = call.arguments();
  const auto limits = ParseLimits(arguments.subspan(1), call.session.worker().memo);
  if (!limits.ok()) return call.Fail(limits.status());
  const Instant now = call.services().explicit_time.View(call.now);
  const std::size_t live = call.services().limiter.Reset(arguments[0], *limits, now);
  call.reply.Integer(static_cast<std::int64_t>(live));
}

void RlInspect(Call& call) {
  const Instant now = call.services().explicit_time.View(call.now);
  const auto buckets = call.services().limiter.Inspect(call.arguments()[0], now);
  call.reply.Array(buckets.size());
  for (const Limiter::LiveBucket& bucket : buckets) {
    call.reply.Array(3);
    call.reply.Bulk(LimitText(bucket.limit));
    call.reply.Integer(bucket.remaining);
    call.reply.Integer(CeilMillis(bucket.reset_after));
  }
}

void RlHelp(Call& call) {
  std::vector<std::string> lines;
  for (const CommandSpec& spec : CommandTable()) {
    if (!spec.name.starts_with("RL.")) continue;
    lines.push_back(CommandSyntax(spec));
    lines.push_back(absl::StrCat("    ", AbslView(spec.summary)));
  }
  call.reply.Array(lines.size());
  for (const std::string& line : lines) call.reply.Bulk(line);
}

}  // namespace weir
