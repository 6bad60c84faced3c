// A bucket of a random window limit with a history, which starts full. To be drawn inside a law.
#pragma once

#include <cstdint>

#include "core/base/instant.h"
#include "core/rules/step.h"
#include "tests/random/histories.h"
#include "tests/random/windows.h"

namespace weir {

template <typename Windows>
class WindowLife {
 public:
  WindowLife() : now_(*AnyWindowInstant(limit_)) { last_.remaining = limit_.shape().count; }

  // Returns the tokens admitted.
  std::int64_t Make(const Move& move) {
    now_ = NextInstant(move, limit_, last_, now_);
    return Ask(now_, CostOf(move, limit_, last_));
  }
  std::int64_t Ask(Instant now, std::uint64_t cost) {
    const Step step = Windows::Decide(limit_, bucket_, now, cost);
    bucket_ = step.bucket;
    last_ = step.decision;
    return last_.allowed ? static_cast<std::int64_t>(cost) : 0;
  }
  std::int64_t AskForAll(Instant now) {
    const Decision look = Windows::Decide(limit_, bucket_, now, 0).decision;
    return Ask(now, static_cast<std::uint64_t>(look.remaining));
  }

  [[nodiscard]] const Limit& limit() const { return limit_; }
  [[nodiscard]] std::int64_t count() const { return limit_.shape().count; }
  [[nodiscard]] Nanos period() const { return limit_.shape().period; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] Bucket bucket() const { return bucket_; }

 private:
  const Limit limit_ = *Windows::AnyLimit();
  Instant now_;
  Bucket bucket_;
  Decision last_;
};

}  // namespace weir
