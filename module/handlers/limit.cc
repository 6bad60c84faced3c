// RL.ALLOW and its kin.
#include <string_view>
#include <vector>

#include "core/commands/limit_commands.h"
#include "core/commands/limit_handlers.h"
#include "core/commands/replies.h"
#include "core/words/request_grammar.h"
#include "module/api/wall_time.h"
#include "module/handlers/call.h"
#include "module/handlers/command_table.h"
#include "module/handlers/key_limiter.h"
#include "module/handlers/requests.h"

namespace weir {
namespace {

Instant TimeOf(const ParsedRequest& request) { return request.at.value_or(WallTime()); }

}  // namespace

void RlAllow(Call& call) {
  const absl::StatusOr<ParsedRequest> request = ReadRequest(call, RequestKind::kDecide);
  if (!request.ok()) return call.Fail(request.status());
  const absl::StatusOr<Verdict> verdict =
      KeyLimiter(TheModule(), call).Decide(request->checks, TimeOf(*request));
  if (!verdict.ok()) return call.Fail(verdict.status());
  TheModule().tally.Count(*request, *verdict);
  Answer(call, *request, verdict->allowed ? 1 : 0, *verdict);
}

void RlPeek(Call& call) {
  const absl::StatusOr<ParsedRequest> request = ReadRequest(call, RequestKind::kDecide);
  if (!request.ok()) return call.Fail(request.status());
  const absl::StatusOr<Verdict> verdict =
      KeyLimiter(TheModule(), call).Peek(request->checks, TimeOf(*request));
  if (!verdict.ok()) return call.Fail(verdict.status());
  Answer(call, *request, verdict->allowed ? 1 : 0, *verdict);
}

void RlTake(Call& call) {
  const absl::StatusOr<ParsedRequest> request = ReadRequest(call, RequestKind::kTake);
  if (!request.ok()) return call.Fail(request.status());
  const absl::StatusOr<Grant> grant =
      KeyLimiter(TheModule(), call).Take(request->checks, request->upto, TimeOf(*request));
  if (!grant.ok()) return call.Fail(grant.status());
  TheModule().tally.Count(*request, grant->verdict);
  Answer(call, *request, grant->granted, grant->verdict);
}

void RlRefund(Call& call) {
  const absl::StatusOr<ParsedRequest> request = ReadRequest(call, RequestKind::kDecide);
  if (!request.ok()) return call.Fail(request.status());
  const absl::StatusOr<Verdict> verdict =
      KeyLimiter(TheModule(), call).Refund(request->checks, TimeOf(*request));
  if (!verdict.ok()) return call.Fail(verdict.status());
  Answer(call, *request, 1, *verdict);
}

void RlReset(Call& call) {
  const auto arguments = call.arguments();
  const auto limits = ParseLimits(arguments[0], arguments.subspan(1), TheModule().memo);
  if (!limits.ok()) return call.Fail(limits.status());
  const absl::StatusOr<std::size_t> live =
      KeyLimiter(TheModule(), call)
          .Reset(arguments[0], *limits, TheModule().explicit_time.View(WallTime()));
  if (!live.ok()) return call.Fail(live.status());
  call.reply.Integer(static_cast<std::int64_t>(*live));
}

void RlInspect(Call& call) {
  const absl::StatusOr<std::vector<LiveBucket>> buckets =
      KeyLimiter(TheModule(), call)
          .Inspect(call.arguments()[0], TheModule().explicit_time.View(WallTime()));
  if (!buckets.ok()) return call.Fail(buckets.status());
  WriteLiveBuckets(call.reply, *buckets, TheModule().policies);
}

void RlHelp(Call& call) { WriteHelp(call.reply, rows::kLimitCommands); }

void ContainerHelp(Call& call) {
  const std::string_view container = call.spec.name.substr(0, call.spec.name.find('|'));
  WriteContainerHelp(call.reply, container, SubcommandsOf(container));
}

}  // namespace weir
