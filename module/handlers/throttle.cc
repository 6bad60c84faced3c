// CL.THROTTLE and RL.THROTTLE.
#include "core/commands/limit_handlers.h"
#include "core/commands/replies.h"
#include "core/words/throttle_request.h"
#include "module/api/wall_time.h"
#include "module/handlers/call.h"
#include "module/handlers/key_limiter.h"

namespace weir {

void Throttle(Call& call) {
  Module& module = TheModule();
  const absl::StatusOr<ThrottleRequest> request = ParseThrottle(call.arguments());
  if (!request.ok()) return call.Fail(request.status());
  const Request checks = {{request->key, &request->limit, request->quantity, &module.throttle_hint,
                           module.hasher(request->key)}};
  const absl::StatusOr<Verdict> verdict = KeyLimiter(module, call).Decide(checks, WallTime());
  if (!verdict.ok()) return call.Fail(verdict.status());
  module.tally.CountThrottle(checks.front(), *verdict);
  WriteThrottle(call.reply, *request, *verdict);
}

}  // namespace weir
