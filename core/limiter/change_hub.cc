#include "core/limiter/change_hub.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace weir {

ChangeHub::ChangeHub(Limiter& limiter, Policies& policies, const Clock& clock, bool drops_full)
    : limiter_(limiter), policies_(policies), clock_(clock), drops_full_(drops_full) {}

void ChangeHub::Attach(ChangeConsumer& consumer) {
  const Limiter::Taking taking(limiter_);
  WEIR_CHECK(std::ranges::find(consumers_, &consumer) == consumers_.end());
  consumers_.push_back(&consumer);
}

void ChangeHub::Detach(ChangeConsumer& consumer) {
  const Limiter::Taking taking(limiter_);
  WEIR_CHECK(std::erase(consumers_, &consumer) == 1);
}

std::size_t ChangeHub::TakePart(std::size_t first_partition, bool one_cut) {
  const Limiter::Taking taking(limiter_);
  ChangeBatch batch;
  batch.limiter = limiter_.TakeChanges(DropTime(), one_cut, first_partition, std::move(spare_));
  // Taken after the buckets, so that the policy of each is known.
  batch.policies = policies_.TakeChanges();
  batch.time = clock_.Now();
  for (ChangeConsumer* const consumer : consumers_) consumer->Consume(batch);
  const std::size_t next = batch.limiter.next_partition;
  batch.limiter.Clear();
  spare_ = std::move(batch.limiter);
  return next;
}

void ChangeHub::TakeAll() {
  for (std::size_t next = 0; next < kPartitionCount;) next = TakePart(next, false);
}

}  // namespace weir
