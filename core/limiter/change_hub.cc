#include "core/limiter/change_hub.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace weir {

ChangeHub::ChangeHub(LimiterTable& table, Policies& policies, const Clock& clock, bool drops_full)
    : table_(table), reader_(table), policies_(policies), clock_(clock), drops_full_(drops_full) {}

void ChangeHub::Attach(ChangeConsumer& consumer) {
  const ChangesLock changes_lock(reader_);
  WEIR_CHECK(std::ranges::find(consumers_, &consumer) == consumers_.end());
  consumers_.push_back(&consumer);
}

void ChangeHub::Detach(ChangeConsumer& consumer) {
  const ChangesLock changes_lock(reader_);
  WEIR_CHECK(std::erase(consumers_, &consumer) == 1);
}

std::size_t ChangeHub::TakePart(std::size_t first_partition, bool consistent_snapshot) {
  const ChangesLock changes_lock(reader_);
  ChangeBatch batch;
  batch.limiter =
      reader_.TakeChanges(DropTime(), consistent_snapshot, first_partition, std::move(spare_));
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
