// Takes the changes of a limiter and its policies, and hands each batch to every consumer: to the
// saver and, where there are replicas, to the stream that they read.
//
//     ChangeHub hub(limiter.table(), policies, clock, true);
//     hub.Attach(consumer);
//     hub.TakeAll();      // consumer.Consume(batch), once or several times
//
// Batches reach all consumers in one order, in which every bucket's values follow each other as
// they did in the table.
//
// Thread-safe: ChangesLock makes one call wait for another. Cost: that of
// ChangeReader::TakeChanges.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/instant.h"
#include "core/limiter/change_reader.h"
#include "core/limiter/limiter_changes.h"
#include "core/policies/policies.h"

namespace weir {

struct ChangeBatch {
  Instant time;            // no earlier than the execution time of any change in it
  LimiterChanges limiter;  // without limits: see ChangeReader::TakeLimits and LimitOf
  PolicyChanges policies;
};

class ChangeConsumer {
 public:
  ChangeConsumer() = default;
  ChangeConsumer(const ChangeConsumer&) = delete;
  ChangeConsumer& operator=(const ChangeConsumer&) = delete;
  virtual ~ChangeConsumer() = default;

  // Called while the calling thread has a ChangesLock.
  virtual void Consume(const ChangeBatch& batch) = 0;
};

class ChangeHub {
 public:
  // `drops_full`: full buckets need no record. False where clients give the time.
  ChangeHub(LimiterTable& table, Policies& policies, const Clock& clock, bool drops_full);

  // A consumer gets the batches between these two calls. Requires: it is not (is) attached.
  void Attach(ChangeConsumer& consumer);
  void Detach(ChangeConsumer& consumer);

  // Takes the changes of partitions from `first_partition` on, and hands them out. Returns where
  // the next call continues: kPartitionCount after the last partition. With `consistent_snapshot`
  // each request is in the batch whole or not at all, as ChangeReader::TakeChanges says.
  std::size_t TakePart(std::size_t first_partition, bool consistent_snapshot);
  // Takes all changes, in as many parts as they need.
  void TakeAll();

  // The time at which the next batch judges whether a bucket is full; nothing if none is dropped.
  // Requires: this thread has a ChangesLock.
  [[nodiscard]] std::optional<Instant> DropTime() const {
    return drops_full_ ? std::optional(reader_.Droppable(clock_.Now())) : std::nullopt;
  }
  [[nodiscard]] bool drops_full() const noexcept { return drops_full_; }
  [[nodiscard]] LimiterTable& table() const noexcept { return table_; }
  [[nodiscard]] ChangeReader& reader() noexcept { return reader_; }
  [[nodiscard]] Policies& policies() const noexcept { return policies_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

 private:
  LimiterTable& table_;
  ChangeReader reader_;
  Policies& policies_;
  const Clock& clock_;
  const bool drops_full_;
  // Guarded by ChangesLock.
  std::vector<ChangeConsumer*> consumers_;
  LimiterChanges spare_;  // none, with the memory of the last batch
};

inline ChangeHub::ChangeHub(LimiterTable& table, Policies& policies, const Clock& clock,
                            bool drops_full)
    : table_(table), reader_(table), policies_(policies), clock_(clock), drops_full_(drops_full) {}

inline void ChangeHub::Attach(ChangeConsumer& consumer) {
  const ChangesLock changes_lock(reader_);
  WEIR_CHECK(std::ranges::find(consumers_, &consumer) == consumers_.end());
  consumers_.push_back(&consumer);
}

inline void ChangeHub::Detach(ChangeConsumer& consumer) {
  const ChangesLock changes_lock(reader_);
  WEIR_CHECK(std::erase(consumers_, &consumer) == 1);
}

inline std::size_t ChangeHub::TakePart(std::size_t first_partition, bool consistent_snapshot) {
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

inline void ChangeHub::TakeAll() {
  for (std::size_t next = 0; next < kPartitionCount;) next = TakePart(next, false);
}

}  // namespace weir
