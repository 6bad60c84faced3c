#include "persistence/bucket_check.h"

#include <algorithm>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/rules/calendar.h"
#include "core/rules/fixed_window.h"
#include "core/rules/rule.h"
#include "core/rules/sliding_window.h"
#include "core/rules/token_bucket.h"

namespace weir {
namespace {

// The longest ban that a bucket of this limit may have.
Nanos LongestBan(const Limit& limit) noexcept {
  if (limit.owner() == LimitOwner{} || limit.shape().has_calendar()) return limit.shape().ban;
  return limit.owner() == kThrottleOwner ? Nanos{0} : kPeriodMax;
}

bool CanBeTat(const Limit& limit, bool has_one_shape, Bucket bucket) noexcept {
  const Nanos ban = LongestBan(limit);
  const Nanos capacity = has_one_shape ? limit.capacity() : kCapacityMax;
  const Nanos debt_max = std::max(capacity, kMaxWaitMax);
  const std::uint32_t denominator = has_one_shape ? limit.emission().denominator : kDenominatorMax;
  const Instant tat{Nanos{TatOf(bucket, kDenominatorMax).whole}};
  const bool is_banned = bucket.extra == kBannedExtra && ban > Nanos{0};
  // A refund shortens a ban and drops its mark.
  return tat <= kInstantMax + capacity + std::max(debt_max, ban) &&
         (is_banned || bucket.extra < denominator);
}

bool CanBeFixed(const LimitShape& shape, Nanos ban, std::int64_t used_max,
                FixedWindow window) noexcept {
  // A count that needs whole milliseconds may have been an owner's.
  const LimitShape greatest{.count = used_max / 2};
  if (window.used == kBannedUsed) {
    const Instant last = WrittenEnd(greatest, kInstantMax + std::max(ban, shape.period));
    return ban > Nanos{0} && window.end <= last;
  }
  const Nanos longest = shape.has_calendar() ? LongestWindow(shape.calendar.unit) : shape.period;
  const bool is_aligned =
      !shape.aligned || window.end.time_since_epoch() % shape.period == Nanos{0};
  return window.end <= WrittenEnd(greatest, kInstantMax + longest) && window.used <= used_max &&
         is_aligned;
}

bool CanBeSliding(const LimitShape& shape, std::int64_t used_max, SlidingWindow window) noexcept {
  const std::int64_t number_max = kInstantMax.time_since_epoch() / shape.period;
  used_max = std::min(used_max, std::int64_t{kBucketSpareBit - 1});
  return window.number <= number_max && window.used <= used_max && window.before <= used_max;
}

}  // namespace

bool CanHaveLeft(const Limit& limit, const Bucket& bucket) noexcept {
  WEIR_CHECK(limit.has_bucket());
  if (!HasFormOf(limit, bucket)) return false;
  const LimitShape& shape = limit.shape();
  const bool has_one_shape = limit.owner() == LimitOwner{};
  switch (shape.algorithm) {
    case Algorithm::kTokenBucket:
      return CanBeTat(limit, has_one_shape, bucket);
    case Algorithm::kFixedWindow:
      return CanBeFixed(shape, LongestBan(limit), limit.window_used_max(), FixedWindowOf(bucket));
    case Algorithm::kSlidingWindow:
      return CanBeSliding(shape, limit.window_used_max(), SlidingWindowOf(bucket));
    case Algorithm::kHeld:  // counted from the open holds, not saved
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return false;
}

bool CanHaveReserved(const Limit& limit, const HoldPart& part) noexcept {
  if (!limit.is_held()) return CanHaveLeft(limit, part.left);
  const bool has_one_shape = limit.owner() == LimitOwner{};
  const std::int64_t most = has_one_shape ? limit.shape().count : kWindowCountMax;
  return part.cost <= static_cast<std::uint64_t>(most);
}

}  // namespace weir
