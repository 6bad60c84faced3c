// RL.*: the commands that this server exists for.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/commands/replies.h"
#include "core/words/request_grammar.h"
#include "server/commands/command_table.h"
#include "server/commands/handlers.h"
#include "server/session/call.h"
#include "server/session/waiter.h"

namespace weir {
namespace {

// Reads the request. An execution time of the client's own is one that it may give.
absl::StatusOr<ParsedRequest> ReadRequest(const Call& call,
                                          RequestKind kind = RequestKind::kDecide) {
  // A key and one limit are the unit that every command is charged; each new word takes as long.
  constexpr std::size_t kWordsOfOneLimit = 2;
  const std::size_t words = call.arguments().size();
  if (words > kWordsOfOneLimit) call.Charge(words - kWordsOfOneLimit);
  absl::StatusOr<ParsedRequest> request =
      ParseRequest(call.arguments(), call.session.worker().memo,
                   KeyHashes(call.services().limiter.hasher(), call.keys), kind);
  if (!request.ok()) return request;
  if (request->at && !call.services().explicit_time.allowed()) {
    request = absl::PermissionDeniedError("AT needs a server that runs with --allow-explicit-time");
    return request;
  }
  return request;
}

void Answer(Call& call, const ParsedRequest& request, std::int64_t first, const Verdict& verdict) {
  if (request.at) call.services().explicit_time.Record(*request.at);
  WriteVerdict(call.reply, first, verdict, request.with_limits, [&](std::size_t i) {
    return NamedLimit{request.limits[i]->name, &request.limits[i]->limit};
  });
}

// Counts a verdict that changed something, or that was refused.
void Count(Call& call, const ParsedRequest& request, const Verdict& verdict) {
  call.session.worker().tally.Count(request, verdict);
  if (verdict.allowed) call.MarkDirty();
}

}  // namespace

void RlAllow(Call& call) {
  const absl::StatusOr<ParsedRequest> request = ReadRequest(call);
  if (!request.ok()) return call.Fail(request.status());
  const Instant now = request->at.value_or(call.now);
  if (call.RefusedUnsaved(request->checks, now)) return;
  const absl::StatusOr<Verdict> verdict =
      call.services().limiter.Decide(request->checks, now, call.session.introducer());
  if (!verdict.ok()) return call.Fail(verdict.status());
  Count(call, *request, *verdict);
  Answer(call, *request, verdict->allowed ? 1 : 0, *verdict);
}

void RlPeek(Call& call) {
  const absl::StatusOr<ParsedRequest> request = ReadRequest(call);
  if (!request.ok()) return call.Fail(request.status());
  const Instant now = request->at.value_or(call.now);
  const Verdict verdict = call.services().limiter.Peek(request->checks, now);
  Answer(call, *request, verdict.allowed ? 1 : 0, verdict);
}

void RlTake(Call& call) {
  const absl::StatusOr<ParsedRequest> request = ReadRequest(call, RequestKind::kTake);
  if (!request.ok()) return call.Fail(request.status());
  const Instant now = request->at.value_or(call.now);
  if (call.RefusedUnsaved(request->checks, now)) return;
  const absl::StatusOr<Grant> grant =
      call.services().limiter.Take(request->checks, request->upto, now, call.session.introducer());
  if (!grant.ok()) return call.Fail(grant.status());
  Count(call, *request, grant->verdict);
  Answer(call, *request, grant->granted, grant->verdict);
}

void RlRefund(Call& call) {
  const absl::StatusOr<ParsedRequest> request = ReadRequest(call);
  if (!request.ok()) return call.Fail(request.status());
  const Instant now = request->at.value_or(call.now);
  call.MarkDirty();
  Answer(call, *request, 1, call.services().limiter.Refund(request->checks, now));
}

void RlWait(Call& call) {
  const absl::StatusOr<ParsedRequest> read = ReadRequest(call, RequestKind::kWait);
  if (!read.ok()) return call.Fail(read.status());
  const ParsedRequest& request = *read;
  if (request.timeout > call.services().options.max_wait) {
    return call.Fail(absl::StrCat("invalid TIMEOUT '", CeilMillis(request.timeout),
                                  "': above the server's max-wait, ",
                                  call.services().options.max_wait.count(), " ms"));
  }
  if (call.RefusedUnsaved(request.checks, call.now)) return;
  absl::StatusOr<Admission> admission =
      call.services().limiter.Reserve(request.checks, call.queued ? Nanos{0} : request.timeout,
                                      call.now, call.session.introducer());
  if (!admission.ok()) return call.Fail(admission.status());
  if (admission->reservation && call.services().refuses_changes()) {
    call.services().limiter.GiveBack(*admission->reservation);
    return call.FailUnsaved();
  }
  if (admission->reservation) {
    return call.session.Wait(std::make_unique<ServerWaiter>(call.session.worker(), request,
                                                            *std::move(admission->reservation)));
  }
  Count(call, request, admission->verdict);
  Answer(call, request, admission->verdict.allowed ? 1 : 0, admission->verdict);
}

void RlReset(Call& call) {
  const auto arguments = call.arguments();
  const auto limits = ParseLimits(arguments[0], arguments.subspan(1), call.session.worker().memo);
  if (!limits.ok()) return call.Fail(limits.status());
  call.Charge(limits->size());
  if (!call.MayLookAt(arguments.first(1))) return;
  call.MarkDirty();
  const Instant now = call.services().explicit_time.View(call.now);
  const std::size_t live = call.services().limiter.Reset(arguments[0], *limits, now);
  call.reply.Integer(static_cast<std::int64_t>(live));
}

void RlInspect(Call& call) {
  if (!call.MayLookAt(call.arguments())) return;
  const Services& services = call.services();
  const Instant now = services.explicit_time.View(call.now);
  const std::string_view key = call.arguments()[0];
  const auto buckets = services.limiter.Inspect(
      key, now, [&](const Limit& limit) { return services.policies.PresentLimit(limit, key); });
  WriteLiveBuckets(call.reply, buckets, services.policies);
}

void RlHelp(Call& call) { WriteHelp(call.reply, CommandTable()); }

}  // namespace weir
