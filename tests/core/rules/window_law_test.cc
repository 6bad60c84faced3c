// The laws of the windows, each checked with random limits, instants, buckets and costs of all
// kinds. The numbers are those of the list of laws in ARCHITECTURE.md. RC_PRE skips cases in which
// a law says nothing.
#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

#include "gtest/gtest.h"

#include "core/rules/rule.h"
#include "tests/core/rules/window_life.h"
#include "tests/random/histories.h"
#include "tests/random/windows.h"

namespace weir {
namespace {

constexpr std::int64_t kWindowCases = 10'000;
constexpr std::int64_t kWindowHistories = 2'000;

// A fixed window of a great count lasts up to that much longer.
constexpr Nanos kWholeEnd = std::chrono::milliseconds{1} - Nanos{1};

__extension__ using Int128 = __int128;

// A random situation, drawn inside a law.
template <typename Windows>
struct WindowSituation {
  Limit limit = *Windows::AnyLimit();
  Instant now = *AnyWindowInstant(limit);
  Bucket bucket = *Windows::AnyBucket(limit, now);

  [[nodiscard]] std::uint64_t count() const {
    return static_cast<std::uint64_t>(limit.shape().count);
  }
  [[nodiscard]] Step Decide(Bucket from, Instant at, std::uint64_t cost) const {
    return Windows::Decide(limit, from, at, cost);
  }
  [[nodiscard]] Decision Look(Bucket from, Instant at) const {
    return Decide(from, at, 0).decision;
  }
  [[nodiscard]] bool Passes(Bucket from, Instant at, std::uint64_t cost) const {
    return Decide(from, at, cost).decision.allowed;
  }
  [[nodiscard]] bool IsFull(Bucket of, Instant at) const { return Windows::IsFull(limit, of, at); }
  [[nodiscard]] Bucket Refund(Bucket to, std::uint64_t cost) const {
    return Windows::Refund(limit, to, now, cost);
  }
};

// True if the windows of all keys begin at the same instants.
bool IsAligned(const Limit& limit) { return limit.shape().aligned || limit.shape().has_calendar(); }

template <typename Windows>
class WindowLawTest : public testing::Test {};

TYPED_TEST_SUITE(WindowLawTest, EveryWindows, WindowsName);

TYPED_TEST(WindowLawTest, L1NoPeriodHoldsTwiceTheCount) {
  CheckLaw(kWindowHistories, [] {
    WindowLife<TypeParam> life;
    const std::int64_t most = 2 * life.count() - (IsAligned(life.limit()) ? 0 : 1);
    const Nanos shortest = ShortestPeriod(life.limit());
    std::vector<std::pair<Instant, std::int64_t>> taken;
    for (const Move& move : *AnyHistory()) {
      taken.emplace_back(life.now(), 0);
      taken.back().second = life.Make(move);
      taken.back().first = life.now();
      std::int64_t in_period = 0;
      for (const auto& [at, tokens] : taken) {
        if (life.now() - at < shortest) in_period += tokens;
      }
      if (in_period > most) RC_FAIL("too much passed");
    }
  });
}

TYPED_TEST(WindowLawTest, L2AtOneInstantExactlyTheCountPasses) {
  CheckLaw(kWindowHistories, [] {
    const WindowSituation<TypeParam> a;
    // A large count is taken in one go, except for the last few tokens.
    const std::uint64_t singles = std::min<std::uint64_t>(a.count(), 100);
    Bucket bucket = a.Decide(Bucket{}, a.now, a.count() - singles).bucket;
    for (std::uint64_t left = singles; left-- > 0;) {
      const Step step = a.Decide(bucket, a.now, 1);
      RC_ASSERT(step.decision.allowed);
      RC_ASSERT(step.decision.remaining == static_cast<std::int64_t>(left));
      bucket = step.bucket;
    }
    RC_ASSERT_FALSE(a.Passes(bucket, a.now, 1));
  });
}

TYPED_TEST(WindowLawTest, L3DenialChangesNothing) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const Step step = a.Decide(a.bucket, a.now, *AnyCost(a.limit));
    RC_PRE(!step.decision.allowed);
    RC_ASSERT(step.bucket == a.bucket);
    const Decision look = a.Look(a.bucket, a.now);
    RC_ASSERT(step.decision.remaining == look.remaining);
    RC_ASSERT(step.decision.reset_after == look.reset_after);
  });
}

TYPED_TEST(WindowLawTest, L4AdmissionTakesExactlyTheCost) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Step step = a.Decide(a.bucket, a.now, cost);
    RC_PRE(step.decision.allowed);
    const std::int64_t before = a.Look(a.bucket, a.now).remaining;
    RC_ASSERT(step.decision.remaining == before - static_cast<std::int64_t>(cost));
    RC_ASSERT(a.Look(step.bucket, a.now).remaining == step.decision.remaining);
  });
}

TYPED_TEST(WindowLawTest, L5RetryAfterIsTight) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Step step = a.Decide(a.bucket, a.now, cost);
    RC_PRE(!step.decision.allowed && step.decision.retry_after != kNever);
    RC_ASSERT(step.decision.retry_after > Nanos{0});
    const Instant then = a.now + step.decision.retry_after;
    RC_ASSERT(a.Passes(step.bucket, then, cost));
    RC_ASSERT_FALSE(a.Passes(step.bucket, then - Nanos{1}, cost));
  });
}

TYPED_TEST(WindowLawTest, L6MoreThanTheCountNeverPassesAndTheCountDoes) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t excess =
        *rc::gen::element<std::uint64_t>(1, 2, INT64_MAX, UINT64_MAX - a.count());
    const Step step = a.Decide(a.bucket, a.now, a.count() + excess);
    RC_ASSERT_FALSE(step.decision.allowed);
    RC_ASSERT(step.decision.retry_after == kNever);
    const Decision all = a.Decide(a.bucket, a.now, a.count()).decision;
    RC_ASSERT(all.retry_after < kNever);
    RC_ASSERT(all.allowed == (all.retry_after == Nanos{0}));
  });
}

TYPED_TEST(WindowLawTest, L7RemainingIsTight) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const Step step = a.Decide(a.bucket, a.now, *AnyCost(a.limit));
    RC_ASSERT(step.decision.remaining >= 0);
    RC_ASSERT(step.decision.remaining <= a.limit.shape().count);
    const auto remaining = static_cast<std::uint64_t>(step.decision.remaining);
    RC_ASSERT(a.Passes(step.bucket, a.now, remaining));
    RC_ASSERT_FALSE(a.Passes(step.bucket, a.now, remaining + 1));
  });
}

TYPED_TEST(WindowLawTest, L8ResetAfterIsTight) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const Step step = a.Decide(a.bucket, a.now, *AnyCost(a.limit));
    RC_PRE(step.decision.reset_after > Nanos{0});
    const Instant full = a.now + step.decision.reset_after;
    RC_ASSERT(a.IsFull(step.bucket, full));
    RC_ASSERT(a.Look(step.bucket, full).remaining == a.limit.shape().count);
    RC_ASSERT_FALSE(a.IsFull(step.bucket, full - Nanos{1}));
    RC_ASSERT(a.Look(step.bucket, full - Nanos{1}).remaining < a.limit.shape().count);
  });
}

TYPED_TEST(WindowLawTest, L8FullBucketResetsAtOnce) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    RC_PRE(a.IsFull(a.bucket, a.now));
    const Decision look = a.Look(a.bucket, a.now);
    RC_ASSERT(look.reset_after == Nanos{0});
    RC_ASSERT(look.remaining == a.limit.shape().count);
  });
}

TYPED_TEST(WindowLawTest, L9FullBucketIsAsGoodAsNone) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    RC_PRE(a.IsFull(a.bucket, a.now));
    const std::uint64_t cost = *AnyCost(a.limit);
    // A number repeats after 2^31 windows; a sweeper has visited the bucket long before.
    const Nanos period = LongestPeriod(a.limit);
    const std::int64_t windows = std::min((kInstantMax - a.now) / period, std::int64_t{1} << 30);
    const Instant later = a.now + Nanos{*NumberUpTo(windows * period.count() + 1) - 1};
    const Step kept = a.Decide(a.bucket, later, cost);
    const Step dropped = a.Decide(Bucket{}, later, cost);
    RC_ASSERT(kept.decision == dropped.decision);
    if (kept.decision.allowed && cost > 0) RC_ASSERT(kept.bucket == dropped.bucket);
  });
}

// Read backwards, the law covers time that goes back: the earlier instant admits no more, since the
// bucket may be the result of a decision up to a period later.
TYPED_TEST(WindowLawTest, L12WhatPassesNowPassesLater) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t cost = *AnyCost(a.limit);
    RC_PRE(a.Passes(a.bucket, a.now, cost));
    const Nanos some = *rc::gen::element(LongestPeriod(a.limit), LongestWait(a.limit));
    const Instant later = a.now + std::min(kInstantMax - a.now, Nanos{*NumberUpTo(some.count())});
    RC_ASSERT(a.Passes(a.bucket, later, cost));
  });
}

TYPED_TEST(WindowLawTest, L13WhatIsDeniedIsDeniedForMore) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t one = *AnyCost(a.limit);
    const std::uint64_t other = *AnyCost(a.limit);
    RC_PRE(one != other);
    const Decision less = a.Decide(a.bucket, a.now, std::min(one, other)).decision;
    const Decision more = a.Decide(a.bucket, a.now, std::max(one, other)).decision;
    RC_ASSERT(less.allowed || !more.allowed);
    RC_ASSERT(less.retry_after <= more.retry_after);
  });
}

TYPED_TEST(WindowLawTest, L14CostsMaySplit) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Step whole = a.Decide(a.bucket, a.now, cost);
    RC_PRE(whole.decision.allowed && cost > 1);
    const auto part = static_cast<std::uint64_t>(*NumberUpTo(static_cast<std::int64_t>(cost - 1)));
    const Step first = a.Decide(a.bucket, a.now, part);
    RC_ASSERT(first.decision.allowed);
    const Step second = a.Decide(first.bucket, a.now, cost - part);
    RC_ASSERT(second.decision == whole.decision);
    RC_ASSERT(second.bucket == whole.bucket);
  });
}

TYPED_TEST(WindowLawTest, CostOfZeroIsALook) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const Bucket bucket = *rc::gen::oneOf(rc::gen::just(a.bucket), ForeignBucket());
    const Step step = a.Decide(bucket, a.now, 0);
    RC_ASSERT(step.decision.allowed);
    RC_ASSERT(step.decision.retry_after == Nanos{0});
    RC_ASSERT(step.bucket == bucket);
  });
}

// A request that must leave tokens passes if it would pass with them, and is charged without them.
TYPED_TEST(WindowLawTest, TokensThatAreKeptAreThereButNotTaken) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const std::uint64_t keep = *AnyCost(a.limit);
    const Step kept = TypeParam::Decide(a.limit, a.bucket, a.now, cost, keep);
    const Step both = a.Decide(a.bucket, a.now, cost + std::min(keep, UINT64_MAX - cost));
    const Step alone = a.Decide(a.bucket, a.now, cost);
    RC_ASSERT(kept.decision == (both.decision.allowed ? alone : both).decision);
    RC_ASSERT(kept.bucket == (both.decision.allowed ? alone.bucket : a.bucket));
  });
}

// --- Charges ------------------------------------------------------------------------------------

TYPED_TEST(WindowLawTest, L19AChargeLeavesAtMostTheCountBeyondUsedUp) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Int128 before = TypeParam::Used(a.limit, a.bucket, a.now);
    const Bucket charged = TypeParam::Charge(a.limit, a.bucket, a.now, cost);
    const Int128 room = std::max<Int128>(0, 2 * Int128{a.limit.shape().count} - before);
    const Int128 after = TypeParam::Used(a.limit, charged, a.now);
    RC_ASSERT(after <= before + std::min(static_cast<Int128>(cost), room));
    const bool is_whole = TypeParam::Charge(a.limit, charged, a.now, 1) == charged;
    if (!is_whole) RC_ASSERT(after == before + static_cast<Int128>(cost));
  });
}

TYPED_TEST(WindowLawTest, L19AChargeWithinTheLimitIsAnAdmission) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Step step = a.Decide(a.bucket, a.now, cost);
    RC_PRE(step.decision.allowed);
    RC_ASSERT(TypeParam::Charge(a.limit, a.bucket, a.now, cost) == step.bucket);
  });
}

TYPED_TEST(WindowLawTest, L19ChargesMaySplit) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const auto one = static_cast<std::uint64_t>(*NumberUpTo(2 * a.limit.shape().count));
    const auto other = static_cast<std::uint64_t>(*NumberUpTo(2 * a.limit.shape().count));
    const Bucket first = TypeParam::Charge(a.limit, a.bucket, a.now, one);
    RC_ASSERT(TypeParam::Charge(a.limit, first, a.now, other) ==
              TypeParam::Charge(a.limit, a.bucket, a.now, one + other));
  });
}

// --- Refunds ------------------------------------------------------------------------------------

TYPED_TEST(WindowLawTest, RefundUndoesAnAdmission) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Step step = a.Decide(a.bucket, a.now, cost);
    RC_PRE(step.decision.allowed && cost > 0);
    RC_ASSERT(a.Look(a.Refund(step.bucket, cost), a.now) == a.Look(a.bucket, a.now));
  });
}

TYPED_TEST(WindowLawTest, RefundGivesAtMostTheCostAndNeverPastFull) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t cost = *AnyCost(a.limit);
    const Decision before = a.Look(a.bucket, a.now);
    const Decision after = a.Look(a.Refund(a.bucket, cost), a.now);
    RC_PRE(after != before);
    RC_ASSERT(after.remaining >= before.remaining);
    RC_ASSERT(after.remaining <= a.limit.shape().count);
    RC_ASSERT(static_cast<std::uint64_t>(after.remaining - before.remaining) <= cost);
    RC_ASSERT(after.reset_after <= before.reset_after);
  });
}

TYPED_TEST(WindowLawTest, RefundsMaySplit) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const auto one = static_cast<std::uint64_t>(*NumberUpTo(a.limit.shape().count));
    const auto other = static_cast<std::uint64_t>(*NumberUpTo(a.limit.shape().count));
    RC_ASSERT(a.Refund(a.Refund(a.bucket, one), other) == a.Refund(a.bucket, one + other));
  });
}

TYPED_TEST(WindowLawTest, RefundOfNothingAndToAFullBucketChangesNothing) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const std::uint64_t cost = *AnyCost(a.limit);
    RC_PRE(cost == 0 || a.IsFull(a.bucket, a.now));
    RC_ASSERT(a.Refund(a.bucket, cost) == a.bucket);
  });
}

// --- Bytes and times that should not be ---------------------------------------------------------

// For any twelve bytes and any instant, the numbers of the answer stay in range, and a client that
// waits the told time passes: a foreign bucket delays, and never locks out.
TYPED_TEST(WindowLawTest, EveryBucketIsDecided) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const Bucket bucket = *ForeignBucket();
    const std::uint64_t cost = *AnyCost(a.limit);
    const Step step = a.Decide(bucket, a.now, cost);
    const Nanos longest = LongestWait(a.limit);
    RC_ASSERT(step.decision.remaining >= 0);
    RC_ASSERT(step.decision.remaining <= a.limit.shape().count);
    RC_ASSERT(step.decision.reset_after >= Nanos{0});
    RC_ASSERT(step.decision.reset_after <= longest);
    RC_ASSERT(step.decision.retry_after >= Nanos{0});
    RC_ASSERT(step.decision.retry_after == kNever || step.decision.retry_after <= longest);
    const Decision refunded = a.Look(a.Refund(bucket, cost), a.now);
    RC_ASSERT(refunded.remaining <= a.limit.shape().count);
    if (step.decision.allowed || step.decision.retry_after == kNever) return;
    RC_ASSERT(a.Passes(step.bucket, a.now + step.decision.retry_after, cost));
  });
}

// A fixed window has the spare bit if its tokens need it, and no state has two forms.
TYPED_TEST(WindowLawTest, WhatIsWrittenHasItsOneForm) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<TypeParam> a;
    const Bucket bucket = *rc::gen::oneOf(rc::gen::just(a.bucket), ForeignBucket());
    const std::uint64_t cost = *AnyCost(a.limit);
    for (const Bucket written :
         {a.Decide(bucket, a.now, cost).bucket, TypeParam::Charge(a.limit, bucket, a.now, cost),
          a.Refund(bucket, cost), TrimLimit(a.limit, a.limit, bucket, a.now, Nanos{0})}) {
      RC_ASSERT(written == bucket || HasFormOf(a.limit, written));
    }
    RC_ASSERT(HasFormOf(a.limit, a.bucket));
  });
}

TEST(SlidingWindowLawTest, SpareBitMeansNothingAndIsWrittenAsZero) {
  CheckLaw(kWindowCases, [] {
    const WindowSituation<SlidingWindows> a;
    const std::uint64_t cost = *AnyCost(a.limit);
    Bucket with_bit = a.bucket;
    with_bit.high |= kBucketSpareBit;
    const Step step = a.Decide(with_bit, a.now, cost);
    RC_ASSERT(step.decision == a.Decide(a.bucket, a.now, cost).decision);
    RC_ASSERT(a.IsFull(with_bit, a.now) == a.IsFull(a.bucket, a.now));
    const bool charged = step.decision.allowed && cost > 0;
    RC_ASSERT((step.bucket.high & kBucketSpareBit) == (charged ? 0 : kBucketSpareBit));
  });
}

// Asks for all tokens at instants that step back and forth within one period, both ends included.
// Only at the very end of the first window can time reach a second one.
TEST(FixedWindowLawTest, TimeThatGoesBackMakesNoToken) {
  CheckLaw(kWindowHistories, [] {
    WindowLife<FixedWindows> life;
    std::map<Instant, std::int64_t> taken;  // of the window with that end
    for (const Move& move : *AnyHistory()) {
      life.AskForAll(life.now() + Nanos{PartOf(life.period().count(), move.part)});
      const FixedWindow window = FixedWindowOf(life.bucket());
      taken[window.end] = window.used;
      RC_ASSERT(window.used == life.count());
    }
    RC_PRE(!taken.empty());
    RC_ASSERT(taken.size() <= 2U);
    RC_ASSERT(taken.rbegin()->first - taken.begin()->first >=
              life.period() * static_cast<std::int64_t>(taken.size() - 1));
  });
}

// As above. Only the tokens that fade from one window during the next can pass in addition to the
// count.
TEST(SlidingWindowLawTest, TimeThatGoesBackMakesNoToken) {
  CheckLaw(kWindowHistories, [] {
    WindowLife<SlidingWindows> life;
    const Int128 elapsed_max = (life.now().time_since_epoch() % life.period()).count();
    const Int128 most = life.count() + life.count() * elapsed_max / life.period().count();
    Int128 total = 0;
    for (const Move& move : *AnyHistory()) {
      total += life.AskForAll(life.now() + Nanos{PartOf(life.period().count(), move.part)});
      if (total > most) RC_FAIL("too much passed");
    }
    RC_PRE(total > 0);
  });
}

TEST(FixedWindowLawTest, L1EachWindowAdmitsTheCountAndNoMore) {
  CheckLaw(kWindowHistories, [] {
    WindowLife<FixedWindows> life;
    std::map<Instant, std::int64_t> taken;  // of the window with that end
    for (const Move& move : *AnyHistory()) {
      const std::int64_t tokens = life.Make(move);
      if (tokens == 0) continue;
      const Instant end = FixedWindowOf(life.bucket()).end;
      RC_ASSERT(life.now() < end);
      const bool is_rounded = life.count() > kWindowCountMax;
      RC_ASSERT(life.now() + life.period() >= end - (is_rounded ? kWholeEnd : Nanos{0}));
      taken[end] += tokens;
      if (taken[end] > life.count()) RC_FAIL("too much passed");
      if (life.limit().shape().aligned)
        RC_ASSERT(end.time_since_epoch() % life.period() == Nanos{0});
    }
    Instant before{-life.period()};
    for (const auto& [end, tokens] : taken) {
      RC_ASSERT(end - before >= life.period());
      before = end;
    }
  });
}

TEST(SlidingWindowLawTest, L1EachWindowAdmitsTheCountAndNoMore) {
  CheckLaw(kWindowHistories, [] {
    WindowLife<SlidingWindows> life;
    std::map<std::int64_t, std::int64_t> taken;
    for (const Move& move : *AnyHistory()) {
      const std::int64_t tokens = life.Make(move);
      std::int64_t& in_window = taken[life.now().time_since_epoch() / life.period()];
      in_window += tokens;
      if (in_window > life.count()) RC_FAIL("too much passed");
    }
  });
}

}  // namespace
}  // namespace weir
