#include "core/rules/sliding_window.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/wide.h"

namespace weir {
namespace {

static_assert(kWindowCountMax < kBucketSpareBit, "a count leaves the spare bit free");

// The windows in force at an instant.
struct View {
  SlidingWindow window;
  Nanos until_end{0};  // of that window; above the period if it has not begun
  bool cut = false;
};

View ViewAt(const Limit& limit, Bucket bucket, Instant now) noexcept {
  const LimitShape& shape = limit.shape();
  WEIR_DCHECK(shape.algorithm == Algorithm::kSlidingWindow);
  WEIR_DCHECK(now >= Instant{});
  WEIR_DCHECK(now <= kInstantMax);
  const auto number = static_cast<std::uint32_t>(now.time_since_epoch() / shape.period);
  const Nanos until_end = shape.period - now.time_since_epoch() % shape.period;
  const SlidingWindow stored = SlidingWindowOf(bucket);
  if (stored.used == 0 && stored.before == 0) return {{number, 0, 0}, until_end};

  const auto ahead = static_cast<std::int32_t>(stored.number - number);
  if (ahead == 1) return {stored, until_end + shape.period};
  if (ahead == 0) return {stored, until_end};
  if (ahead == -1) return {{number, 0, stored.used}, until_end};
  if (ahead < -1) return {{number, 0, 0}, until_end};
  const auto used_max = static_cast<std::uint32_t>(
      std::min(limit.window_used_max(), std::int64_t{kBucketSpareBit - 1}));
  return {{number, std::min(stored.used, used_max), std::min(stored.before, used_max)},
          until_end,
          true};
}

bool IsFull(SlidingWindow window) noexcept { return window.used == 0 && window.before == 0; }

// floor(tokens * span / divisor). Requires: a quotient below 2^63.
std::int64_t Share(std::uint64_t tokens, Nanos span, std::uint64_t divisor) noexcept {
  const auto nanos = static_cast<std::uint64_t>(span.count());
  std::uint64_t product = 0;
  if (!__builtin_mul_overflow(tokens, nanos, &product)) {
    return static_cast<std::int64_t>(product / divisor);
  }
  return static_cast<std::int64_t>(Wide{tokens} * nanos / divisor);
}

// The whole tokens that would pass; below 0 in debt.
std::int64_t RoomIn(const LimitShape& shape, const View& view) noexcept {
  const Nanos elapsed = std::max(Nanos{0}, shape.period - view.until_end);
  const auto period = static_cast<std::uint64_t>(shape.period.count());
  const std::int64_t faded = Share(view.window.before, elapsed, period);
  return shape.count - view.window.used - view.window.before + faded;
}

// The wait until `cost` passes. Requires: it is denied, and at most the count.
Nanos WaitOf(const LimitShape& shape, const View& view, std::int64_t cost) noexcept {
  const std::int64_t room = shape.count - view.window.used - cost;
  if (room >= 0) {
    WEIR_CHECK(room < view.window.before);
    const auto spare = static_cast<std::uint64_t>(room);
    return view.until_end - Nanos{Share(spare, shape.period, view.window.before)};
  }
  WEIR_CHECK(shape.count - cost < view.window.used);
  const auto spare = static_cast<std::uint64_t>(shape.count - cost);
  return view.until_end + shape.period - Nanos{Share(spare, shape.period, view.window.used)};
}

// The wait until nothing is in use.
Nanos ResetOf(const LimitShape& shape, const View& view) noexcept {
  if (view.window.used > 0) return view.until_end + shape.period;
  return view.window.before > 0 ? view.until_end : Nanos{0};
}

}  // namespace

SlidingWindow SlidingWindowOf(Bucket bucket) noexcept {
  return {bucket.low, bucket.high & ~kBucketSpareBit, bucket.extra};
}

Bucket BucketOf(SlidingWindow window) noexcept {
  WEIR_CHECK(window.used < kBucketSpareBit);
  return {window.number, window.used, window.before};
}

bool IsSlidingWindowFull(const Limit& limit, Bucket bucket, Instant now) noexcept {
  return IsFull(ViewAt(limit, bucket, now).window);
}

Step DecideSlidingWindow(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                         std::uint64_t keep) noexcept {
  const LimitShape& shape = limit.shape();
  View view = ViewAt(limit, bucket, now);
  Step step{{}, view.cut && cost > 0 ? BucketOf(view.window) : bucket};

  const auto count = static_cast<std::uint64_t>(shape.count);
  std::int64_t room = std::max<std::int64_t>(0, RoomIn(shape, view));
  const auto free = static_cast<std::uint64_t>(room);
  if (cost <= free && keep <= free - cost) {
    step.decision.allowed = true;
    room -= static_cast<std::int64_t>(cost);
    view.window.used += static_cast<std::uint32_t>(cost);
    if (cost > 0) {
      WEIR_CHECK(view.window.used <= shape.count);
      step.bucket = BucketOf(view.window);
    }
  } else if (keep > count || cost > count - keep) {
    step.decision.retry_after = kNever;
  } else {
    step.decision.retry_after = WaitOf(shape, view, static_cast<std::int64_t>(cost + keep));
    WEIR_CHECK(step.decision.retry_after > Nanos{0});
  }
  WEIR_DCHECK(room <= shape.count);
  step.decision.remaining = room;
  step.decision.reset_after = ResetOf(shape, view);
  return step;
}

Bucket RefundSlidingWindow(const Limit& limit, Bucket bucket, Instant now,
                           std::uint64_t cost) noexcept {
  SlidingWindow window = ViewAt(limit, bucket, now).window;
  if (cost == 0 || window.used == 0) return bucket;
  window.used -= static_cast<std::uint32_t>(std::min<std::uint64_t>(cost, window.used));
  return IsFull(window) ? Bucket{} : BucketOf(window);
}

Bucket ReturnToSlidingWindow(const Limit& limit, Bucket bucket, Instant now, std::uint32_t number,
                             std::uint64_t tokens) noexcept {
  const View view = ViewAt(limit, bucket, now);
  SlidingWindow window = view.window;
  const std::uint32_t age = window.number - number;
  if (view.cut || age > 1) return bucket;
  std::uint32_t& held = age == 0 ? window.used : window.before;
  const auto returned = static_cast<std::uint32_t>(std::min<std::uint64_t>(tokens, held));
  if (returned == 0) return bucket;
  held -= returned;
  return IsFull(window) ? Bucket{} : BucketOf(window);
}

Bucket ChargeSlidingWindow(const Limit& limit, Bucket bucket, Instant now,
                           std::uint64_t cost) noexcept {
  if (cost == 0) return bucket;
  const View view = ViewAt(limit, bucket, now);
  SlidingWindow window = view.window;
  const std::int64_t room = std::min(RoomIn(limit.shape(), view) + limit.shape().count,
                                     std::int64_t{kBucketSpareBit - 1} - window.used);
  window.used += static_cast<std::uint32_t>(
      std::min(cost, static_cast<std::uint64_t>(std::max<std::int64_t>(0, room))));
  return BucketOf(window);
}

Bucket TrimSlidingWindow(const Limit& limit, Bucket bucket, Instant now) noexcept {
  const LimitShape& shape = limit.shape();
  const View view = ViewAt(limit, bucket, now);
  const std::int64_t room = RoomIn(shape, view);
  const bool has_begun = view.until_end <= shape.period;
  if (room >= 0 && has_begun && !view.cut) return bucket;
  const auto count = static_cast<std::uint32_t>(shape.count);
  SlidingWindow window = view.window;
  if (!has_begun) {
    const std::uint64_t tokens = std::uint64_t{window.used} + window.before;
    window = {window.number - 1, static_cast<std::uint32_t>(std::min<std::uint64_t>(tokens, count)),
              0};
  } else if (room < 0) {
    window.used = std::min(window.used, count);
    const auto overlap = static_cast<std::uint64_t>(view.until_end.count());
    const auto before =
        static_cast<std::uint64_t>(Share(count - window.used, shape.period, overlap));
    window.before = static_cast<std::uint32_t>(std::min<std::uint64_t>(window.before, before));
  }
  return IsFull(window) ? Bucket{} : BucketOf(window);
}

Nanos SlidingWindowDebtLeft(const Limit& limit, Bucket bucket, Instant now) noexcept {
  const View view = ViewAt(limit, bucket, now);
  return RoomIn(limit.shape(), view) < 0 ? WaitOf(limit.shape(), view, 0) : Nanos{0};
}

std::int64_t TokensInSlidingWindow(const Limit& limit, Bucket bucket, Instant now) noexcept {
  const SlidingWindow window = ViewAt(limit, bucket, now).window;
  return std::int64_t{window.used} + window.before;
}

std::int64_t UsedInSlidingWindow(const Limit& limit, Bucket bucket, Instant now) noexcept {
  return limit.shape().count - RoomIn(limit.shape(), ViewAt(limit, bucket, now));
}

}  // namespace weir
