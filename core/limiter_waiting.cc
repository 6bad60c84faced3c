// What the limiter does with tokens of the future that were charged already: tells how they stand,
// and gives them back.
#include <algorithm>
#include <optional>

#include "core/join_decisions.h"
#include "core/limiter.h"
#include "core/rule.h"

namespace weir {

// The bucket, or null; and the limit's id, where there is one.
Bucket* Limiter::FindBucket(const KeyHash& key, const Limit& limit, LimitId& id) {
  LimitHint no_hint;
  const std::optional<LimitId> found = registry_.Find(limit, no_hint);
  if (!found) return nullptr;
  id = *found;
  return table_.partition(key.partition).Find({key.hash, id});
}

// What the limits of a reservation say now: those that did not allow it, and where it is not
// allowed any more all of them, when they would.
Verdict Limiter::LookAgain(const Reservation& reservation, bool allowed, Instant now) {
  PartitionLock lock(table_, reservation.key.partition);
  now = std::max(now, table_.partition(reservation.key.partition).latest());
  absl::InlinedVector<Decision, 2> looks;
  for (const Reservation::Part& part : reservation.parts) {
    LimitId id = 0;
    const Bucket* found = FindBucket(reservation.key, part.limit, id);
    const Bucket bucket = found ? Unmarked(*found) : Bucket{};
    Decision look = DecideLimit(part.limit, bucket, now, 0, max_wait_).decision;
    if (!part.allowed || !allowed) {
      const Decision decision = DecideLimit(part.limit, bucket, now, part.cost, max_wait_).decision;
      look.allowed = part.allowed && decision.allowed;
      look.retry_after = decision.retry_after;
    }
    looks.push_back(look);
  }
  Verdict verdict;
  verdict.allowed = allowed;
  verdict.key_hash = reservation.key.hash;
  for (const std::uint8_t part : reservation.part_of_check) {
    verdict.decisions.push_back(looks[part]);
  }
  JoinDecisions(
      [&](std::size_t i) {
        return reservation.parts[reservation.part_of_check[i]].limit.shape().shadow;
      },
      verdict);
  return verdict;
}

Verdict Limiter::Settle(const Reservation& reservation, Instant now) {
  return LookAgain(reservation, true, now);
}

Verdict Limiter::Withdraw(const Reservation& reservation, Instant now) {
  return LookAgain(reservation, false, now);
}

void Limiter::GiveBack(const Reservation& reservation) {
  PartitionLock lock(table_, reservation.key.partition);
  for (const Reservation::Part& part : reservation.parts) {
    LimitId id = 0;
    Bucket* bucket = FindBucket(reservation.key, part.limit, id);
    if (!bucket || Unmarked(*bucket) != part.after) continue;
    Replace(reservation.key, id, part.limit, *bucket, part.before);
  }
}

}  // namespace weir
