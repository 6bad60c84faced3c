#include "persistence/bucket_check.h"

#include <algorithm>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/rules/calendar.h"
#include "core/rules/fixed_window.h"
#include "core/rules/sliding_window.h"
#include "core/rules/token_bucket.h"

namespace weir {
namespace {

bool CanBeTat(const Limit& limit, bool has_one_shape, Bucket bucket) noexcept {
  const Nanos capacity = has_one_shape ? limit.capacity() : kCapacityMax;
  const Nanos debt_max = std::max(capacity, kMaxWaitMax);
  const std::uint32_t denominator = has_one_shape ? limit.emission().denominator : kDenominatorMax;
  const Instant tat{Nanos{TatOf(bucket, kDenominatorMax).whole}};
  return tat <= kInstantMax + capacity + debt_max && bucket.extra < denominator;
}

bool CanBeFixed(const LimitShape& shape, std::uint32_t used_max, FixedWindow window) noexcept {
  const Nanos longest = shape.has_calendar() ? LongestWindow(shape.calendar.unit) : shape.period;
  const bool is_aligned =
      !shape.aligned || window.end.time_since_epoch() % shape.period == Nanos{0};
  return window.end <= kInstantMax + longest && window.used <= used_max && is_aligned;
}

bool CanBeSliding(const LimitShape& shape, std::uint32_t used_max, SlidingWindow window) noexcept {
  const std::int64_t number_max = kInstantMax.time_since_epoch() / shape.period;
  used_max = std::min(used_max, kBucketMark - 1);
  return window.number <= number_max && window.used <= used_max && window.before <= used_max;
}

}  // namespace

bool CanHaveLeft(const Limit& limit, const Bucket& bucket) noexcept {
  WEIR_CHECK(limit.has_bucket());
  const LimitShape& shape = limit.shape();
  const bool has_one_shape = limit.owner() == LimitOwner{};
  switch (shape.algorithm) {
    case Algorithm::kTokenBucket:
      return CanBeTat(limit, has_one_shape, bucket);
    case Algorithm::kFixedWindow:
      return CanBeFixed(shape, limit.window_used_max(), FixedWindowOf(bucket));
    case Algorithm::kSlidingWindow:
      return CanBeSliding(shape, limit.window_used_max(), SlidingWindowOf(bucket));
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return false;
}

}  // namespace weir
