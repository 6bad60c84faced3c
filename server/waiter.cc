#include "server/waiter.h"

#include <utility>

#include "core/check.h"
#include "server/verdict_reply.h"
#include "server/worker.h"

namespace weir {

Waiter::Waiter(Services& services, const ParsedRequest& request, Limiter::Reservation reservation)
    : services_(services), reservation_(std::move(reservation)) {
  if (request.with_limits) {
    for (const KnownLimit* limit : request.limits) names_.push_back(limit->name);
  }
  services_.waiters.fetch_add(1, std::memory_order_relaxed);
}

Waiter::~Waiter() {
  services_.waiters.fetch_sub(1, std::memory_order_relaxed);
  if (!served_) services_.limiter.GiveBack(reservation_);
}

void Waiter::Serve(RespWriter& reply, Instant now) {
  WEIR_DCHECK(now >= ready());
  served_ = true;
  const Verdict verdict = services_.limiter.Settle(reservation_, now);
  WriteVerdict(reply, 1, verdict, !names_.empty(), [this](std::size_t i) {
    return NamedLimit{names_[i], &reservation_.parts[reservation_.part_of_check[i]].limit};
  });
}

}  // namespace weir
