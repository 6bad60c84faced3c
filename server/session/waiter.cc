#include "server/session/waiter.h"

#include <utility>

#include "core/base/check.h"
#include "server/session/worker.h"

namespace weir {

ServerWaiter::ServerWaiter(Worker& worker, const ParsedRequest& request, Reservation reservation)
    : worker_(worker), request_(request, std::move(reservation)) {
  worker_.services.waiters.fetch_add(1, std::memory_order_relaxed);
}

ServerWaiter::~ServerWaiter() {
  worker_.services.waiters.fetch_sub(1, std::memory_order_relaxed);
  if (!over_) worker_.services.limiter.GiveBack(request_.reservation());
}

bool ServerWaiter::Serve(RespWriter& reply, Instant now) {
  WEIR_DCHECK(now >= request_.reservation().ready);
  over_ = !worker_.services.lacks_replicas();
  if (over_) {
    Answer(reply, worker_.services.limiter.Settle(request_.reservation(), now));
  } else {
    worker_.Fail(reply, kNoReplicasError);
  }
  return over_;
}

void ServerWaiter::Withdraw(RespWriter& reply, Instant now) {
  over_ = true;
  worker_.services.limiter.GiveBack(request_.reservation());
  Answer(reply, worker_.services.limiter.Withdraw(request_.reservation(), now));
}

void ServerWaiter::Answer(RespWriter& reply, const Verdict& verdict) {
  request_.Count(verdict, worker_.request_counters);
  request_.Answer(reply, verdict);
}

}  // namespace weir
