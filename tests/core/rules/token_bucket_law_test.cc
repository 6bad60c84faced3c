// The laws of the token bucket, each checked with random limits, instants, buckets and costs. The
// numbers are those of the list of laws in ARCHITECTURE.md.
#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

#include "core/rules/token_bucket.h"
#include "tests/random/generators.h"
#include "tests/random/histories.h"

namespace weir {
namespace {

constexpr std::int64_t kBucketCases = 20'000;
constexpr std::int64_t kBucketHistories = 1'000;

__extension__ using Int128 = __int128;

// The tokens that a span of time is worth: floor(span * count / period).
Int128 TokensOf(const Limit& limit, Nanos span) {
  return Int128{span.count()} * limit.shape().count / limit.shape().period.count();
}

// A random situation, drawn inside a law, with room after `now` for every wait.
struct Situation {
  Limit limit = *AnyLimit();
  Nanos max_wait = *AnyMaxWait();
  Instant now = *AnyInstant(Nanos{limit.emission().capacity.whole + 2} + max_wait);
  Bucket bucket = *AnyBucket(limit, now, max_wait);

  [[nodiscard]] std::uint64_t burst() const {
    return static_cast<std::uint64_t>(limit.shape().burst);
  }
  [[nodiscard]] Step Decide(Bucket from, Instant at, std::uint64_t cost) const {
    return DecideTokenBucket(limit, from, at, cost, max_wait);
  }
  [[nodiscard]] Step DecideKeeping(std::uint64_t cost, std::uint64_t keep) const {
    return DecideTokenBucket(limit, bucket, now, cost, max_wait, Nanos{0}, keep);
  }
  [[nodiscard]] bool Passes(Bucket from, Instant at, std::uint64_t cost) const {
    return Decide(from, at, cost).decision.allowed;
  }
  [[nodiscard]] ExactNanos Tat(Bucket of) const { return TatOf(of, limit.emission().denominator); }
};

// A bucket with a history, which starts full.
class Life {
 public:
  Life() : limit_(*AnyLimit()), now_(*AnyInstant()) { last_.remaining = limit_.shape().burst; }

  const Decision& Make(const Move& move) {
    now_ = NextInstant(move, limit_, last_, now_);
    cost_ = CostOf(move, limit_, last_);
    const Step step = DecideTokenBucket(limit_, bucket_, now_, cost_, Nanos{0});
    bucket_ = step.bucket;
    return last_ = step.decision;
  }

  [[nodiscard]] const Limit& limit() const { return limit_; }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::uint64_t cost() const { return cost_; }
  [[nodiscard]] Bucket bucket() const { return bucket_; }
  [[nodiscard]] ExactNanos tat() const { return TatOf(bucket_, limit_.emission().denominator); }

 private:
  const Limit limit_;
  Instant now_;
  std::uint64_t cost_ = 0;
  Bucket bucket_;
  Decision last_;
};

TEST(TokenBucketLawTest, L1NoWindowHoldsMoreThanBurstAndRate) {
  CheckLaw(kBucketHistories, [] {
    Life life;
    std::vector<std::pair<Instant, Int128>> taken;  // with the sum of all costs up to and with it
    Int128 total = 0;
    for (const Move& move : *AnyHistory()) {
      if (!life.Make(move).allowed || life.cost() == 0) continue;
      const Int128 before = total;
      total += static_cast<Int128>(life.cost());
      taken.emplace_back(life.now(), before);
      for (const auto& [since, sum] : taken) {
        const Int128 most = life.limit().shape().burst + TokensOf(life.limit(), life.now() - since);
        if (total - sum > most) RC_FAIL("too much passed");
      }
    }
  });
}

// A greedy client takes all that remains, again and again. It never waits until the bucket is full,
// which would waste time.
TEST(TokenBucketLawTest, L1GreedGetsExactlyBurstAndRate) {
  CheckLaw(kBucketHistories, [] {
    const Limit limit = *AnyLimit();
    const Instant start = *AnyInstant();
    Bucket bucket;
    Int128 total = 0;
    Instant now = start;
    for (const Move& move : *AnyHistory()) {
      const Decision look = DecideTokenBucket(limit, bucket, now, 0, Nanos{0}).decision;
      const auto all = static_cast<std::uint64_t>(look.remaining);
      const Step step = DecideTokenBucket(limit, bucket, now, all, Nanos{0});
      bucket = step.bucket;
      total += look.remaining;
      RC_ASSERT(step.decision.allowed);
      RC_ASSERT(total == limit.shape().burst + TokensOf(limit, now - start));
      const Nanos wait = std::min(Nanos{PartOf(limit.emission().capacity.whole, move.part)},
                                  step.decision.reset_after - Nanos{1});
      now += std::clamp(wait, Nanos{0}, kInstantMax - now);
    }
  });
}

TEST(TokenBucketLawTest, L2AtOneInstantExactlyTheBurstPasses) {
  CheckLaw(kBucketHistories, [] {
    const Limit limit = *AnyLimit();
    const Instant now = *AnyInstant();
    // A large burst is taken in one go, except for the last few hundred tokens.
    const std::int64_t singles = std::min<std::int64_t>(limit.shape().burst, 300);
    const auto first = static_cast<std::uint64_t>(limit.shape().burst - singles);
    Bucket bucket = DecideTokenBucket(limit, Bucket{}, now, first, Nanos{0}).bucket;
    for (std::int64_t left = singles - 1; left >= 0; --left) {
      const Step step = DecideTokenBucket(limit, bucket, now, 1, Nanos{0});
      RC_ASSERT(step.decision.allowed);
      RC_ASSERT(step.decision.remaining == left);
      bucket = step.bucket;
    }
    RC_ASSERT_FALSE(DecideTokenBucket(limit, bucket, now, 1, Nanos{0}).decision.allowed);
  });
}

TEST(TokenBucketLawTest, L3DenialChangesNothing) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const Step step = a.Decide(a.bucket, a.now, *AnyCost(a.limit));
    if (step.decision.allowed) return;
    RC_ASSERT(step.bucket == a.bucket);
    const Decision look = a.Decide(a.bucket, a.now, 0).decision;
    RC_ASSERT(step.decision.remaining == look.remaining);
    RC_ASSERT(step.decision.reset_after == look.reset_after);
  });
}

TEST(TokenBucketLawTest, L4AdmissionChargesExactlyTheCost) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Step step = a.Decide(a.bucket, a.now, cost);
    if (!step.decision.allowed || cost == 0) return;
    // In units of 1 / denominator ns: TAT' = max(TAT, now) + cost * period.
    const Int128 n = a.limit.emission().denominator;
    const auto parts = [n](ExactNanos time) { return time.whole * n + time.numerator; };
    const Int128 base =
        std::max(parts(a.Tat(a.bucket)), parts({a.now.time_since_epoch().count(), 0}));
    RC_ASSERT(parts(a.Tat(step.bucket)) ==
              base + static_cast<Int128>(cost) * a.limit.emission().period);
  });
}

TEST(TokenBucketLawTest, L5RetryAfterIsTight) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Step step = a.Decide(a.bucket, a.now, cost);
    if (step.decision.allowed || step.decision.retry_after == kNever) return;
    RC_ASSERT(step.decision.retry_after > Nanos{0});
    const Instant then = a.now + step.decision.retry_after;
    RC_ASSERT(a.Passes(step.bucket, then, cost));
    RC_ASSERT_FALSE(a.Passes(step.bucket, then - Nanos{1}, cost));
  });
}

TEST(TokenBucketLawTest, L6MoreThanTheBurstNeverPasses) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const std::uint64_t excess =
        *rc::gen::element<std::uint64_t>(1, 2, INT64_MAX, UINT64_MAX - a.burst());
    const Step step = a.Decide(a.bucket, a.now, a.burst() + excess);
    RC_ASSERT_FALSE(step.decision.allowed);
    RC_ASSERT(step.decision.retry_after == kNever);
  });
}

TEST(TokenBucketLawTest, L6AtMostTheBurstPassesAtSomeTime) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const Decision decision = a.Decide(a.bucket, a.now, a.burst()).decision;
    RC_ASSERT(decision.retry_after < kNever);
    RC_ASSERT(decision.allowed == (decision.retry_after == Nanos{0}));
  });
}

TEST(TokenBucketLawTest, L7RemainingIsTight) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const Step step = a.Decide(a.bucket, a.now, *AnyCost(a.limit));
    RC_ASSERT(step.decision.remaining >= 0);
    RC_ASSERT(step.decision.remaining <= a.limit.shape().burst);
    const auto remaining = static_cast<std::uint64_t>(step.decision.remaining);
    RC_ASSERT(a.Passes(step.bucket, a.now, remaining));
    RC_ASSERT_FALSE(a.Passes(step.bucket, a.now, remaining + 1));
  });
}

TEST(TokenBucketLawTest, L8ResetAfterIsTight) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const Step step = a.Decide(a.bucket, a.now, *AnyCost(a.limit));
    RC_ASSERT(step.decision.reset_after >= Nanos{0});
    const Instant full = a.now + step.decision.reset_after;
    RC_ASSERT(IsTokenBucketFull(step.bucket, full));
    RC_ASSERT(a.Decide(step.bucket, full, 0).decision.remaining == a.limit.shape().burst);
    if (step.decision.reset_after > Nanos{0})
      RC_ASSERT_FALSE(IsTokenBucketFull(step.bucket, full - Nanos{1}));
  });
}

TEST(TokenBucketLawTest, L9FullBucketIsAsGoodAsNone) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    if (!IsTokenBucketFull(a.bucket, a.now)) return;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Instant later = a.now + Nanos{*NumberUpTo((kInstantMax - a.now).count() + 1) - 1};
    const Step kept = a.Decide(a.bucket, later, cost);
    const Step dropped = a.Decide(Bucket{}, later, cost);
    RC_ASSERT(kept.decision == dropped.decision);
    if (kept.decision.allowed && cost > 0) RC_ASSERT(kept.bucket == dropped.bucket);
  });
}

TEST(TokenBucketLawTest, L10StoredTimeOnlyGrows) {
  CheckLaw(kBucketHistories, [] {
    Life life;
    ExactNanos before = life.tat();
    for (const Move& move : *AnyHistory()) {
      const bool charged = life.Make(move).allowed && life.cost() > 0;
      if (charged ? life.tat() <= before : life.tat() != before)
        RC_FAIL("the stored time did not grow");
      before = life.tat();
    }
  });
}

TEST(TokenBucketLawTest, L11ReplayOfAnyEarlierValueByMaxChangesNothing) {
  CheckLaw(kBucketHistories, [] {
    Life life;
    std::vector<ExactNanos> values;
    for (const Move& move : *AnyHistory()) {
      life.Make(move);
      values.push_back(life.tat());
      const ExactNanos any = values[static_cast<std::size_t>(move.part) % values.size()];
      if (BucketOfTat(std::max(any, life.tat())) != life.bucket()) RC_FAIL("an earlier value won");
    }
  });
}

TEST(TokenBucketLawTest, L12WhatPassesNowPassesLater) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const std::uint64_t cost = *AnyCost(a.limit);
    if (!a.Passes(a.bucket, a.now, cost)) return;
    const Instant later = a.now + Nanos{*NumberUpTo((kInstantMax - a.now).count() + 1) - 1};
    RC_ASSERT(a.Passes(a.bucket, later, cost));
  });
}

TEST(TokenBucketLawTest, L13WhatIsDeniedIsDeniedForMore) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const std::uint64_t one = *AnyCost(a.limit);
    const std::uint64_t other = *AnyCost(a.limit);
    const Decision less = a.Decide(a.bucket, a.now, std::min(one, other)).decision;
    const Decision more = a.Decide(a.bucket, a.now, std::max(one, other)).decision;
    RC_ASSERT(less.allowed || !more.allowed);
    RC_ASSERT(less.retry_after <= more.retry_after);
  });
}

TEST(TokenBucketLawTest, L14CostsMaySplit) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Step whole = a.Decide(a.bucket, a.now, cost);
    if (!whole.decision.allowed || cost == 0) return;
    const auto part = static_cast<std::uint64_t>(*NumberUpTo(static_cast<std::int64_t>(cost)));
    const Step first = a.Decide(a.bucket, a.now, part);
    RC_ASSERT(first.decision.allowed);
    if (part == cost) return;
    const Step second = a.Decide(first.bucket, a.now, cost - part);
    RC_ASSERT(second.decision == whole.decision);
    RC_ASSERT(second.bucket == whole.bucket);
  });
}

TEST(TokenBucketLawTest, L14CostsMaySplitIntoSingleTokens) {
  CheckLaw(kBucketHistories, [] {
    const Situation a;
    const auto remaining =
        static_cast<std::uint64_t>(a.Decide(a.bucket, a.now, 0).decision.remaining);
    const std::uint64_t cost = std::min<std::uint64_t>(remaining, 200);
    if (cost == 0) return;
    Step single{{}, a.bucket};
    for (std::uint64_t i = 0; i < cost; ++i) single = a.Decide(single.bucket, a.now, 1);
    const Step whole = a.Decide(a.bucket, a.now, cost);
    RC_ASSERT(single.decision == whole.decision);
    RC_ASSERT(single.bucket == whole.bucket);
  });
}

TEST(TokenBucketLawTest, L15WaitingTheToldMillisecondsIsEnough) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Step step = a.Decide(a.bucket, a.now, cost);
    if (step.decision.allowed || step.decision.retry_after == kNever) return;
    const std::chrono::milliseconds told{CeilMillis(step.decision.retry_after)};
    RC_ASSERT(told - step.decision.retry_after < std::chrono::milliseconds{1});
    const Instant then = a.now + told;
    if (then <= kInstantMax) RC_ASSERT(a.Passes(step.bucket, then, cost));
  });
}

// A request that must leave tokens passes if it would pass with them, and is charged without them.
TEST(TokenBucketLawTest, TokensThatAreKeptAreThereButNotTaken) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const std::uint64_t keep = *AnyCost(a.limit);
    const Step kept = a.DecideKeeping(cost, keep);
    const Step both = a.Decide(a.bucket, a.now, cost + std::min(keep, UINT64_MAX - cost));
    const Step alone = a.Decide(a.bucket, a.now, cost);
    RC_ASSERT(kept.decision == (both.decision.allowed ? alone : both).decision);
    RC_ASSERT(kept.bucket == (both.decision.allowed ? alone.bucket : a.bucket));
  });
}

TEST(TokenBucketLawTest, L19AChargeMovesTheBucketByItsCostUpToTheLongestDebt) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Nanos wait = *AnyMaxWait();
    const Nanos debt_max = std::max({a.limit.capacity(), wait, a.max_wait});
    const Bucket charged = ChargeTokenBucket(a.limit, a.bucket, a.now, cost, debt_max, wait);
    if (cost == 0) RC_ASSERT(charged == a.bucket);
    // In units of 1 / denominator ns.
    const Int128 n = a.limit.emission().denominator;
    const auto parts = [n](ExactNanos time) { return time.whole * n + time.numerator; };
    const Int128 now = parts({a.now.time_since_epoch().count(), 0});
    const Int128 capacity = parts(a.limit.emission().capacity);
    const Int128 last = now + capacity + std::max(capacity, wait.count() * n);
    const Int128 before = parts(a.Tat(a.bucket));
    const Int128 moved =
        std::max(before, now) + static_cast<Int128>(cost) * a.limit.emission().period;
    const Int128 after = parts(a.Tat(charged));
    RC_ASSERT(after == (cost == 0 ? before : std::max(before, std::min(moved, last))));
  });
}

TEST(TokenBucketLawTest, L19AChargeWithinTheLimitIsAnAdmission) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Step step = a.Decide(a.bucket, a.now, cost);
    if (!step.decision.allowed) return;
    const Nanos debt_max = std::max(a.limit.capacity(), a.max_wait);
    RC_ASSERT(ChargeTokenBucket(a.limit, a.bucket, a.now, cost, debt_max, a.max_wait) ==
              step.bucket);
  });
}

// What is charged at once is what is charged in parts, debts included.
TEST(TokenBucketLawTest, L19ChargesMaySplit) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const Nanos debt_max = std::max(a.limit.capacity(), a.max_wait);
    const auto charged = [&](Bucket from, std::uint64_t cost) {
      return ChargeTokenBucket(a.limit, from, a.now, cost, debt_max, a.max_wait);
    };
    const auto one = static_cast<std::uint64_t>(*NumberUpTo(a.limit.shape().burst));
    const auto other = static_cast<std::uint64_t>(*NumberUpTo(a.limit.shape().burst));
    RC_ASSERT(charged(charged(a.bucket, one), other) == charged(a.bucket, one + other));
  });
}

// A clock that steps back and forth by no more than the longest wait creates no token: any history
// admits at most the burst and the tokens of the whole span of its instants.
TEST(TokenBucketLawTest, TimeThatGoesBackMakesNoToken) {
  CheckLaw(kBucketHistories, [] {
    const Limit limit = *AnyLimit();
    const Nanos max_wait = *AnyMaxWait();
    const Instant start = *AnyInstant(max_wait);
    Bucket bucket;
    Int128 total = 0;
    for (const Move& move : *AnyHistory()) {
      const Instant now = start + Nanos{PartOf(max_wait.count(), move.part)};
      const auto remaining = DecideTokenBucket(limit, bucket, now, 0, max_wait).decision;
      const std::uint64_t cost = CostOf(move, limit, remaining);
      const Step step = DecideTokenBucket(limit, bucket, now, cost, max_wait);
      bucket = step.bucket;
      if (step.decision.allowed) total += static_cast<Int128>(cost);
    }
    RC_ASSERT(total <= limit.shape().burst + TokensOf(limit, max_wait));
  });
}

// For any twelve bytes and any instant, the numbers of the answer stay in range: a foreign time
// delays, and never locks out.
TEST(TokenBucketLawTest, EveryBucketIsDecided) {
  CheckLaw(kBucketCases, [] {
    const Limit limit = *AnyLimit();
    const Instant now = *AnyInstant();
    const Nanos max_wait = *AnyMaxWait();
    const Bucket bucket = *ForeignBucket();
    const Step step = DecideTokenBucket(limit, bucket, now, *AnyCost(limit), max_wait);
    const Nanos longest = Nanos{Ceil(limit.emission().capacity)} + max_wait;
    RC_ASSERT(step.decision.remaining >= 0);
    RC_ASSERT(step.decision.remaining <= limit.shape().burst);
    RC_ASSERT(step.decision.reset_after >= Nanos{0});
    RC_ASSERT(step.decision.reset_after <= longest);
    RC_ASSERT(step.decision.retry_after >= Nanos{0});
    RC_ASSERT(step.decision.retry_after == kNever || step.decision.retry_after <= longest);
  });
}

TEST(TokenBucketLawTest, SpareBitMeansNothing) {
  CheckLaw(kBucketCases, [] {
    const Situation a;
    const std::uint64_t cost = *AnyCost(a.limit);
    Bucket with_bit = a.bucket;
    with_bit.high |= kBucketSpareBit;
    RC_ASSERT(a.Decide(with_bit, a.now, cost).decision == a.Decide(a.bucket, a.now, cost).decision);
    RC_ASSERT(IsTokenBucketFull(with_bit, a.now) == IsTokenBucketFull(a.bucket, a.now));
  });
}

}  // namespace
}  // namespace weir
