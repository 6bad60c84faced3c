// Goal: a settlement never leaves more tokens than the true costs would have. Method: random
// overlapping reservations with other requests, charges, refunds and bans between them, each
// settlement compared with a log of admissions of the true costs (settled_history.h); the same
// without parts of the rule, to show that each part is needed.
#include <algorithm>
#include <chrono>
#include <random>

#include "gtest/gtest.h"
#include <rapidcheck.h>

#include "core/rules/settlement.h"
#include "tests/random/calendars.h"
#include "tests/random/generators.h"
#include "tests/random/histories.h"
#include "tests/random/windows.h"
#include "tests/support/fake_clock.h"
#include "tests/support/settled_history.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

// Limits of every kind. A reservation opens an unaligned window whatever its true cost is.
rc::Gen<Limit> AnySettledLimit() {
  return rc::gen::suchThat(
      SometimesBan(rc::gen::oneOf(AnyLimit(), AnyLimit(), FixedWindows::AnyLimit(),
                                  CalendarWindows::AnyLimit(), SlidingWindows::AnyLimit())),
      [](const Limit& limit) {
        const LimitShape& shape = limit.shape();
        return shape.algorithm != Algorithm::kFixedWindow || shape.aligned || shape.has_calendar();
      });
}

// The true cost: often the estimate, nothing, or a part; sometimes more.
std::uint64_t TrueCost(std::uint64_t estimate, std::int64_t part) {
  const auto share = static_cast<std::uint64_t>(PartOf(static_cast<std::int64_t>(estimate), part));
  const std::uint64_t costs[] = {0, share, share, estimate, estimate + share};
  return costs[part % 5];
}

// How often the histories reached each kind of state.
struct SettlementTally {
  std::int64_t settled = 0;
  std::int64_t exact = 0;
  std::int64_t above = 0;
  std::int64_t denied = 0;
};

void PlayHistory(SettlementTally& tally) {
  SettledHistory history(*AnySettledLimit(), *AnyMaxWait());
  const Limit& limit = history.limit();
  Instant now = *AnyInstant();
  if (limit.shape().has_calendar()) now = *AnyCalendarInstant(limit.shape().calendar, Nanos{1});
  Decision last = history.Look(now);
  for (const Move& move : *AnyHistory()) {
    now = NextInstant(move, limit, last, now);
    const std::uint64_t cost = CostOf(move, limit, last);
    const int what = *Between(0, 15);
    if (what < 6) {
      if (!history.Take(now, cost, true)) ++tally.denied;
    } else if (what < 8) {
      if (!history.Take(now, cost, false)) ++tally.denied;
    } else if (what == 8) {
      history.Charge(now, cost);
    } else if (what == 9) {
      history.Refund(now, cost);
    } else if (!history.open().empty()) {
      const auto place = static_cast<std::size_t>(move.part) % history.open().size();
      const std::uint64_t estimate = history.open()[place].estimate.cost;
      const std::uint64_t true_cost = TrueCost(estimate, *Between<std::int64_t>(0, 1024));
      if (true_cost > estimate) ++tally.above;
      history.Settle(now, place, true_cost);
      const AnyOracle truth = history.Truth();
      const Decision want = truth.Look(now, 0);
      const Decision got = history.Look(now);
      ++tally.settled;
      if (got == want) ++tally.exact;
      RC_ASSERT(got.remaining <= want.remaining);
      RC_ASSERT(got.reset_after >= want.reset_after);
    }
    last = history.Look(now);
  }
}

TEST(SettlementLawTest, L20NeverMoreTokensThanTheTrueCostsLeave) {
  SettlementTally tally;
  CheckLaw(1'000, [&tally] { PlayHistory(tally); });
  EXPECT_GE(tally.settled, InWholeRuns(5'000));
  EXPECT_GE(tally.exact, InWholeRuns(tally.settled * 3 / 4));
  // About one in a hundred is not exact.
  EXPECT_GE(tally.settled - tally.exact, InWholeRuns(1));
  EXPECT_GE(tally.above, InWholeRuns(tally.settled / 50));
  EXPECT_GE(tally.denied, InWholeRuns(tally.settled / 20));
}

TEST(SettlementLawTest, L20ExactIfNothingElseHappens) {
  CheckLaw(20'000, [] {
    SettledHistory history(*AnySettledLimit(), *AnyMaxWait());
    const Limit& limit = history.limit();
    const Instant now = limit.shape().has_calendar()
                            ? *AnyCalendarInstant(limit.shape().calendar, FullWithin(limit))
                            : *AnyInstant(FullWithin(limit));
    const std::uint64_t estimate = *AnyCost(limit);
    if (estimate == 0 || !history.Take(now, estimate, true)) return;
    const std::int64_t part = *Between<std::int64_t>(0, 1024);
    const Instant then = now + Nanos{PartOf(FullWithin(limit).count(), part)};
    history.Settle(then, 0, *Between<std::uint64_t>(0, estimate));
    RC_ASSERT(history.Look(then) == history.Truth().Look(then, 0));
  });
}

// --- Each part of the rule is needed ---

// Random buckets with bursts of 2 to 20, and settlements of estimates that were too high: in how
// many states a way to give tokens back leaves more of them than the true costs.
class Generosity {
 public:
  explicit Generosity(bool charges) : charges_(charges) {}

  void Play(std::int64_t states) {
    while (rule_.states < states) PlayBucket();
  }

  struct Way {
    std::int64_t states = 0;
    std::int64_t too_generous = 0;
    std::int64_t exact = 0;
    std::int64_t most = 0;  // tokens too many
  };
  [[nodiscard]] const Way& plain() const { return plain_; }
  [[nodiscard]] const Way& without_given_back() const { return without_given_back_; }
  [[nodiscard]] const Way& without_cut_off() const { return without_cut_off_; }
  [[nodiscard]] const Way& rule() const { return rule_; }

 private:
  static constexpr std::int64_t kInterval = 1000;  // ns for a token

  std::int64_t Random(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  void PlayBucket() {
    const std::int64_t burst = Random(2, 20);
    SettledHistory history(TokenBucketOf(1, Nanos{kInterval}, burst), Nanos{0});
    Instant now = FakeClock::kStart;
    for (int step = 0; step < 40; ++step) {
      if (Random(0, 9) < 3) now += Nanos{Random(0, burst * kInterval)};
      const auto cost = static_cast<std::uint64_t>(Random(1, burst));
      const std::int64_t what = Random(0, 9);
      if (what < 3) {
        static_cast<void>(history.Take(now, cost, true));
      } else if (what < 4) {
        static_cast<void>(history.Take(now, cost, false));
      } else if (what < 5 && charges_) {
        history.Charge(now, cost);
      } else if (!history.open().empty()) {
        const auto open = static_cast<std::int64_t>(history.open().size());
        Settle(history, now, static_cast<std::size_t>(Random(0, open - 1)));
      }
    }
  }

  void Settle(SettledHistory& history, Instant now, std::size_t place) {
    const auto estimate = static_cast<std::int64_t>(history.open()[place].estimate.cost);
    const auto cost = static_cast<std::uint64_t>(Random(0, estimate));
    const Estimate hold = history.Remove(place, now, cost).estimate;
    const Decision truth = history.Truth().Look(now, 0);
    const Limit& limit = history.limit();
    const Bucket before = history.bucket();
    Count(limit, RefundLimit(limit, before, now, hold.cost - cost, Nanos{0}), now, truth, plain_);
    const auto settle_by = [&](SettlementSums sums) {
      return SettleLimit(limit, before, now, hold, cost, Nanos{0}, sums);
    };
    const SettlementSums sums = history.sums();
    Count(limit, settle_by({hold.sums.given_back, sums.cut_off}), now, truth, without_given_back_);
    Count(limit, settle_by({sums.given_back, hold.sums.cut_off}), now, truth, without_cut_off_);
    history.set_bucket(SettleLimit(limit, before, now, hold, cost, Nanos{0}, history.sums()));
    Count(limit, history.bucket(), now, truth, rule_);
  }

  static void Count(const Limit& limit, Bucket bucket, Instant now, const Decision& truth,
                    Way& way) {
    const Decision got = DecideLimit(limit, bucket, now, 0, Nanos{0}).decision;
    ++way.states;
    if (got == truth) ++way.exact;
    const Nanos excess = truth.reset_after - got.reset_after;
    if (excess > Nanos{0}) ++way.too_generous;
    way.most = std::max(way.most, excess.count() / kInterval);
  }

  const bool charges_;
  std::mt19937_64 random_{21};
  Way plain_;
  Way without_given_back_;
  Way without_cut_off_;
  Way rule_;
};

TEST(SettlementLawTest, PlainRefundIsTooGenerousAndTheRuleIsNot) {
  Generosity simulation(false);
  simulation.Play(Scaled(168'000));
  const std::int64_t states = simulation.rule().states;
  EXPECT_GT(simulation.plain().too_generous, states / 25);
  EXPECT_GT(simulation.plain().most, 10);
  EXPECT_GT(simulation.without_given_back().too_generous, states / 10'000);
  EXPECT_EQ(simulation.rule().too_generous, 0);
  EXPECT_GT(simulation.rule().exact, states * 9 / 10);
}

TEST(SettlementLawTest, ChargesThatWereCutOffAreNotGivenBack) {
  Generosity simulation(true);
  simulation.Play(Scaled(60'000));
  EXPECT_GT(simulation.without_cut_off().too_generous, simulation.rule().states / 1'000);
  EXPECT_EQ(simulation.rule().too_generous, 0);
}

}  // namespace
}  // namespace weir
