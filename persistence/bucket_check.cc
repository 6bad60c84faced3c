#include "persistence/bucket_check.h"

#include <cstdint>

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/rules/fixed_window.h"
#include "core/rules/sliding_window.h"
#include "core/rules/token_bucket.h"

namespace weir {
namespace {

bool CanBeTat(const Limit& limit, bool has_one_shape, Bucket bucket) noexcept {
  const Nanos capacity = has_one_shape ? limit.capacity() : kCapacityMax;
  const std::uint32_t denominator = has_one_shape ? limit.emission().denominator : kDenominatorMax;
  const Instant tat{Nanos{TatOf(bucket, kDenominatorMax).whole}};
  return tat <= kInstantMax + capacity + kMaxWaitMax && bucket.extra < denominator;
}

bool CanBeFixed(const LimitShape& shape, std::int64_t count, FixedWindow window) noexcept {
  const bool is_aligned = window.end.time_since_epoch() % shape.period == Nanos{0};
  return window.end <= kInstantMax + shape.period && window.used <= count &&
         (is_aligned || !shape.aligned);
}

bool CanBeSliding(const LimitShape& shape, std::int64_t count, SlidingWindow window) noexcept {
  const std::int64_t number_max = kInstantMax.time_since_epoch() / shape.period;
  return window.number <= number_max && window.used <= count && window.before <= count;
}

}  // namespace

bool CanHaveLeft(const Limit& limit, const Bucket& bucket) noexcept {
  WEIR_CHECK(limit.has_bucket());
  const LimitShape& shape = limit.shape();
  const bool has_one_shape = limit.owner() == LimitOwner{};
  const std::int64_t count = has_one_shape ? shape.count : kWindowCountMax;
  switch (shape.algorithm) {
    case Algorithm::kTokenBucket:
      return CanBeTat(limit, has_one_shape, bucket);
    case Algorithm::kFixedWindow:
      return CanBeFixed(shape, count, FixedWindowOf(bucket));
    case Algorithm::kSlidingWindow:
      return CanBeSliding(shape, count, SlidingWindowOf(bucket));
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return false;
}

}  // namespace weir
