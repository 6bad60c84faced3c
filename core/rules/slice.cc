#include "core/rules/slice.h"

#include <algorithm>
#include <chrono>

#include "core/base/check.h"
#include "core/base/wide.h"
#include "core/rules/rule.h"

namespace weir {
namespace {

constexpr std::int64_t kShareAhead = 8;    // of what is there
constexpr std::int64_t kShareOfBurst = 4;  // of what the limit can hold

// The longest life that a limit allows.
Nanos LifeOf(const SlicedLimit& sliced, Nanos most, Instant now, Nanos max_wait) noexcept {
  const Limit& limit = *sliced.limit;
  const LimitShape& shape = limit.shape();
  if (shape.shadow || shape.ban > Nanos{0}) return Nanos{0};
  if (sliced.cost == 0) return most;
  switch (shape.algorithm) {
    case Algorithm::kTokenBucket:
      return limit.capacity() < most ? Nanos{0} : most;
    case Algorithm::kFixedWindow:  // of the window in force, or of the one that a token opens
      return DecideLimit(limit, sliced.bucket, now, 1, max_wait).decision.reset_after;
    case Algorithm::kSlidingWindow:
      return shape.period - now.time_since_epoch() % shape.period;
    case Algorithm::kHeld:
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return most;
}

// The units that come back within half of the life.
std::int64_t ComesBack(const SlicedLimit& sliced, Nanos life, Instant now,
                       Nanos max_wait) noexcept {
  const Limit& limit = *sliced.limit;
  if (limit.shape().algorithm == Algorithm::kTokenBucket) {
    const Emission& emission = limit.emission();
    const Wide parts = Wide{static_cast<std::uint64_t>(life.count())} * emission.denominator;
    const Wide unit = Wide{sliced.cost} * static_cast<std::uint64_t>(emission.period);
    return static_cast<std::int64_t>(parts / (2 * unit));
  }
  if (limit.shape().algorithm != Algorithm::kSlidingWindow) return 0;
  const auto room_at = [&](Instant at) {
    return DecideLimit(limit, sliced.bucket, at, 0, max_wait).decision.remaining;
  };
  const std::int64_t faded =
      std::max<std::int64_t>(room_at(std::min(now + life, kInstantMax)) - room_at(now), 0);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(faded) / 2 / sliced.cost);
}

// The units that a limit gives in advance. Requires: a cost above 0.
std::int64_t AheadOf(const SlicedLimit& sliced, Nanos life, Instant now, Nanos max_wait) noexcept {
  const std::int64_t room =
      TimesThere(*sliced.limit, sliced.bucket, now, sliced.cost, sliced.keep, max_wait);
  const auto tokens = static_cast<std::uint64_t>(sliced.limit->capacity_tokens());
  const auto quarter = static_cast<std::int64_t>(tokens / kShareOfBurst / sliced.cost);
  return std::min(std::max(room / kShareAhead, ComesBack(sliced, life, now, max_wait)),
                  std::max<std::int64_t>(quarter, 1));
}

}  // namespace

SliceTerms DecideSlice(std::span<const SlicedLimit> limits, const SliceWish& wish, Instant now,
                       Nanos max_wait) noexcept {
  WEIR_DCHECK(wish.need >= 0);
  WEIR_DCHECK(wish.unit >= 1);
  WEIR_DCHECK(wish.upto >= 1);
  WEIR_DCHECK(wish.life >= Nanos{0});
  std::int64_t room = kTimesMax;
  Nanos life = wish.life;
  for (const SlicedLimit& sliced : limits) {
    WEIR_DCHECK(!sliced.limit->is_held());
    life = std::min(life, LifeOf(sliced, wish.life, now, max_wait));
    if (sliced.limit->shape().shadow) continue;
    room = std::min(
        room, TimesThere(*sliced.limit, sliced.bucket, now, sliced.cost, sliced.keep, max_wait));
  }
  life = std::chrono::floor<std::chrono::microseconds>(life);
  std::int64_t ahead = life == Nanos{0} ? 0 : kTimesMax - wish.need;
  for (const SlicedLimit& sliced : limits) {
    if (ahead == 0 || !sliced.limit->has_bucket() || sliced.cost == 0) continue;
    ahead = std::min(ahead, AheadOf(sliced, life, now, max_wait));
  }
  std::int64_t granted = std::min({room, wish.upto, wish.need + ahead});
  if (wish.need > 0 && granted < wish.unit) granted = 0;
  return {granted, life};
}

}  // namespace weir
