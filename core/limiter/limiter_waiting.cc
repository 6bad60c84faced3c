// The limiter's functions for RL.WAIT: they look at reservations and give them back.
#include <algorithm>
#include <optional>

#include "core/base/check.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_table.h"

namespace weir {

// Returns the bucket, or null. Sets `id` if the limit is interned.
Bucket* Limiter::FindBucket(const KeyHash& key, const Limit& limit, LimitId& id) {
  LimitHint no_hint;
  const std::optional<LimitId> found = table_.registry.Find(limit, no_hint);
  if (!found) return nullptr;
  id = *found;
  return table_.buckets.partition(key.partition).Find({key.hash, id});
}

// Locks the partitions of all keys.
Limiter::ReservationLock Limiter::Lock(const Reservation& reservation) {
  return {table_.buckets, reservation.parts.size(),
          [&](std::size_t i) { return reservation.parts[i].key.partition; }};
}

Verdict Limiter::VerdictNow(const Reservation& reservation, bool allowed, Instant now) {
  const ReservationLock lock = Lock(reservation);
  lock.ForEach([&](const Partition& partition) { now = std::max(now, partition.decision_time()); });
  for (const Reservation::Part& part : reservation.parts) table_.ExpireHolds(part.key, now);
  absl::InlinedVector<Bucket, 2> buckets;
  for (const Reservation::Part& part : reservation.parts) {
    LimitId id{};
    const Bucket* found = FindBucket(part.key, part.limit, id);
    buckets.push_back(found ? *found : Bucket{});
  }
  return weir::ReservationVerdict(reservation, buckets, allowed, now, table_.max_wait);
}

Verdict Limiter::Settle(const Reservation& reservation, Instant now) {
  return VerdictNow(reservation, true, now);
}

Verdict Limiter::Withdraw(const Reservation& reservation, Instant now) {
  return VerdictNow(reservation, false, now);
}

void Limiter::GiveBack(const Reservation& reservation) {
  const ReservationLock lock = Lock(reservation);
  for (const Reservation::Part& part : reservation.parts) {
    LimitId id{};
    Bucket* bucket = FindBucket(part.key, part.limit, id);
    if (!bucket) continue;
    const Bucket present = *bucket;
    const Bucket given_back = part.GivenBack(present);
    if (given_back != present) table_.Replace(part.key, id, part.limit, *bucket, given_back);
  }
}

}  // namespace weir
