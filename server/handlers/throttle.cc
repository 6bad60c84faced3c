// CL.THROTTLE and RL.THROTTLE.
#include "core/commands/replies.h"
#include "core/words/throttle_request.h"
#include "server/commands/handlers.h"
#include "server/session/call.h"

namespace weir {

void Throttle(Call& call) {
  const absl::StatusOr<ThrottleRequest> request = ParseThrottle(call.arguments());
  if (!request.ok()) return call.Fail(request.status());
  Worker& worker = call.session.worker();
  KeyHashes hashes(call.services().limiter.hasher(), call.keys);
  const Request checks = {{request->key, &request->limit, request->quantity, &worker.throttle_hint,
                           hashes.Next(request->key)}};
  if (call.RefusedUnsaved(checks, call.now)) return;
  const absl::StatusOr<Verdict> verdict = call.services().limiter.Decide(checks, call.now);
  if (!verdict.ok()) return call.Fail(verdict.status());
  if (verdict->allowed) call.MarkDirty();
  worker.tally.CountThrottle(checks.front(), *verdict);
  WriteThrottle(call.reply, *request, *verdict);
}

}  // namespace weir
