#include "core/rules/fixed_window.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/rules/calendar.h"

namespace weir {
namespace {

bool IsFull(FixedWindow window, Instant now) noexcept {
  return window.used == 0 || window.end <= now;
}

// The latest end that is believed or written leaves the spare bit free.
static_assert(kInstantMax.time_since_epoch() <= Nanos::max() - 2 * kPeriodMax);
static_assert(2 * kWindowCountMax < std::int64_t{kBannedExtra}, "no count is that of a ban");

// The end of the window that a charge at `now` opens.
Instant EndOfNew(const LimitShape& shape, Instant now) noexcept {
  const Nanos elapsed = shape.aligned ? now.time_since_epoch() % shape.period : Nanos{0};
  return now + (shape.period - elapsed);
}

// The window in force at `now` of a limit with a calendar.
FixedWindow CalendarWindowInForce(const Limit& limit, FixedWindow stored, Instant now) noexcept {
  const CalendarWindow present = PresentWindow(limit.shape().calendar, now);
  if (IsFull(stored, now)) return {present.end, 0};
  if (stored.end <= present.next_end) return stored;
  return {present.end, std::min(stored.used, limit.window_used_max())};
}

// The window in force at `now`: the stored window (clamped if it ends too late) or a new one.
FixedWindow WindowAt(const Limit& limit, FixedWindow stored, Instant now) noexcept {
  const LimitShape& shape = limit.shape();
  if (shape.has_calendar()) return CalendarWindowInForce(limit, stored, now);
  if (IsFull(stored, now)) return {EndOfNew(shape, now), 0};
  if (stored.end <= now + std::max(2 * shape.period, limit.greatest_ban())) return stored;
  return {EndOfNew(shape, now), std::min(stored.used, limit.window_used_max())};
}

void CheckArguments(const Limit& limit, Instant now) noexcept {
  WEIR_DCHECK(limit.shape().algorithm == Algorithm::kFixedWindow);
  WEIR_DCHECK(now >= Instant{});
  WEIR_DCHECK(now <= kInstantMax);
}

}  // namespace

FixedWindow FixedWindowOf(Bucket bucket) noexcept {
  const std::uint64_t high = bucket.high & ~kBucketSpareBit;
  return {Instant{Nanos{static_cast<std::int64_t>(high << 32 | bucket.low)}}, bucket.extra};
}

Bucket BucketOf(FixedWindow window) noexcept {
  WEIR_CHECK(window.end >= Instant{});
  const auto end = static_cast<std::uint64_t>(window.end.time_since_epoch().count());
  return {static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(end >> 32), window.used};
}

bool IsFixedWindowFull(Bucket bucket, Instant now) noexcept {
  return IsFull(FixedWindowOf(bucket), now);
}

Step DecideFixedWindow(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                       std::uint64_t keep) noexcept {
  CheckArguments(limit, now);
  const LimitShape& shape = limit.shape();
  const FixedWindow stored = FixedWindowOf(bucket);
  FixedWindow window = WindowAt(limit, stored, now);
  WEIR_CHECK(window.end > now);
  const bool cut = window != stored && window.used > 0;
  Step step{{}, cut && cost > 0 ? BucketOf(window) : bucket};

  const auto count = static_cast<std::uint64_t>(shape.count);
  std::int64_t room = std::max<std::int64_t>(0, shape.count - window.used);
  const auto free = static_cast<std::uint64_t>(room);
  if (cost <= free && keep <= free - cost) {
    step.decision.allowed = true;
    room -= static_cast<std::int64_t>(cost);
    window.used += static_cast<std::uint32_t>(cost);
    if (cost > 0) {
      WEIR_CHECK(window.used <= shape.count);
      step.bucket = BucketOf(window);
    }
  } else if (keep > count || cost > count - keep) {
    step.decision.retry_after = kNever;
  } else {
    step.decision.retry_after = window.end - now;
  }
  WEIR_DCHECK(room <= shape.count);
  step.decision.remaining = room;
  if (window.used > 0) step.decision.reset_after = window.end - now;
  return step;
}

Bucket BanFixedWindow(const Limit& limit, Bucket bucket, Instant now) noexcept {
  CheckArguments(limit, now);
  const LimitShape& shape = limit.shape();
  WEIR_DCHECK(shape.ban > Nanos{0});
  const FixedWindow window = WindowAt(limit, FixedWindowOf(bucket), now);
  WEIR_CHECK(window.used > 0);
  const Instant end = now + shape.ban;
  const bool is_shut = window.used >= shape.count && window.end >= end;
  if (window.used == kBannedExtra || is_shut) return bucket;
  return BucketOf({std::max(window.end, end), kBannedExtra});
}

Nanos FixedWindowBanLeft(const Limit& limit, Bucket bucket, Instant now) noexcept {
  CheckArguments(limit, now);
  const FixedWindow window = WindowAt(limit, FixedWindowOf(bucket), now);
  return window.used == kBannedExtra ? window.end - now : Nanos{0};
}

Nanos FixedWindowDebtLeft(const Limit& limit, Bucket bucket, Instant now) noexcept {
  CheckArguments(limit, now);
  const FixedWindow window = WindowAt(limit, FixedWindowOf(bucket), now);
  return window.used > limit.shape().count ? window.end - now : Nanos{0};
}

Bucket RefundFixedWindow(const Limit& limit, Bucket bucket, Instant now,
                         std::uint64_t cost) noexcept {
  CheckArguments(limit, now);
  FixedWindow window = WindowAt(limit, FixedWindowOf(bucket), now);
  WEIR_DCHECK(window.end > now);
  if (cost == 0 || window.used == 0 || window.used == kBannedExtra) return bucket;
  window.used -= static_cast<std::uint32_t>(std::min<std::uint64_t>(cost, window.used));
  return window.used == 0 ? Bucket{} : BucketOf(window);
}

Bucket ChargeFixedWindow(const Limit& limit, Bucket bucket, Instant now,
                         std::uint64_t cost) noexcept {
  CheckArguments(limit, now);
  FixedWindow window = WindowAt(limit, FixedWindowOf(bucket), now);
  if (cost == 0) return bucket;
  const std::int64_t room = std::max<std::int64_t>(0, 2 * limit.shape().count - window.used);
  window.used += static_cast<std::uint32_t>(std::min(cost, static_cast<std::uint64_t>(room)));
  return BucketOf(window);
}

Bucket TrimFixedWindow(const Limit& limit, Bucket bucket, Instant now) noexcept {
  CheckArguments(limit, now);
  const LimitShape& shape = limit.shape();
  const FixedWindow stored = FixedWindowOf(bucket);
  FixedWindow window = WindowAt(limit, stored, now);
  if (window.used == 0 || window.used == kBannedExtra) return bucket;
  const Instant last =
      shape.has_calendar() ? PresentWindow(shape.calendar, now).end : EndOfNew(shape, now);
  window.end = std::min(window.end, last);
  window.used = std::min(window.used, static_cast<std::uint32_t>(shape.count));
  return window == stored ? bucket : BucketOf(window);
}

std::int64_t UsedInFixedWindow(const Limit& limit, Bucket bucket, Instant now) noexcept {
  CheckArguments(limit, now);
  return WindowAt(limit, FixedWindowOf(bucket), now).used;
}

}  // namespace weir
