// Takes the changes of a limiter and its policies, and hands each batch to every consumer: to the
// saver and, where there are replicas, to the stream that they read.
//
//     ChangeHub hub(limiter, policies, clock, {});
//     hub.Attach(consumer);
//     hub.TakeAll();      // consumer.Consume(batch), once or several times
//
// Batches reach all consumers in one order, in which every bucket's values follow each other as
// they did in the table.
//
// Thread-safe: Limiter::Taking makes one call wait for another. Cost: that of
// Limiter::TakeChanges.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_changes.h"
#include "core/policies/policies.h"

namespace weir {

struct ChangeBatch {
  Instant time;            // no earlier than the execution time of any change in it
  LimiterChanges limiter;  // without limits: see Limiter::TakeLimits and LimitOf
  PolicyChanges policies;
};

class ChangeConsumer {
 public:
  ChangeConsumer() = default;
  ChangeConsumer(const ChangeConsumer&) = delete;
  ChangeConsumer& operator=(const ChangeConsumer&) = delete;
  virtual ~ChangeConsumer() = default;

  // Called during a Limiter::Taking of the calling thread.
  virtual void Consume(const ChangeBatch& batch) = 0;
};

class ChangeHub {
 public:
  // `drops_full`: full buckets need no record. False where clients give the time.
  ChangeHub(Limiter& limiter, Policies& policies, const Clock& clock, bool drops_full);

  // A consumer gets the batches between these two calls. Requires: it is not (is) attached.
  void Attach(ChangeConsumer& consumer);
  void Detach(ChangeConsumer& consumer);

  // Takes the changes of partitions from `first_partition` on, and hands them out. Returns where
  // the next call continues: kPartitionCount after the last partition. With `one_cut` each request
  // is in the batch whole or not at all, as Limiter::TakeChanges says.
  std::size_t TakePart(std::size_t first_partition, bool one_cut);
  // Takes all changes, in as many parts as they need.
  void TakeAll();

  // The time at which the next batch judges whether a bucket is full; nothing if none is dropped.
  [[nodiscard]] std::optional<Instant> DropTime() const {
    return drops_full_ ? std::optional(clock_.Now()) : std::nullopt;
  }
  [[nodiscard]] bool drops_full() const noexcept { return drops_full_; }
  [[nodiscard]] Limiter& limiter() const noexcept { return limiter_; }
  [[nodiscard]] Policies& policies() const noexcept { return policies_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

 private:
  Limiter& limiter_;
  Policies& policies_;
  const Clock& clock_;
  const bool drops_full_;
  // Guarded by Limiter::Taking.
  std::vector<ChangeConsumer*> consumers_;
  LimiterChanges spare_;  // none, with the memory of the last batch
};

}  // namespace weir
