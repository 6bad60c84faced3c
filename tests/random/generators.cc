#include "tests/random/generators.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/rules/rule.h"
#include "core/words/limit_grammar.h"

namespace weir {

template rc::Gen<int> Between(int, int);
template rc::Gen<std::int64_t> Between(std::int64_t, std::int64_t);
template rc::Gen<std::uint64_t> Between(std::uint64_t, std::uint64_t);

Limit LimitOf(std::string_view text) {
  const absl::StatusOr<LimitWord> word = ParseLimitWord(text);
  WEIR_CHECK(word.ok() && word->limit);
  return *word->limit;
}

Limit TokenBucketOf(std::int64_t count, Nanos period, std::int64_t burst) {
  const absl::StatusOr<Limit> limit =
      Limit::Create({.count = count, .period = period, .burst = burst});
  WEIR_CHECK(limit.ok());
  return *limit;
}

rc::Gen<Limit> LimitAmong(std::vector<std::string_view> words) {
  return rc::gen::map(rc::gen::elementOf(std::move(words)),
                      [](std::string_view word) { return LimitOf(word); });
}

rc::Gen<Limit> NotableLimit() {
  return LimitAmong({
      "3/s",                   // 333,333,333 1/3 ns a token
      "7/11ms",                // 1,571,428 4/7 ns
      "10/s",                  // whole nanoseconds
      "10/s,burst=1",          // nothing saved up
      "3/s,burst=1000",        // much saved up
      "300M/s",                // 3 1/3 ns a token
      "999999937/s,burst=1",   // a prime: the fraction has nine digits
      "4294967291/s,burst=7",  // the greatest prime below 2^32
      "1000000007/us",         // less than 1/1000 ns a token
      "1/3285d",               // the slowest
      "1/3285d,burst=4",       // the longest
  });
}

rc::Gen<Limit> SometimesShadow(const rc::Gen<Limit>& limit) {
  return rc::gen::map(rc::gen::pair(limit, Between(0, 3)), [](const std::pair<Limit, int>& drawn) {
    return drawn.second == 0 ? drawn.first.AsShadow() : drawn.first;
  });
}

rc::Gen<Limit> SometimesBan(const rc::Gen<Limit>& limit) {
  return rc::gen::exec([limit] {
    const Limit drawn = *limit;
    LimitShape shape = drawn.shape();
    const bool can_ban = shape.algorithm == Algorithm::kTokenBucket ||
                         (shape.algorithm == Algorithm::kFixedWindow && !shape.has_calendar());
    if (!can_ban || *Between(0, 3) != 0) return drawn;
    const Nanos ban = *rc::gen::elementOf(std::vector<Nanos>{
        kPeriodMin, shape.period / 3, shape.period, std::chrono::minutes{15}, kPeriodMax});
    // In whole microseconds, as words have it.
    shape.ban = std::max(ban / kPeriodMin * kPeriodMin, kPeriodMin);
    return *Limit::Create(shape);
  });
}

rc::Gen<Limit> StrangeLimit() {
  return rc::gen::exec([] {
    std::int64_t count = *NumberUpTo(kDenominatorMax);
    std::int64_t period = *NumberUpTo(kPeriodMax.count());
    if (period < kPeriodMin.count()) {
      count *= kPeriodMin.count();
      period *= kPeriodMin.count();
    }
    __extension__ using Int128 = __int128;
    const Int128 longest = Int128{kCapacityMax.count()} * count / period;
    const auto burst_max = static_cast<std::int64_t>(std::min(longest, Int128{INT64_MAX}));
    const std::int64_t burst = *rc::gen::oneOf(
        rc::gen::just(std::int64_t{1}), rc::gen::just(burst_max),
        rc::gen::just(std::min(count, burst_max)), NumberUpTo(burst_max), NumberUpTo(burst_max));
    return TokenBucketOf(count, Nanos{period}, burst);
  });
}

rc::Gen<Limit> AnyLimit() { return rc::gen::oneOf(NotableLimit(), StrangeLimit()); }

rc::Gen<Instant> AnyInstant(Nanos room) {
  const std::int64_t last = (kInstantMax - room).time_since_epoch().count();
  constexpr std::int64_t kThisCentury = 1'700'000'000'000'000'000;
  return rc::gen::map(
      rc::gen::oneOf(rc::gen::just(std::int64_t{0}), rc::gen::just(last), NumberUpTo(last),
                     rc::gen::map(NumberUpTo(1'000'000'000'000'000'000),
                                  [last](std::int64_t nanos) {
                                    return std::min(last, kThisCentury + nanos);
                                  })),
      [](std::int64_t nanos) { return Instant{Nanos{nanos}}; });
}

rc::Gen<Nanos> AnyMaxWait() {
  return rc::gen::map(
      rc::gen::oneOf(rc::gen::just(std::int64_t{0}), rc::gen::just(kMaxWaitMax.count()),
                     NumberUpTo(kMaxWaitMax.count())),
      [](std::int64_t nanos) { return Nanos{nanos}; });
}

ExactNanos Farthest(const Limit& limit, Instant now, Nanos max_wait) {
  const Emission& emission = limit.emission();
  const ExactNanos limit_of_now =
      Add({now.time_since_epoch().count(), 0}, emission.capacity, emission.denominator);
  return Add(limit_of_now, {max_wait.count(), 0}, emission.denominator);
}

rc::Gen<Bucket> AnyBucket(const Limit& limit, Instant now, Nanos max_wait) {
  return rc::gen::exec([limit, now, max_wait] {
    const Emission& emission = limit.emission();
    const std::int64_t present = now.time_since_epoch().count();
    const std::int64_t reach = emission.capacity.whole + max_wait.count();
    const std::int64_t edge =
        *rc::gen::element(-present, std::int64_t{0}, std::int64_t{0}, emission.interval.whole,
                          emission.capacity.whole, reach);
    const std::int64_t beside =
        *rc::gen::oneOf(Between<std::int64_t>(-2, 2), NumberUpTo(reach + 1));
    ExactNanos tat;
    tat.whole = std::max<std::int64_t>(0, present + std::min(edge + beside, reach));
    tat.numerator = static_cast<std::uint32_t>(*rc::gen::oneOf(
        rc::gen::just(std::int64_t{0}), Between<std::int64_t>(0, emission.denominator - 1)));
    return BucketOfTat(std::min(tat, Farthest(limit, now, max_wait)));
  });
}

rc::Gen<Bucket> ForeignBucket() {
  const auto word =
      rc::gen::oneOf(rc::gen::element<std::uint32_t>(0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF),
                     rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint32_t>()));
  return rc::gen::build<Bucket>(rc::gen::set(&Bucket::low, word), rc::gen::set(&Bucket::high, word),
                                rc::gen::set(&Bucket::extra, word));
}

rc::Gen<Bucket> AnyFormOf(const Limit& limit) {
  return rc::gen::map(ForeignBucket(), [limit](const Bucket& bucket) {
    return HasFormOf(limit, bucket) ? bucket : WithoutSpareBit(bucket);
  });
}

rc::Gen<std::uint64_t> AnyCost(const Limit& limit) {
  const auto burst = static_cast<std::uint64_t>(limit.capacity_tokens());
  return rc::gen::oneOf(
      rc::gen::element<std::uint64_t>(0, 1, burst, burst + 1, std::uint64_t{INT64_MAX}, UINT64_MAX),
      rc::gen::just(std::uint64_t{1}),
      rc::gen::cast<std::uint64_t>(NumberUpTo(limit.capacity_tokens())),
      rc::gen::cast<std::uint64_t>(NumberUpTo(limit.capacity_tokens())));
}

}  // namespace weir
