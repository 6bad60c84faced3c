#include "core/rules/limit.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/base/wide.h"

namespace weir {
namespace {

absl::Status CheckCalendar(const LimitShape& shape) {
  if (shape.algorithm != Algorithm::kFixedWindow || shape.aligned || shape.burst != 0 ||
      shape.period != Nanos{0}) {
    return absl::InvalidArgumentError("a calendar window is a fixed window without a period");
  }
  if (!IsCalendar(shape.calendar)) {
    return absl::InvalidArgumentError("a calendar window needs a time zone and an anchor");
  }
  return absl::OkStatus();
}

absl::Status CheckHeld(const LimitShape& shape) {
  if (shape.period == Nanos{0} && shape.burst == 0 && !shape.aligned) return absl::OkStatus();
  return absl::InvalidArgumentError("a held limit has a count only, as in 5,held");
}

absl::Status CheckRanges(const LimitShape& shape) {
  WEIR_DCHECK(shape.algorithm < Algorithm::kUnlimited);
  const bool window = shape.algorithm != Algorithm::kTokenBucket;
  const std::int64_t count_max = CountMaxOf(shape);
  if (shape.count < 1 || shape.count > count_max) {
    return absl::InvalidArgumentError(absl::StrCat("count must be 1 to ", count_max,
                                                   shape.algorithm == Algorithm::kHeld
                                                       ? " for a held limit"
                                                   : window ? " for a window"
                                                            : ""));
  }
  const bool can_ban =
      (shape.algorithm == Algorithm::kTokenBucket || shape.algorithm == Algorithm::kFixedWindow) &&
      !shape.has_calendar();
  if (shape.ban != Nanos{0} && !can_ban) {
    return absl::InvalidArgumentError("ban= is for token buckets and fixed windows");
  }
  if (shape.calendar != Calendar{}) return CheckCalendar(shape);
  if (shape.algorithm == Algorithm::kHeld) return CheckHeld(shape);
  if (shape.period < kPeriodMin || shape.period > kPeriodMax) {
    return absl::InvalidArgumentError("period must be 1us to 2^58 ns (9 years)");
  }
  if (shape.algorithm == Algorithm::kSlidingWindow && shape.period < kSlidingPeriodMin) {
    return absl::InvalidArgumentError("period of a sliding window must be at least 1ms");
  }
  if (window ? shape.burst != 0 : shape.burst < 1) {
    return absl::InvalidArgumentError(window ? "burst is for the token bucket only"
                                             : absl::StrCat("burst must be 1 to ", kCountMax));
  }
  if (shape.aligned && shape.algorithm != Algorithm::kFixedWindow) {
    return absl::InvalidArgumentError("aligned is for fixed windows only");
  }
  return shape.ban == Nanos{0} ? absl::OkStatus() : CheckBan(shape.ban);
}

// Requires: count and period in their ranges.
absl::StatusOr<Emission> ExactEmission(const LimitShape& shape) {
  const std::int64_t divisor = std::gcd(shape.period.count(), shape.count);
  const std::int64_t period = shape.period.count() / divisor;
  const std::int64_t denominator = shape.count / divisor;
  WEIR_CHECK(denominator > 0);
  if (denominator > std::int64_t{kDenominatorMax}) {
    return absl::InvalidArgumentError(
        absl::StrCat("limit is too fine: period / count in lowest terms must have a denominator "
                     "below 2^32 (here ",
                     denominator, ")"));
  }
  // burst < 2^63 and period <= 2^58: the product fits in 121 bits.
  const Wide full = static_cast<Wide>(shape.burst) * static_cast<Wide>(period);
  const Wide n = static_cast<Wide>(denominator);
  if (full > static_cast<Wide>(kCapacityMax.count()) * n) {
    return absl::InvalidArgumentError(
        "limit is too long: burst times period per token must be at most 2^60 ns (36 years)");
  }
  Emission emission;
  emission.period = period;
  emission.denominator = static_cast<std::uint32_t>(denominator);
  emission.interval = {period / denominator, static_cast<std::uint32_t>(period % denominator)};
  emission.capacity = {static_cast<std::int64_t>(full / n), static_cast<std::uint32_t>(full % n)};
  WEIR_CHECK(std::gcd(emission.period, std::int64_t{emission.denominator}) == 1);
  WEIR_CHECK(emission.interval <= emission.capacity);
  return emission;
}

}  // namespace

std::int64_t CountMaxOf(const LimitShape& shape) noexcept {
  if (shape.algorithm == Algorithm::kTokenBucket) return kCountMax;
  if (shape.algorithm != Algorithm::kFixedWindow) return kWindowCountMax;
  if (shape.has_calendar()) return kFixedCountMax;
  const bool is_short = shape.period < kWidePeriodMin;
  const bool has_odd_ends =
      shape.aligned && shape.period % std::chrono::milliseconds{1} != Nanos{0};
  return is_short || has_odd_ends ? kWindowCountMax : kFixedCountMax;
}

absl::Status CheckBan(Nanos ban) {
  if (ban >= kPeriodMin && ban <= kPeriodMax) return absl::OkStatus();
  return absl::InvalidArgumentError("ban must be 1us to 2^58 ns (9 years)");
}

Limit Limit::OwnedBy(LimitOwner owner, const GreatestNumbers& greatest) const {
  WEIR_CHECK(greatest.capacity <= kCapacityMax);
  WEIR_CHECK(greatest.ban <= kPeriodMax);
  Limit owned = *this;
  owned.owner_ = owner;
  if (shape_.algorithm == Algorithm::kTokenBucket) {
    owned.outgrown_ = std::max(greatest.capacity - capacity(), Nanos{0});
  }
  if (shape_.algorithm == Algorithm::kTokenBucket || shape_.algorithm == Algorithm::kFixedWindow) {
    owned.greatest_ban_ = std::max(greatest.ban, shape_.ban);
  }
  return owned;
}

Limit Limit::AsShadow() const {
  Limit shadow = *this;
  shadow.shape_.shadow = true;
  return shadow;
}

LimitIdentity Limit::identity() const noexcept {
  if (owner_ == LimitOwner{}) return {shape_, owner_};
  LimitShape kept{.algorithm = shape_.algorithm,
                  .aligned = shape_.aligned,
                  .shadow = shape_.shadow,
                  .calendar = shape_.calendar};
  if (shape_.algorithm != Algorithm::kTokenBucket) kept.period = shape_.period;
  return {kept, owner_};
}

std::int64_t Limit::window_used_max() const noexcept {
  if (!has_bucket() || shape_.algorithm == Algorithm::kTokenBucket) return 0;
  return 2 * (owner_ == LimitOwner{} ? shape_.count : CountMaxOf(shape_));
}

std::int64_t Limit::capacity_tokens() const noexcept {
  switch (shape_.algorithm) {
    case Algorithm::kTokenBucket:
      return shape_.burst;
    case Algorithm::kFixedWindow:
    case Algorithm::kSlidingWindow:
    case Algorithm::kHeld:
      return shape_.count;
    case Algorithm::kUnlimited:
      return kCountMax;
    case Algorithm::kNone:
      break;
  }
  return 0;
}

absl::StatusOr<Limit> Limit::Create(const LimitShape& shape) {
  WEIR_RETURN_IF_ERROR(CheckRanges(shape));
  Limit limit(shape);
  if (shape.algorithm == Algorithm::kTokenBucket) {
    absl::StatusOr<Emission> emission = ExactEmission(shape);
    if (!emission.ok()) return emission.status();
    limit.emission_ = *emission;
  }
  return limit;
}

}  // namespace weir
