#include "core/rules/fixed_window.h"

#include <algorithm>
#include <chrono>

#include "absl/base/attributes.h"

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
static_assert(static_cast<std::uint32_t>(kBannedUsed) == kBannedExtra);

// The wide form.
constexpr int kWideUsedBits = 52;
constexpr int kWideUsedHighBits = kWideUsedBits - 32;  // in the two words of the end
constexpr std::int64_t kNarrowUsedMax = std::int64_t{kBannedExtra} - 1;
static_assert(2 * kFixedCountMax < std::int64_t{1} << kWideUsedBits);
static_assert(kInstantMax.time_since_epoch() + 3 * kPeriodMax <
              std::chrono::milliseconds{std::int64_t{1} << (63 - kWideUsedHighBits)});

ABSL_ATTRIBUTE_NOINLINE Bucket WideBucketOf(FixedWindow window) noexcept {
  WEIR_CHECK(window.used < std::int64_t{1} << kWideUsedBits);
  const auto end = std::chrono::ceil<std::chrono::milliseconds>(window.end.time_since_epoch());
  const auto used = static_cast<std::uint64_t>(window.used);
  const std::uint64_t words = std::uint64_t{1} << 63 |
                              static_cast<std::uint64_t>(end.count()) << kWideUsedHighBits |
                              used >> 32;
  return {static_cast<std::uint32_t>(words), static_cast<std::uint32_t>(words >> 32),
          static_cast<std::uint32_t>(used)};
}

ABSL_ATTRIBUTE_NOINLINE FixedWindow WideWindowOf(Bucket bucket) noexcept {
  const std::uint64_t words = std::uint64_t{bucket.high & ~kBucketSpareBit} << 32 | bucket.low;
  const std::uint64_t used_high = words & ((std::uint64_t{1} << kWideUsedHighBits) - 1);
  const std::chrono::milliseconds end{static_cast<std::int64_t>(words >> kWideUsedHighBits)};
  return {Instant{end}, static_cast<std::int64_t>(used_high << 32 | bucket.extra)};
}

Instant NarrowEnd(Bucket bucket) noexcept {
  return Instant{Nanos{static_cast<std::int64_t>(std::uint64_t{bucket.high} << 32 | bucket.low)}};
}

// Inline, so that a decision about a narrow bucket does not pay for the wide form.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline FixedWindow Unpacked(Bucket bucket) noexcept {
  if (HasSpareBit(bucket)) [[unlikely]]
    return WideWindowOf(bucket);
  const bool is_banned = bucket.extra == kBannedExtra;
  return {NarrowEnd(bucket), is_banned ? kBannedUsed : std::int64_t{bucket.extra}};
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline Bucket Packed(FixedWindow window) noexcept {
  WEIR_CHECK(window.end >= Instant{});
  if (window.used > kNarrowUsedMax && window.used != kBannedUsed) [[unlikely]] {
    return WideBucketOf(window);
  }
  const auto end = static_cast<std::uint64_t>(window.end.time_since_epoch().count());
  return {static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(end >> 32),
          static_cast<std::uint32_t>(window.used)};
}

// The end of the window that a charge at `now` opens.
Instant EndOfNew(const LimitShape& shape, Instant now) noexcept {
  const Nanos elapsed = shape.aligned ? now.time_since_epoch() % shape.period : Nanos{0};
  return WrittenEnd(shape, now + (shape.period - elapsed));
}

// The tokens used in a window that the clamp cuts.
std::int64_t CutUsed(const Limit& limit, std::int64_t used) noexcept {
  if (used == kBannedUsed) used = 2 * std::max(limit.shape().count, kWindowCountMax);
  return std::min(used, limit.window_used_max());
}

// The window in force at `now` of a limit with a calendar.
ABSL_ATTRIBUTE_NOINLINE FixedWindow CalendarWindowInForce(const Limit& limit, FixedWindow stored,
                                                          Instant now) noexcept {
  const CalendarWindow present = PresentWindow(limit.shape().calendar, now);
  if (IsFull(stored, now)) return {present.end, 0};
  if (stored.end <= present.next_end) return stored;
  return {present.end, CutUsed(limit, stored.used)};
}

// The window in force at `now`: the stored window (clamped if it ends too late) or a new one.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline FixedWindow WindowAt(const Limit& limit, FixedWindow stored,
                                                         Instant now) noexcept {
  const LimitShape& shape = limit.shape();
  if (shape.has_calendar()) return CalendarWindowInForce(limit, stored, now);
  if (IsFull(stored, now)) return {EndOfNew(shape, now), 0};
  const Instant last = now + std::max(2 * shape.period, limit.greatest_ban());
  if (stored.end <= last || stored.end <= WrittenEnd(shape, last)) return stored;
  return {EndOfNew(shape, now), CutUsed(limit, stored.used)};
}

void CheckArguments(const Limit& limit, Instant now) noexcept {
  WEIR_DCHECK(limit.shape().algorithm == Algorithm::kFixedWindow);
  WEIR_DCHECK(now >= Instant{});
  WEIR_DCHECK(now <= kInstantMax);
}

}  // namespace

FixedWindow FixedWindowOf(Bucket bucket) noexcept { return Unpacked(bucket); }

Bucket BucketOf(FixedWindow window) noexcept { return Packed(window); }

Instant WrittenEnd(const LimitShape& shape, Instant end) noexcept {
  constexpr Nanos kMilli = std::chrono::milliseconds{1};
  if (shape.count <= kWindowCountMax || end > Instant::max() - kMilli) return end;
  return std::chrono::ceil<std::chrono::milliseconds>(end);
}

bool IsFixedWindowFull(Bucket bucket, Instant now) noexcept {
  if (HasSpareBit(bucket)) [[unlikely]]
    return IsFull(WideWindowOf(bucket), now);
  return bucket.extra == 0 || NarrowEnd(bucket) <= now;
}

Step DecideFixedWindow(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                       std::uint64_t keep) noexcept {
  CheckArguments(limit, now);
  const LimitShape& shape = limit.shape();
  const FixedWindow stored = Unpacked(bucket);
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
    window.used += static_cast<std::int64_t>(cost);
    if (cost > 0) {
      WEIR_CHECK(window.used <= shape.count);
      step.bucket = Packed(window);
      if (HasSpareBit(step.bucket)) [[unlikely]]
        window.end = WrittenEnd(shape, window.end);
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
  if (window.used == kBannedUsed || is_shut) return bucket;
  return BucketOf({std::max(window.end, end), kBannedUsed});
}

Nanos FixedWindowBanLeft(const Limit& limit, Bucket bucket, Instant now) noexcept {
  CheckArguments(limit, now);
  const FixedWindow window = WindowAt(limit, FixedWindowOf(bucket), now);
  return window.used == kBannedUsed ? window.end - now : Nanos{0};
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
  if (cost == 0 || window.used == 0 || window.used == kBannedUsed) return bucket;
  const auto used = static_cast<std::uint64_t>(window.used);
  window.used -= static_cast<std::int64_t>(std::min(cost, used));
  return window.used == 0 ? Bucket{} : BucketOf(window);
}

Bucket ChargeFixedWindow(const Limit& limit, Bucket bucket, Instant now,
                         std::uint64_t cost) noexcept {
  CheckArguments(limit, now);
  FixedWindow window = WindowAt(limit, FixedWindowOf(bucket), now);
  if (cost == 0) return bucket;
  const std::int64_t room = std::max<std::int64_t>(0, 2 * limit.shape().count - window.used);
  window.used += static_cast<std::int64_t>(std::min(cost, static_cast<std::uint64_t>(room)));
  return BucketOf(window);
}

Bucket TrimFixedWindow(const Limit& limit, Bucket bucket, Instant now) noexcept {
  CheckArguments(limit, now);
  const LimitShape& shape = limit.shape();
  const FixedWindow stored = FixedWindowOf(bucket);
  FixedWindow window = WindowAt(limit, stored, now);
  if (window.used == 0 || window.used == kBannedUsed) return bucket;
  const Instant last =
      shape.has_calendar() ? PresentWindow(shape.calendar, now).end : EndOfNew(shape, now);
  window.end = std::min(window.end, last);
  window.used = std::min(window.used, shape.count);
  return window == stored ? bucket : BucketOf(window);
}

std::int64_t UsedInFixedWindow(const Limit& limit, Bucket bucket, Instant now) noexcept {
  CheckArguments(limit, now);
  return WindowAt(limit, FixedWindowOf(bucket), now).used;
}

}  // namespace weir
