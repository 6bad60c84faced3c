// Goal: the token bucket is exact. Method: every answer is compared with that of a log of
// admissions (oracle.h), over random histories that keep hitting the edges of the rule, and over
// all short histories of all small limits.
#include <numeric>
#include <sstream>
#include <vector>

#include "gtest/gtest.h"

#include "core/rules/token_bucket.h"
#include "tests/core/rules/difference.h"
#include "tests/random/generators.h"
#include "tests/random/histories.h"
#include "tests/support/fake_clock.h"
#include "tests/support/oracle.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

TEST(TokenBucketModelTest, RandomHistories) {
  CheckLaw(50'000, [] {
    const Limit limit = *AnyLimit();
    Instant now = *AnyInstant();
    LogOracle oracle(limit);
    Bucket bucket;
    Decision last = oracle.Look(now, 0);
    for (const Move& move : *AnyHistory()) {
      now = NextInstant(move, limit, last, now);
      const std::uint64_t cost = CostOf(move, limit, last);
      // Drops a full bucket sometimes, as the sweeper does.
      if (move.part % 2 == 0 && IsTokenBucketFull(bucket, now)) bucket = {};
      const Step step = DecideTokenBucket(limit, bucket, now, cost, Nanos{0});
      last = oracle.Ask(now, cost);
      if (step.decision != last) RC_FAIL(Difference(now, cost, step.decision, last));
      const bool full = last.reset_after == Nanos{0};
      if (IsTokenBucketFull(step.bucket, now) != full) RC_FAIL("full, or not, at the wrong time");
      bucket = step.bucket;
    }
  });
}

// Plays all histories of `depth` more steps: waits of 0 to 5 ns, costs of 0 to one more than the
// burst.
class EveryHistory {
 public:
  EveryHistory(const Limit& limit, Instant start) : limit_(limit), start_(start) {}

  // Returns false at the first difference, after reporting it.
  bool Check(int depth) { return Check(depth, start_, Bucket{}, LogOracle(limit_)); }

  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  bool Check(int depth, Instant now, Bucket bucket, const LogOracle& oracle) {
    constexpr int kWaitMax = 5;
    for (int wait = 0; wait <= kWaitMax; ++wait) {
      for (std::int64_t cost = 0; cost <= limit_.shape().burst + 1; ++cost) {
        if (!CheckStep(depth, now + Nanos{wait}, bucket, oracle, static_cast<std::uint64_t>(cost)))
          return false;
      }
    }
    return true;
  }

  bool CheckStep(int depth, Instant now, Bucket bucket, const LogOracle& oracle,
                 std::uint64_t cost) {
    ++steps_;
    const Step step = DecideTokenBucket(limit_, bucket, now, cost, Nanos{0});
    const Decision want = oracle.Look(now, cost);
    if (step.decision != want) {
      ADD_FAILURE() << limit_ << ": " << Difference(now, cost, step.decision, want);
      return false;
    }
    if (depth == 1) return true;
    LogOracle next = oracle;
    next.Ask(now, cost);
    return Check(depth - 1, now, step.bucket, next);
  }

  const Limit limit_;
  const Instant start_;
  std::int64_t steps_ = 0;
};

TEST(TokenBucketModelTest, EveryShortHistoryOfEverySmallLimit) {
  const int depth = Scaled(10) < 10 ? 3 : 4;
  std::int64_t steps = 0;
  // One token is worth p / n ns.
  for (const std::int64_t p : {1, 2, 3, 4}) {
    for (const std::int64_t n : {1, 2, 3, 4}) {
      if (std::gcd(p, n) != 1) continue;
      for (std::int64_t burst = 1; burst <= 4; ++burst) {
        EveryHistory every(TokenBucketOf(1000 * n, Nanos{1000 * p}, burst), FakeClock::kStart);
        ASSERT_TRUE(every.Check(depth));
        steps += every.steps();
      }
    }
  }
  RecordProperty("steps", static_cast<int>(steps));
}

}  // namespace
}  // namespace weir
