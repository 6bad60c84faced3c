// A request with its buckets found, while its partitions are locked. Its constructor has three
// steps: it locks, which fixes the execution time; settles due holds (ExpireHolds), if a partition
// has open ones; and finds the buckets. Holds that are due are settled first, in every call: even a
// look writes. For the files of the limiter only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"

#include "core/base/check.h"
#include "core/limiter/limiter.h"
#include "core/plans/choice.h"
#include "core/table/bucket_table.h"
#include "core/table/partition_set.h"

namespace weir {

// A request with its buckets found, and with its partitions locked as long as this object lives.
template <std::size_t kChecks>
struct Limiter::LockedRequest {
  ABSL_ATTRIBUTE_ALWAYS_INLINE LockedRequest(Limiter& limiter, std::span<const Check> request,
                                             Instant asked)
      : checks(request),
        plan(request, limiter.table_.max_wait),
        lock(limiter.table_.buckets, request.size(),
             [request](std::size_t i) { return request[i].hash.partition; }),
        now(limiter.ExecutionTime(lock, asked)),
        has_open_holds(HasOpenHolds(lock)) {
    if (ABSL_PREDICT_FALSE(has_open_holds)) limiter.table_.ExpireHolds(checks, now);
    FindBuckets(limiter);
  }

  const std::span<const Check> checks;
  PerCheck<FoundBucket, kChecks> found;
  Plan<kChecks> plan;
  const KeysLock<kChecks> lock;
  const Instant now;
  // True if a partition has open holds. Those of the request's keys that were due are settled.
  const bool has_open_holds;

 private:
  ABSL_ATTRIBUTE_ALWAYS_INLINE void FindBuckets(Limiter& limiter) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
      // A request from before StartOver has hashed its keys with an earlier secret.
      WEIR_DCHECK(limiter.table_.hashers.size() > 1 ||
                  checks[i].hash == limiter.Hash(checks[i].key));
      found.Make(i);
      if (!plan.AsksBucket(i)) continue;
      limiter.FindBucket(checks[i], found[i]);
      if (found[i].slot) plan.bucket(i).SetStored(*found[i].slot);
    }
    if (ABSL_PREDICT_FALSE(has_open_holds)) CountHeldBuckets(limiter);
  }
  // Counts the buckets of held limits that are not stored.
  void CountHeldBuckets(Limiter& limiter) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
      if (!plan.AsksBucket(i) || found[i].slot) continue;
      plan.bucket(i).present = limiter.HeldBucket(checks[i], found[i].id);
    }
  }
  static bool HasOpenHolds(const KeysLock<kChecks>& lock) noexcept {
    bool has_any = false;
    lock.ForEach([&](const Partition& partition) { has_any |= partition.has_open_holds(); });
    return has_any;
  }
};

// Returns the execution time of a request that came with `now`: no earlier than the last change in
// its partitions. A thread reads its clock once per batch, so the sweeper or another thread may
// decide with a later time first. An earlier time would treat a bucket that the sweeper dropped as
// full although it became full only later, and the clamp would cut what the other thread charged.
// Requires: the partitions are locked.
template <std::size_t kChecks>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Instant Limiter::ExecutionTime(const KeysLock<kChecks>& lock,
                                                                   Instant now) {
  lock.ForEach([&](const Partition& partition) { now = std::max(now, partition.decision_time()); });
  WEIR_CHECK(now >= Instant{});
  WEIR_CHECK(now <= kInstantMax);
  return now;
}

// Keeps the partitions of a request locked, so that the calls about its alternatives are one unit,
// and tells the time of all of them.
class Limiter::AlternativesLock {
 public:
  AlternativesLock(Limiter& limiter, const Request& request, Instant asked)
      : isolation_(limiter.table_.buckets, PartitionsOf(request)),
        now_(
            ExecutionTime(ReservationLock(limiter.table_.buckets, request.size(),
                                          [&](std::size_t i) { return request[i].hash.partition; }),
                          asked)) {}

  [[nodiscard]] Instant now() const noexcept { return now_; }

 private:
  static PartitionSet PartitionsOf(const Request& request) {
    PartitionSet partitions;
    for (const Check& check : request) partitions.Add(check.hash.partition);
    return partitions;
  }

  const TableIsolation isolation_;
  const Instant now_;
};

// Finds the bucket of a check. Requires: its partition is locked. Inline, because a call would make
// a decision 4 % slower.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Limiter::FindBucket(const Check& check,
                                                             FoundBucket& found) {
  LimitHint no_hint;
  found.id = table_.registry.Find(*check.limit, check.hint ? *check.hint : no_hint);
  if (!found.id) return;
  const KeyHash& key = check.hash;
  found.slot = table_.buckets.partition(key.partition).Find({key.hash, *found.id});
}

template <std::size_t kChecks>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Limiter::AdvanceDecisionTime(const KeysLock<kChecks>& lock,
                                                                      Instant now) {
  if (!table_.time_is_ordered) return;
  lock.ForEach([now](Partition& partition) { partition.AdvanceDecisionTime(now); });
}

}  // namespace weir
