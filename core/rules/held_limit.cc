#include "core/rules/held_limit.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/rules/fixed_window.h"

namespace weir {
namespace {

constexpr std::int64_t kUsedMax = std::int64_t{kBannedExtra} - 1;

// The bucket's fields, which have the narrow form.
FixedWindow HeldOf(Bucket bucket) noexcept {
  FixedWindow held = FixedWindowOf(bucket);
  held.used = std::min(held.used, kUsedMax);
  return held;
}

}  // namespace

bool IsHeldFull(Bucket bucket, Instant now) noexcept { return IsFixedWindowFull(bucket, now); }

std::int64_t UsedInHeld(Bucket bucket, Instant now) noexcept {
  return IsHeldFull(bucket, now) ? 0 : HeldOf(bucket).used;
}

Step DecideHeld(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                std::uint64_t keep) noexcept {
  WEIR_DCHECK(limit.shape().algorithm == Algorithm::kHeld);
  const std::int64_t used = UsedInHeld(bucket, now);
  const Nanos until_end = used > 0 ? FixedWindowOf(bucket).end - now : Nanos{0};
  const auto count = static_cast<std::uint64_t>(limit.shape().count);
  std::int64_t room = std::max<std::int64_t>(0, limit.shape().count - used);
  const auto free = static_cast<std::uint64_t>(room);
  Step step{{}, bucket};
  if (cost <= free && keep <= free - cost) {
    step.decision.allowed = true;
    room -= static_cast<std::int64_t>(cost);
    if (cost > 0) {
      const Instant end = used > 0 ? FixedWindowOf(bucket).end : Instant{};
      step.bucket = BucketOf(FixedWindow{end, used + static_cast<std::int64_t>(cost)});
    }
  } else if (keep > count || cost > count - keep) {
    step.decision.retry_after = kNever;
  } else {
    WEIR_CHECK(until_end > Nanos{0});
    step.decision.retry_after = until_end;
  }
  step.decision.remaining = room;
  step.decision.reset_after = until_end;
  return step;
}

Bucket ExtendHeld(Bucket bucket, Instant expiry) noexcept {
  FixedWindow held = HeldOf(bucket);
  held.end = std::max(held.end, expiry);
  return BucketOf(held);
}

Bucket AddHeld(Bucket bucket, std::uint64_t tokens, Instant expiry) noexcept {
  FixedWindow held = HeldOf(bucket);
  held.used += static_cast<std::int64_t>(std::min<std::uint64_t>(tokens, kUsedMax));
  held.used = std::min(held.used, kUsedMax);
  held.end = std::max(held.end, expiry);
  return BucketOf(held);
}

Bucket ReturnHeld(Bucket bucket, std::uint64_t tokens) noexcept {
  FixedWindow held = HeldOf(bucket);
  if (tokens >= static_cast<std::uint64_t>(held.used)) return {};
  held.used -= static_cast<std::int64_t>(tokens);
  return BucketOf(held);
}

}  // namespace weir
