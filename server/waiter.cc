#include "server/waiter.h"

#include <utility>

#include "core/check.h"
#include "server/verdict_reply.h"
#include "server/worker.h"

namespace weir {

Waiter::Waiter(Worker& worker, const ParsedRequest& request, Limiter::Reservation reservation)
    : worker_(worker), reservation_(std::move(reservation)) {
  if (request.with_limits) {
    for (const KnownLimit* limit : request.limits) names_.push_back(limit->name);
  }
  for (std::size_t i = 0; i < request.limits.size(); ++i) {
    if (reservation_.part_of_check[i] < counted_as_.size()) continue;  // repeated
    counted_as_.push_back(request.limits[i]->counted_as);
  }
  worker_.services.waiters.fetch_add(1, std::memory_order_relaxed);
}

Waiter::~Waiter() {
  worker_.services.waiters.fetch_sub(1, std::memory_order_relaxed);
  if (!over_) worker_.services.limiter.GiveBack(reservation_);
}

void Waiter::Serve(RespWriter& reply, Instant now) {
  WEIR_DCHECK(now >= ready());
  over_ = true;
  Answer(reply, worker_.services.limiter.Settle(reservation_, now));
}

void Waiter::Withdraw(RespWriter& reply, Instant now) {
  over_ = true;
  worker_.services.limiter.GiveBack(reservation_);
  Answer(reply, worker_.services.limiter.Withdraw(reservation_, now));
}

void Waiter::Answer(RespWriter& reply, const Verdict& verdict) {
  Count(verdict);
  WriteVerdict(reply, verdict.allowed ? 1 : 0, verdict, !names_.empty(), [this](std::size_t i) {
    return NamedLimit{names_[i], &reservation_.parts[reservation_.part_of_check[i]].limit};
  });
}

void Waiter::Count(const Verdict& verdict) {
  std::size_t part = 0;
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    if (reservation_.part_of_check[i] != part) continue;  // repeated
    LimitCounts& counts = *worker_.stats.Of(counted_as_[part]);
    CountDecision(counts, reservation_.parts[part].limit, verdict.decisions[i], verdict.allowed);
    ++part;
  }
  (verdict.allowed ? worker_.counters.allowed : worker_.counters.denied).Add();
}

}  // namespace weir
