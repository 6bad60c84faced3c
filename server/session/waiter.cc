#include "server/session/waiter.h"

#include <utility>

#include "core/base/check.h"
#include "server/session/worker.h"

namespace weir {

ServerWaiter::ServerWaiter(Worker& worker, const ClientRecord& client, const ParsedRequest& request,
                           Reservation reservation)
    : worker_(worker), request_(request, std::move(reservation)) {
  worker_.services.open_waits.Add(request_.reservation(), client);
}

ServerWaiter::~ServerWaiter() {
  if (!over_) ReturnTokens();
}

bool ServerWaiter::Serve(RespWriter& reply, Instant now) {
  WEIR_CHECK(!over_);
  WEIR_DCHECK(now >= request_.reservation().ready);
  Services& services = worker_.services;
  if (services.admission().lacks_replicas()) {
    worker_.Fail(reply, kNoReplicasError);
    return false;
  }
  over_ = true;
  const bool is_served = services.open_waits.Remove(request_.reservation());
  if (is_served) {
    Answer(reply, services.limiter.VerdictAfterWait(request_.reservation(), now));
  } else {
    worker_.Fail(reply, services.is_primary() ? kClosingWaitError : kDemotedWaitError);
  }
  return is_served;
}

void ServerWaiter::Withdraw(RespWriter& reply, Instant now) {
  WEIR_CHECK(!over_);
  over_ = true;
  ReturnTokens();
  Answer(reply, worker_.services.limiter.Withdraw(request_.reservation(), now));
}

void ServerWaiter::ReturnTokens() {
  Services& services = worker_.services;
  if (!services.open_waits.Remove(request_.reservation())) return;
  services.limiter.ReturnTokens(request_.reservation());
}

void ServerWaiter::Answer(RespWriter& reply, const Verdict& verdict) {
  request_.Count(verdict, worker_.request_counters);
  request_.Answer(reply, verdict);
}

}  // namespace weir
