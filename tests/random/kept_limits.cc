#include "tests/random/kept_limits.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace weir {

rc::Gen<Limit> AnyKeptLimit() {
  const auto in_words = [](const Limit& limit) {
    LimitShape shape = limit.shape();
    const Nanos whole = shape.period - shape.period % std::chrono::microseconds{1};
    shape.period = std::max<Nanos>(whole, kPeriodMin);
    const absl::StatusOr<Limit> rounded = Limit::Create(shape);
    return rounded.ok() ? *rounded : LimitOf("3/s");
  };
  const auto any =
      rc::gen::oneOf(AnyLimit(), AnyWindow(Algorithm::kFixedWindow, kPeriodMin, false),
                     AnyWindow(Algorithm::kFixedWindow, kPeriodMin, true),
                     AnyWindow(Algorithm::kSlidingWindow, kSlidingPeriodMin, false),
                     rc::gen::map(AnyLimit(), [](const Limit& limit) { return limit.AsShadow(); }));
  return rc::gen::map(any, in_words);
}

rc::Gen<Limit> AnyThrottleLimit() {
  return rc::gen::suchThat(AnyKeptLimit(), [](const Limit& limit) {
    return limit.shape().algorithm == Algorithm::kTokenBucket && !limit.shape().shadow;
  });
}

rc::Gen<PolicyLimits> AnyPolicyLimits() {
  return rc::gen::mapcat(Between<std::size_t>(1, 5), [](std::size_t count) {
    return rc::gen::exec([count] {
      PolicyLimits limits;
      for (std::size_t i = 0; i < count; ++i) {
        PolicyLimit limit{*rc::gen::oneOf(AnyKeptLimit(), rc::gen::just(Limit::Unlimited()),
                                          rc::gen::just(Limit::None())),
                          {},
                          {},
                          {}};
        if (limit.limit.has_bucket() && *rc::gen::arbitrary<bool>()) {
          limit.cost = *NumberUpTo(INT64_MAX) - 1;
          if (*rc::gen::arbitrary<bool>()) limit.keep = *NumberUpTo(INT64_MAX) - 1;
          limit.label = *rc::gen::element<std::string>("", "a", "x-y_z.1:2");
        }
        limits.push_back(std::move(limit));
      }
      return limits;
    });
  });
}

}  // namespace weir
