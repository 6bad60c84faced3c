#include "server/http/rate_limit_numbers.h"

#include <algorithm>
#include <numeric>

#include "core/base/check.h"
#include "core/base/wide.h"
#include "core/rules/calendar.h"

namespace weir {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

// A time as a fraction: nanos / divisor, in lowest terms.
struct Fraction {
  Wide nanos = 0;
  std::int64_t divisor = 1;
};

// The time in which the whole quota of a token bucket comes back.
Fraction CapacityOf(const Emission& emission) noexcept {
  const ExactNanos capacity = emission.capacity;
  const auto whole = static_cast<std::uint64_t>(capacity.whole);
  if (capacity.numerator == 0) return {whole, 1};
  const std::uint32_t common = std::gcd(capacity.numerator, emission.denominator);
  const std::uint32_t divisor = emission.denominator / common;
  return {Wide{whole} * divisor + capacity.numerator / common, divisor};
}

Nanos WindowOf(const LimitShape& shape, Instant now) noexcept {
  if (!shape.has_calendar()) return shape.period;
  const CalendarWindow window = PresentWindow(shape.calendar, now);
  return window.end - window.begin;
}

// The quota of `tokens` that come back in `window`.
Quota InWholeSeconds(std::int64_t tokens, const Fraction& window) noexcept {
  const auto below_second = static_cast<std::int64_t>(window.nanos % kNanosPerSecond);
  const std::int64_t common = std::gcd(below_second, kNanosPerSecond);
  // The factor is divisor * 10^9 / common.
  const std::int64_t parts = kNanosPerSecond / common;
  if (parts > kQuotaFactorMax || window.divisor > kQuotaFactorMax / parts) return {tokens, {}};
  const std::int64_t factor = parts * window.divisor;
  if (tokens > kFieldNumberMax / factor) return {tokens, {}};
  const auto seconds = static_cast<std::int64_t>(window.nanos / static_cast<Wide>(common));
  WEIR_CHECK(seconds > 0);
  WEIR_CHECK(seconds <= kFieldNumberMax);
  return {tokens * factor, seconds};
}

// ceil(tokens * E) in seconds. Requires: 0 <= tokens <= burst.
std::int64_t SecondsToEarn(const Emission& emission, std::int64_t tokens) noexcept {
  const Wide parts =
      Wide{static_cast<std::uint64_t>(tokens)} * static_cast<std::uint64_t>(emission.period);
  const Wide parts_per_second = Wide{emission.denominator} * kNanosPerSecond;
  return static_cast<std::int64_t>((parts + parts_per_second - 1) / parts_per_second);
}

// Returns floor(tokens * E) in ns. Requires: 0 <= tokens <= burst.
std::int64_t FloorNanos(const Emission& emission, std::int64_t tokens) noexcept {
  const Wide parts =
      Wide{static_cast<std::uint64_t>(tokens)} * static_cast<std::uint64_t>(emission.period);
  return static_cast<std::int64_t>(parts / emission.denominator);
}

}  // namespace

std::int64_t CeilSeconds(Nanos span) noexcept {
  WEIR_DCHECK(span >= Nanos{0});
  const std::int64_t nanos = span.count();
  return nanos / kNanosPerSecond + (nanos % kNanosPerSecond != 0 ? 1 : 0);
}

std::optional<Quota> QuotaOf(const Limit& limit, Instant now) noexcept {
  const std::int64_t tokens = limit.capacity_tokens();
  if (tokens > kFieldNumberMax) return std::nullopt;
  if (!limit.has_bucket()) {
    if (limit.shape().algorithm == Algorithm::kUnlimited) return std::nullopt;
    return Quota{tokens, {}};
  }
  if (limit.is_held()) return Quota{tokens, {}};
  if (limit.shape().algorithm == Algorithm::kTokenBucket) {
    return InWholeSeconds(tokens, CapacityOf(limit.emission()));
  }
  const auto nanos = static_cast<std::uint64_t>(WindowOf(limit.shape(), now).count());
  return InWholeSeconds(tokens, {nanos, 1});
}

Available AvailableOf(const Limit& limit, const Decision& decision, std::int64_t keep,
                      Nanos retry_after) noexcept {
  WEIR_DCHECK(keep >= 0);
  Available available{std::max<std::int64_t>(0, decision.remaining - keep), {}};
  if (retry_after == kNever) return available;
  if (retry_after > Nanos{0}) {
    available.within_s = CeilSeconds(retry_after);
    return available;
  }
  if (decision.reset_after == Nanos{0}) return available;
  if (limit.shape().algorithm != Algorithm::kTokenBucket) {
    available.within_s = CeilSeconds(decision.reset_after);
  } else if (available.tokens > 0) {
    available.within_s =
        std::max<std::int64_t>(1, SecondsToEarn(limit.emission(), available.tokens));
  } else if (const std::int64_t left = limit.capacity_tokens() - keep - 1; left >= 0) {
    // The bucket is full once the next token and then `left` more tokens have come.
    const Nanos next = decision.reset_after - Nanos{FloorNanos(limit.emission(), left)};
    available.within_s = std::max<std::int64_t>(1, CeilSeconds(std::max(next, Nanos{0})));
  }
  return available;
}

std::optional<std::int64_t> RetryAfterSeconds(const Verdict& verdict) noexcept {
  if (verdict.allowed || verdict.retry_after == kNever) return std::nullopt;
  return std::max<std::int64_t>(1, CeilSeconds(verdict.retry_after));
}

}  // namespace weir
