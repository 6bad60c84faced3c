#include "tests/random/windows.h"

#include <algorithm>
#include <chrono>

#include "core/base/check.h"

namespace weir {

Limit WindowOf(Algorithm algorithm, std::int64_t count, Nanos period, bool aligned) {
  const absl::StatusOr<Limit> limit =
      Limit::Create({.algorithm = algorithm, .aligned = aligned, .count = count, .period = period});
  WEIR_CHECK(limit.ok());
  return *limit;
}

rc::Gen<std::int64_t> AnyWindowCount(const LimitShape& shape) {
  LimitShape widest = shape;
  widest.count = kFixedCountMax;
  if (!Limit::Create(widest).ok()) {
    return rc::gen::oneOf(Between<std::int64_t>(1, 5), NumberUpTo(kWindowCountMax),
                          rc::gen::just(kWindowCountMax));
  }
  constexpr std::int64_t kWide = std::int64_t{1} << 32;
  return rc::gen::oneOf(Between<std::int64_t>(1, 5), NumberUpTo(kWindowCountMax),
                        NumberUpTo(kFixedCountMax),
                        rc::gen::element(kWindowCountMax, kWindowCountMax + 1, kFixedCountMax),
                        Between<std::int64_t>(kWide - 3, kWide + 1));
}

rc::Gen<Limit> AnyWindow(Algorithm algorithm, Nanos period_min, bool aligned) {
  return rc::gen::exec([=] {
    const std::int64_t drawn =
        *rc::gen::oneOf(rc::gen::just(period_min.count()), rc::gen::just(kPeriodMax.count()),
                        NumberUpTo(kPeriodMax.count()), NumberUpTo(kPeriodMax.count()));
    Nanos period = std::max(period_min, Nanos{drawn});
    constexpr Nanos kMilli = std::chrono::milliseconds{1};
    if (aligned && period > kMilli && *rc::gen::arbitrary<bool>()) period -= period % kMilli;
    const LimitShape shape{.algorithm = algorithm, .aligned = aligned, .period = period};
    return WindowOf(algorithm, *AnyWindowCount(shape), period, aligned);
  });
}

rc::Gen<std::int64_t> AnyUsed(const Limit& limit) {
  const std::int64_t count = limit.shape().count;
  const std::int64_t most = limit.shape().algorithm == Algorithm::kFixedWindow
                                ? 2 * count
                                : std::min<std::int64_t>(2 * count, INT32_MAX);
  constexpr std::int64_t kWide = std::int64_t{1} << 32;
  return rc::gen::oneOf(rc::gen::element<std::int64_t>(0, 1, count - 1, count, most),
                        NumberUpTo(count), NumberUpTo(count), NumberUpTo(most),
                        rc::gen::map(Between(kWide - 3, kWide + 1),
                                     [most](std::int64_t used) { return std::min(used, most); }));
}

Nanos LongestWait(const Limit& limit) { return 3 * LongestPeriod(limit); }

Nanos ShortestPeriod(const Limit& limit) {
  const LimitShape& shape = limit.shape();
  return shape.has_calendar() ? ShortestWindow(shape.calendar) : shape.period;
}

rc::Gen<Instant> AnyWindowInstant(const Limit& limit) {
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

rc::Gen<Limit> FixedWindows::AnyLimit() {
  return rc::gen::join(rc::gen::map(rc::gen::arbitrary<bool>(), [](bool aligned) {
    return AnyWindow(Algorithm::kFixedWindow, kPeriodMin, aligned);
  }));
}

rc::Gen<Bucket> FixedWindows::AnyBucket(const Limit& limit, Instant now) {
  return rc::gen::exec([limit, now] {
    const std::int64_t period = limit.shape().period.count();
    const std::int64_t present = now.time_since_epoch().count();
    const std::int64_t edge = *rc::gen::element(std::int64_t{0}, period, 2 * period);
    const std::int64_t beside =
        *rc::gen::oneOf(Between<std::int64_t>(-2, 2), NumberUpTo(2 * period));
    std::int64_t end = std::max<std::int64_t>(0, present + std::min(edge + beside, 2 * period));
    if (limit.shape().aligned) end -= end % period;
    return BucketOf(FixedWindow{WrittenEnd(limit.shape(), Instant{Nanos{end}}), *AnyUsed(limit)});
  });
}

rc::Gen<Limit> CalendarWindows::AnyLimit() {
  return rc::gen::exec([] {
    LimitShape shape = CalendarShape(1, *AnyCalendar());
    shape.count = *AnyWindowCount(shape);
    return Limit::Create(shape).value();
  });
}

rc::Gen<Limit> SlidingWindows::AnyLimit() {
  return AnyWindow(Algorithm::kSlidingWindow, kSlidingPeriodMin, false);
}

rc::Gen<Bucket> SlidingWindows::AnyBucket(const Limit& limit, Instant now) {
  return rc::gen::exec([limit, now] {
    const std::int64_t number = now.time_since_epoch() / limit.shape().period +
                                *rc::gen::element<std::int64_t>(-2, -2, -1, -1, 0, 0, 0, 1, 1);
    const auto used = static_cast<std::uint32_t>(*AnyUsed(limit));
    const auto before = static_cast<std::uint32_t>(*AnyUsed(limit));
    return BucketOf(SlidingWindow{static_cast<std::uint32_t>(number), used, before});
  });
}

}  // namespace weir
