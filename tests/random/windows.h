// One interface for all kinds of window, with random limits, instants and buckets of each, so that
// a law that all kinds keep is written once.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/rules/fixed_window.h"
#include "core/rules/sliding_window.h"
#include "tests/random/calendars.h"
#include "tests/random/generators.h"
#include "tests/random/histories.h"
#include "tests/support/limit_shapes.h"

namespace weir {

[[nodiscard]] Limit WindowOf(Algorithm algorithm, std::int64_t count, Nanos period,
                             bool aligned = false);

// Everyday small counts, large counts, and the ends of the range that the shape accepts; near them
// those at which a fixed window's bucket changes its form. The shape's own count is ignored.
[[nodiscard]] rc::Gen<std::int64_t> AnyWindowCount(const LimitShape& shape);
[[nodiscard]] rc::Gen<Limit> AnyWindow(Algorithm algorithm, Nanos period_min, bool aligned);

// The number of tokens that a window has been charged: often none or all, sometimes more.
[[nodiscard]] rc::Gen<std::int64_t> AnyUsed(const Limit& limit);

struct FixedWindows {
  static rc::Gen<Limit> AnyLimit();
  // The buckets of a history in which time goes back by one period at most.
  static rc::Gen<Bucket> AnyBucket(const Limit& limit, Instant now);
  static Step Decide(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                     std::uint64_t keep = 0) {
    return DecideFixedWindow(limit, bucket, now, cost, keep);
  }
  static bool IsFull(const Limit& /*limit*/, Bucket bucket, Instant now) {
    return IsFixedWindowFull(bucket, now);
  }
  static Bucket Refund(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost) {
    return RefundFixedWindow(limit, bucket, now, cost);
  }
  static Bucket Charge(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost) {
    return ChargeFixedWindow(limit, bucket, now, cost);
  }
  static std::int64_t Used(const Limit& limit, Bucket bucket, Instant now) {
    return UsedInFixedWindow(limit, bucket, now);
  }
};

struct CalendarWindows : FixedWindows {
  static rc::Gen<Limit> AnyLimit();
  // The buckets of a history in which time goes back by one window at most.
  static rc::Gen<Bucket> AnyBucket(const Limit& limit, Instant now) {
    return rc::gen::exec([limit, now] {
      const CalendarWindow present = CalendarWindowAt(limit.shape().calendar, now);
      const Instant end = *rc::gen::element(std::max(Instant{}, present.begin), present.end,
                                            present.end, present.next_end);
      return BucketOf(FixedWindow{end, *AnyUsed(limit)});
    });
  }
};

struct SlidingWindows {
  static rc::Gen<Limit> AnyLimit();
  // Like FixedWindows::AnyBucket, but the counts may add up to more than the limit, as a lowered
  // limit leaves them.
  static rc::Gen<Bucket> AnyBucket(const Limit& limit, Instant now);
  static Step Decide(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                     std::uint64_t keep = 0) {
    return DecideSlidingWindow(limit, bucket, now, cost, keep);
  }
  static bool IsFull(const Limit& limit, Bucket bucket, Instant now) {
    return IsSlidingWindowFull(limit, bucket, now);
  }
  static Bucket Refund(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost) {
    return RefundSlidingWindow(limit, bucket, now, cost);
  }
  static Bucket Charge(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost) {
    return ChargeSlidingWindow(limit, bucket, now, cost);
  }
  static std::int64_t Used(const Limit& limit, Bucket bucket, Instant now) {
    return UsedInSlidingWindow(limit, bucket, now);
  }
};

// The longest time until any bucket is full: a window in the future must pass, and then fade.
[[nodiscard]] Nanos LongestWait(const Limit& limit);

// A time that no whole window fits into twice.
[[nodiscard]] Nanos ShortestPeriod(const Limit& limit);

// An instant with room after it for every wait; often within a nanosecond of a multiple of the
// period, or near a change of the calendar's clocks.
[[nodiscard]] rc::Gen<Instant> AnyWindowInstant(const Limit& limit);

using EveryWindows = testing::Types<FixedWindows, CalendarWindows, SlidingWindows>;

struct WindowsName {
  template <typename Windows>
  static std::string GetName(int /*index*/) {
    return std::is_same_v<Windows, FixedWindows>      ? "Fixed"
           : std::is_same_v<Windows, CalendarWindows> ? "Calendar"
                                                      : "Sliding";
  }
};

}  // namespace weir
