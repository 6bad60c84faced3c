#include "core/limiter/reservation.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/rules/join_decisions.h"
#include "core/rules/rule.h"

namespace weir {

Verdict ReservationVerdict(const Reservation& reservation, std::span<const Bucket> buckets,
                           bool allowed, Instant now, Nanos max_wait) {
  WEIR_CHECK(buckets.size() == reservation.parts.size());
  absl::InlinedVector<Decision, 2> looks;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Reservation::Part& part = reservation.parts[i];
    Decision look = DecideLimit(part.limit, buckets[i], now, 0, max_wait).decision;
    if (!part.allowed || !allowed) {
      const Decision decision =
          DecideLimit(part.limit, buckets[i], now, part.cost, max_wait).decision;
      look.allowed = part.allowed && decision.allowed;
      look.retry_after = decision.retry_after;
    }
    looks.push_back(look);
  }
  Verdict verdict;
  verdict.allowed = allowed;
  verdict.banned = reservation.banned;
  std::size_t parts_seen = 0;
  for (std::size_t i = 0; i < reservation.part_of_check.size(); ++i) {
    const std::uint8_t part = reservation.part_of_check[i];
    WEIR_CHECK(part < looks.size());
    WEIR_CHECK(part <= parts_seen);
    if (part < parts_seen) {
      verdict.repeated |= std::uint64_t{1} << i;
    } else {
      ++parts_seen;
    }
    verdict.decisions.push_back(looks[part]);
  }
  WEIR_CHECK(parts_seen == reservation.parts.size());
  const bool all_shadow = std::ranges::all_of(
      reservation.parts, [](const Reservation::Part& part) { return part.limit.shape().shadow; });
  JoinDecisions(
      verdict.decisions.size(), all_shadow,
      [&](std::size_t i) {
        return reservation.parts[reservation.part_of_check[i]].limit.shape().shadow;
      },
      verdict);
  return verdict;
}

}  // namespace weir
