// One interface for all kinds of window, with random limits, instants and buckets of each, so that
// a law that all kinds keep is written once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>

#include "gtest/gtest.h"
#include <rapidcheck.h>

#include "core/rules/fixed_window.h"
#include "core/rules/sliding_window.h"
#include "tests/random/calendars.h"
#include "tests/random/generators.h"
#include "tests/random/histories.h"
#include "tests/support/limit_shapes.h"

namespace weir {

[[nodiscard]] inline Limit WindowOf(Algorithm algorithm, std::int64_t count, Nanos period,
                                    bool aligned = false) {
  const absl::StatusOr<Limit> limit =
      Limit::Create({.algorithm = algorithm, .aligned = aligned, .count = count, .period = period});
  WEIR_CHECK(limit.ok());
  return *limit;
}

// Everyday small counts, large counts, and the ends of the accepted range.
[[nodiscard]] inline rc::Gen<Limit> AnyWindow(Algorithm algorithm, Nanos period_min, bool aligned) {
  return rc::gen::exec([=] {
    const std::int64_t count = *rc::gen::oneOf(
        Between<std::int64_t>(1, 5), NumberUpTo(kWindowCountMax), rc::gen::just(kWindowCountMax));
    const std::int64_t period =
        *rc::gen::oneOf(rc::gen::just(period_min.count()), rc::gen::just(kPeriodMax.count()),
                        NumberUpTo(kPeriodMax.count()), NumberUpTo(kPeriodMax.count()));
    return WindowOf(algorithm, count, std::max(period_min, Nanos{period}), aligned);
  });
}

// The number of tokens that a window has been charged: often none or all, sometimes more.
[[nodiscard]] inline rc::Gen<std::uint32_t> AnyUsed(const Limit& limit) {
  const auto count = static_cast<std::uint32_t>(limit.shape().count);
  const std::uint32_t most = limit.shape().algorithm == Algorithm::kFixedWindow
                                 ? 2 * count
                                 : std::min<std::uint32_t>(2 * count, INT32_MAX);
  return rc::gen::oneOf(rc::gen::element<std::uint32_t>(0, 1, count - 1, count, most),
                        rc::gen::cast<std::uint32_t>(NumberUpTo(limit.shape().count)),
                        rc::gen::cast<std::uint32_t>(NumberUpTo(limit.shape().count)),
                        rc::gen::cast<std::uint32_t>(NumberUpTo(most)));
}

struct FixedWindows {
  static rc::Gen<Limit> AnyLimit() {
    return rc::gen::join(rc::gen::map(rc::gen::arbitrary<bool>(), [](bool aligned) {
      return AnyWindow(Algorithm::kFixedWindow, kPeriodMin, aligned);
    }));
  }
  // The buckets of a history in which time goes back by one period at most.
  static rc::Gen<Bucket> AnyBucket(const Limit& limit, Instant now) {
    return rc::gen::exec([limit, now] {
      const std::int64_t period = limit.shape().period.count();
      const std::int64_t present = now.time_since_epoch().count();
      const std::int64_t edge = *rc::gen::element(std::int64_t{0}, period, 2 * period);
      const std::int64_t beside =
          *rc::gen::oneOf(Between<std::int64_t>(-2, 2), NumberUpTo(2 * period));
      std::int64_t end = std::max<std::int64_t>(0, present + std::min(edge + beside, 2 * period));
      if (limit.shape().aligned) end -= end % period;
      return BucketOf(FixedWindow{Instant{Nanos{end}}, *AnyUsed(limit)});
    });
  }
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
  static rc::Gen<Limit> AnyLimit() {
    return rc::gen::exec([] {
      const std::int64_t count = *rc::gen::oneOf(
          Between<std::int64_t>(1, 5), NumberUpTo(kWindowCountMax), rc::gen::just(kWindowCountMax));
      return Limit::Create(CalendarShape(count, *AnyCalendar())).value();
    });
  }
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
  static rc::Gen<Limit> AnyLimit() {
    return AnyWindow(Algorithm::kSlidingWindow, kSlidingPeriodMin, false);
  }
  // Like FixedWindows::AnyBucket, but the counts may add up to more than the limit, as a lowered
  // limit leaves them.
  static rc::Gen<Bucket> AnyBucket(const Limit& limit, Instant now) {
    return rc::gen::exec([limit, now] {
      const std::int64_t number = now.time_since_epoch() / limit.shape().period +
                                  *rc::gen::element<std::int64_t>(-2, -2, -1, -1, 0, 0, 0, 1, 1);
      const std::uint32_t used = *AnyUsed(limit);
      return BucketOf(SlidingWindow{static_cast<std::uint32_t>(number), used, *AnyUsed(limit)});
    });
  }
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
[[nodiscard]] inline Nanos LongestWait(const Limit& limit) { return 3 * LongestPeriod(limit); }

// A time that no whole window fits into twice: a day of 23 hours or less is the shortest of any
// calendar.
[[nodiscard]] inline Nanos ShortestPeriod(const Limit& limit) {
  return limit.shape().has_calendar() ? std::chrono::hours{20} : limit.shape().period;
}

// An instant with room after it for every wait; often within a nanosecond of a multiple of the
// period, or near a change of the calendar's clocks.
[[nodiscard]] inline rc::Gen<Instant> AnyWindowInstant(const Limit& limit) {
  if (limit.shape().has_calendar()) {
    return AnyCalendarInstant(limit.shape().calendar, LongestWait(limit) + Nanos{1});
  }
  return rc::gen::exec([limit] {
    const Instant any = *AnyInstant(LongestWait(limit) + Nanos{1});
    if (*rc::gen::arbitrary<bool>()) return any;
    const Nanos start = any.time_since_epoch() - any.time_since_epoch() % limit.shape().period;
    return Instant{std::max(Nanos{0}, start + Nanos{*Between<std::int64_t>(-1, 1)})};
  });
}

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
