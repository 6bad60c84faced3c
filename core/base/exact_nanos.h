// A span or a point of time, exact to a fraction of a nanosecond.
//
// 3 tokens a second are worth 333,333,333 1/3 ns each: a limiter that keeps whole nanoseconds
// admits too much or too little, forever. Here a time is `whole + numerator / denominator` ns. The
// denominator is not stored: it belongs to the limit (see Limit::emission) and is passed where it
// matters, so a bucket spends 12 bytes and rounds nothing.
//
// Times with the same denominator compare as pairs. Pure; no overflow for whole parts that sum to
// less than 2^63.
#pragma once

#include <compare>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/wide.h"

namespace weir {

struct ExactNanos {
  std::int64_t whole = 0;       // ns
  std::uint32_t numerator = 0;  // of one more ns; below the denominator

  friend constexpr auto operator<=>(const ExactNanos&, const ExactNanos&) = default;
};

[[nodiscard]] constexpr ExactNanos Add(ExactNanos a, ExactNanos b,
                                       std::uint32_t denominator) noexcept {
  WEIR_DCHECK(a.numerator < denominator);
  WEIR_DCHECK(b.numerator < denominator);
  const std::uint64_t numerator = std::uint64_t{a.numerator} + b.numerator;
  const bool carry = numerator >= denominator;
  return {a.whole + b.whole + (carry ? 1 : 0),
          static_cast<std::uint32_t>(carry ? numerator - denominator : numerator)};
}

// Requires: a >= b.
[[nodiscard]] constexpr ExactNanos Subtract(ExactNanos a, ExactNanos b,
                                            std::uint32_t denominator) noexcept {
  WEIR_DCHECK(a >= b);
  const bool borrow = a.numerator < b.numerator;
  const std::uint64_t numerator =
      std::uint64_t{a.numerator} + (borrow ? denominator : 0) - b.numerator;
  return {a.whole - b.whole - (borrow ? 1 : 0), static_cast<std::uint32_t>(numerator)};
}

// The first whole nanosecond that is not before `time`.
[[nodiscard]] constexpr std::int64_t Ceil(ExactNanos time) noexcept {
  return time.whole + (time.numerator != 0 ? 1 : 0);
}

// A span of time as a number of parts, 1 / denominator ns each, and the reverse. Requires: no
// negative span.
[[nodiscard]] constexpr Wide PartsOf(ExactNanos span, std::uint32_t denominator) noexcept {
  WEIR_DCHECK(span.whole >= 0);
  return Wide{static_cast<std::uint64_t>(span.whole)} * denominator + span.numerator;
}
[[nodiscard]] constexpr ExactNanos TimeOfParts(Wide parts, std::uint32_t denominator) noexcept {
  return {static_cast<std::int64_t>(parts / denominator),
          static_cast<std::uint32_t>(parts % denominator)};
}

}  // namespace weir
