#include "server/handlers/sync_waiter.h"

#include <string_view>

#include <spdlog/spdlog.h>

#include "server/os/log.h"
#include "server/session/session.h"
#include "server/session/worker.h"

namespace weir {
namespace {

void LogRefusedSync(Services& services, const SyncRequest& request, std::string_view error) {
  if (const auto suppressed = services.foreign_throttle.Admit()) {
    spdlog::warn("refused replica {}:{}: {} ({} similar lines suppressed)",
                 EscapedForLog(request.ip), request.port, EscapedForLog(error), *suppressed);
  }
}

}  // namespace

bool SyncWaiter::Serve(RespWriter& reply, Instant /*now*/) {
  SyncAnswer& answer = late_->answer;
  if (!answer.error.empty()) {
    if (answer.needs_operator) {
      LogRefusedSync(session_.worker().services, request_, answer.error);
    }
    session_.worker().Fail(reply, answer.error);
    return false;
  }
  reply.Array(8);
  reply.Integer(answer.version);
  reply.Integer(static_cast<std::int64_t>(answer.term));
  reply.Bulk(answer.replid);
  reply.Integer(static_cast<std::int64_t>(answer.common));
  reply.Integer(static_cast<std::int64_t>(answer.head));
  reply.Integer(answer.generation);
  reply.Bulk(answer.secret);
  reply.Bulk(answer.resume ? kSyncResume : kSyncFresh);
  session_.HandOver({std::move(request_), std::move(answer)});
  return true;
}

void SyncWaiter::Withdraw(RespWriter& reply, Instant /*now*/) {
  session_.worker().Fail(reply, "UNBLOCKED this server has not answered yet");
}

}  // namespace weir
