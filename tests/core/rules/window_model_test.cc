// Goal: all windows are exact. Method: every answer is compared with that of a log of admissions
// (window_oracle.h), over random histories with refunds that keep hitting the edges of the rule,
// and over all short histories of small limits.
#include <sstream>
#include <vector>

#include "gtest/gtest.h"

#include "tests/core/rules/difference.h"
#include "tests/random/histories.h"
#include "tests/random/windows.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_scale.h"
#include "tests/support/window_oracle.h"

namespace weir {
namespace {

// How often the histories reached each kind of answer.
struct Tally {
  std::int64_t steps = 0;
  std::int64_t admitted = 0;
  std::int64_t denied = 0;
  std::int64_t denied_past_the_end = 0;  // of the window: it must pass and then fade
  std::int64_t denied_for_ever = 0;
  std::int64_t refunded = 0;
  std::int64_t full = 0;
};

template <typename Windows>
class WindowModelTest : public testing::Test {
 protected:
  static void Count(const Limit& limit, const Decision& decision, Tally& tally) {
    const bool for_ever = decision.retry_after == kNever;
    ++tally.steps;
    ++(decision.allowed ? tally.admitted : for_ever ? tally.denied_for_ever : tally.denied);
    if (!for_ever && decision.retry_after > limit.shape().period) ++tally.denied_past_the_end;
    if (decision.reset_after == Nanos{0}) ++tally.full;
  }

  // One random history.
  static void Compare(Tally& tally) {
    const Limit limit = *Windows::AnyLimit();
    Instant now = *AnyWindowInstant(limit);
    WindowOracle oracle(limit);
    Bucket bucket;
    Decision last = oracle.Look(now, 0);
    for (const Move& move : *AnyHistory()) {
      now = NextInstant(move, limit, last, now);
      const std::uint64_t cost = CostOf(move, limit, last);
      if (move.part % 8 == 0) {
        const Bucket refunded = Windows::Refund(limit, bucket, now, cost);
        if (refunded != bucket) ++tally.refunded;
        bucket = refunded;
        oracle.Refund(now, cost);
      }
      // Drops a full bucket sometimes, as the sweeper does.
      if (move.part % 2 == 0 && Windows::IsFull(limit, bucket, now)) bucket = {};
      const Step step = Windows::Decide(limit, bucket, now, cost);
      last = oracle.Ask(now, cost);
      if (step.decision != last) RC_FAIL(Difference(now, cost, step.decision, last));
      const bool full = last.reset_after == Nanos{0};
      if (Windows::IsFull(limit, step.bucket, now) != full)
        RC_FAIL("full, or not, at a wrong time");
      bucket = step.bucket;
      Count(limit, last, tally);
    }
  }
};

TYPED_TEST_SUITE(WindowModelTest, EveryWindows, WindowsName);

TYPED_TEST(WindowModelTest, RandomHistories) {
  Tally tally;
  // About fifty steps each. A step of calendar windows takes longer, since their oracle asks
  // clocks.
  const std::int64_t cases = std::is_same_v<TypeParam, CalendarWindows> ? 1'000 : 20'000;
  CheckLaw(cases, [&tally] { TestFixture::Compare(tally); });
  const std::int64_t share = InWholeRuns(tally.steps / 100);
  EXPECT_GE(tally.steps, InWholeRuns(40 * cases));
  EXPECT_GE(tally.admitted, 20 * share);
  EXPECT_GE(tally.denied, 10 * share);
  EXPECT_GE(tally.denied_for_ever, share);
  EXPECT_GE(tally.refunded, share);
  EXPECT_GE(tally.full, share);
  if (std::is_same_v<TypeParam, SlidingWindows>) {
    EXPECT_GE(tally.denied_past_the_end, share);
  }
}

// Plays all histories of `depth` more steps: waits around the edges of a window; costs of 0 to one
// more than the count, or a refund of a token.
template <typename Windows>
class EveryWindowHistory {
 public:
  explicit EveryWindowHistory(const Limit& limit) : limit_(limit) {
    const Nanos period = limit.shape().period;
    waits_ = {Nanos{0},          Nanos{1}, period / 3,           period / 2,
              period - Nanos{1}, period,   2 * period - Nanos{1}};
  }

  // Returns false at the first difference, after reporting it.
  bool Check(int depth, Instant start) { return Check(depth, start, {}, WindowOracle(limit_)); }

  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  bool Check(int depth, Instant from, Bucket bucket, const WindowOracle& oracle) {
    if (depth == 0) return true;
    for (const Nanos wait : waits_) {
      const Instant now = from + wait;
      for (std::int64_t cost = 0; cost <= limit_.shape().count + 1; ++cost) {
        if (!CheckCost(depth, now, bucket, oracle, static_cast<std::uint64_t>(cost))) return false;
      }
      WindowOracle refunded = oracle;
      refunded.Refund(now, 1);
      if (!Check(depth - 1, now, Windows::Refund(limit_, bucket, now, 1), refunded)) return false;
    }
    return true;
  }

  bool CheckCost(int depth, Instant now, Bucket bucket, WindowOracle oracle, std::uint64_t cost) {
    ++steps_;
    const Step step = Windows::Decide(limit_, bucket, now, cost);
    const Decision want = oracle.Ask(now, cost);
    if (step.decision != want) {
      ADD_FAILURE() << limit_ << ": " << Difference(now, cost, step.decision, want);
      return false;
    }
    return Check(depth - 1, now, step.bucket, oracle);
  }

  const Limit limit_;
  std::vector<Nanos> waits_;
  std::int64_t steps_ = 0;
};

template <typename Windows>
void CheckEveryHistory(Algorithm algorithm, Nanos period, bool aligned) {
  const int depth = Scaled(10) < 10 ? 2 : 3;
  for (std::int64_t count = 1; count <= 3; ++count) {
    EveryWindowHistory<Windows> every(WindowOf(algorithm, count, period, aligned));
    ASSERT_TRUE(every.Check(depth, FakeClock::kStart));
    ASSERT_TRUE(every.Check(depth, FakeClock::kStart + period / 3 + Nanos{1}));
    EXPECT_GT(every.steps(), 1'000);
  }
}

TEST(FixedWindowModelTest, EveryShortHistory) {
  CheckEveryHistory<FixedWindows>(Algorithm::kFixedWindow, kPeriodMin, false);
}

TEST(FixedWindowModelTest, EveryShortHistoryAligned) {
  CheckEveryHistory<FixedWindows>(Algorithm::kFixedWindow, kPeriodMin, true);
}

TEST(SlidingWindowModelTest, EveryShortHistory) {
  CheckEveryHistory<SlidingWindows>(Algorithm::kSlidingWindow, kSlidingPeriodMin, false);
}

}  // namespace
}  // namespace weir
