// Time as the rules see it: nanoseconds since the Unix epoch, and spans of nanoseconds.
//
// An Instant is a point, Nanos a span; only the sums that mean something compile. Nothing in core/
// reads a clock: `now` is an argument, read once per request by a caller that has a Clock.
//
// A HostInstant is a point on the time line of this host. Durations and deadlines of the host use
// it, because the time of decisions may jump (core/base/clock.h). The two types do not compare.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/base/check.h"

namespace weir {

using Nanos = std::chrono::nanoseconds;

// The time line of an Instant. It has no now(): see Clock.
struct UnixTime {
  using rep = Nanos::rep;
  using period = Nanos::period;
  using duration = Nanos;
  using time_point = std::chrono::time_point<UnixTime>;
  static constexpr bool is_steady = true;
};

using Instant = UnixTime::time_point;

// The time line of a HostInstant.
struct HostTime {
  using rep = Nanos::rep;
  using period = Nanos::period;
  using duration = Nanos;
  using time_point = std::chrono::time_point<HostTime>;
  static constexpr bool is_steady = true;
};

using HostInstant = HostTime::time_point;

// The longest wait that a server can be configured to allow.
inline constexpr Nanos kMaxWaitMax = std::chrono::hours{24};

// Every Instant handed to a rule is in [Instant{}, kInstantMax]; 2^62 ns is in the year 2116. The
// greatest sum of the rules is an instant and three times the greatest capacity of 2^60 ns (a full
// cost on top of a bucket that owes as much again as it holds), so it stays below 2^63.
inline constexpr Instant kInstantMax{Nanos{(std::int64_t{1} << 62) - 1} - kMaxWaitMax};
inline constexpr HostInstant kHostInstantMax{kInstantMax.time_since_epoch()};

// Whole milliseconds, rounded up, so that a wait of the result lasts at least `span`. Requires:
// span >= 0.
[[nodiscard]] constexpr std::int64_t CeilMillis(Nanos span) noexcept {
  WEIR_DCHECK(span >= Nanos{0});
  constexpr std::int64_t kNanosPerMilli = 1'000'000;
  const std::int64_t nanos = span.count();
  return nanos / kNanosPerMilli + (nanos % kNanosPerMilli != 0 ? 1 : 0);
}

}  // namespace weir
