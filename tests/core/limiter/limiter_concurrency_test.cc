// Goal: threads cannot gain a token, split a request, or deadlock. Method: many threads at a frozen
// clock, where the sum is known in whatever order they run; and threads with keys of their own,
// each with a log of its admissions (oracle.h), while other threads sweep, reclaim ids and clear.
// ThreadSanitizer watches (the preset tsan).
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/rules/rule.h"
#include "tests/random/generators.h"
#include "tests/support/fake_clock.h"
#include "tests/support/oracle.h"
#include "tests/support/printing.h"
#include "tests/support/take_all.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class LimiterConcurrencyTest : public testing::Test {
 protected:
  // Runs body(0) .. body(threads - 1), at once as far as the machine allows.
  template <typename Body>
  static void InThreads(std::size_t threads, Body body) {
    std::latch start(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::thread> pool;
    for (std::size_t i = 0; i < threads; ++i) {
      pool.emplace_back([&, i] {
        start.arrive_and_wait();
        body(i);
      });
    }
    for (std::thread& thread : pool) thread.join();
  }

  Verdict Decide(const Request& request, Instant now) {
    return limiter_->Decide(request, now).value();
  }

  std::int64_t Remaining(std::string_view key, const Limit& limit, Instant now) {
    return limiter_->Peek({{key, &limit, 0, nullptr, limiter_->Hash(key)}}, now).remaining;
  }

  const std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{});
  LimiterUpkeep upkeep_{limiter_->table()};
  FakeClock clock_;
};

TEST_F(LimiterConcurrencyTest, L18FrozenClockGivesExactlyTheBurst) {
  constexpr std::size_t kThreads = 100;
  constexpr int kAsks = 60;
  const Limit limit = LimitOf("3/s,burst=1000");
  std::vector<std::vector<std::int64_t>> remaining(kThreads);
  InThreads(kThreads, [&](std::size_t i) {
    LimitHint hint;
    for (int ask = 0; ask < kAsks; ++ask) {
      const Verdict verdict =
          Decide({{"shared", &limit, 1, &hint, limiter_->Hash("shared")}}, clock_.Now());
      if (verdict.allowed) remaining[i].push_back(verdict.remaining);
    }
  });
  std::vector<std::int64_t> all;
  for (const auto& some : remaining) {
    EXPECT_TRUE(std::ranges::is_sorted(some, std::greater<>{}));  // A thread sees its own charges.
    all.insert(all.end(), some.begin(), some.end());
  }
  std::vector<std::int64_t> each(1000);
  std::iota(each.begin(), each.end(), 0);
  EXPECT_THAT(all, testing::UnorderedElementsAreArray(each));
}

// Half of the threads name the keys in one order, the other half in the opposite order.
TEST_F(LimiterConcurrencyTest, StacksInOppositeOrderLoseTheSameAmount) {
  const Limit scarce = LimitOf("1/s,burst=500");
  const Limit plenty = LimitOf("1/m,burst=100000");
  std::atomic<std::int64_t> admitted = 0;
  InThreads(8, [&](std::size_t i) {
    const Check a{"a", &scarce, 1, nullptr, limiter_->Hash("a")};
    const Check b{"b", &plenty, 3, nullptr, limiter_->Hash("b")};
    const Request request = i % 2 == 0 ? Request{a, b} : Request{b, a};
    for (std::int64_t ask = 0; ask < Scaled(20'000) / 8; ++ask) {
      if (Decide(request, clock_.Now()).allowed) ++admitted;
    }
  });
  EXPECT_EQ(admitted, 500);
  EXPECT_EQ(Remaining("a", scarce, clock_.Now()), 0);
  EXPECT_EQ(Remaining("b", plenty, clock_.Now()), 100'000 - 3 * 500);
}

// Each thread asks a ring of three out of nine keys, so all partial orders occur.
TEST_F(LimiterConcurrencyTest, OverlappingStacksAreTransactions) {
  constexpr std::size_t kKeys = 9;
  const Limit limit = LimitOf("1/m,burst=1000000");
  std::array<std::atomic<std::int64_t>, kKeys> taken{};
  InThreads(kKeys, [&](std::size_t i) {
    std::array<std::string, kKeys> keys;
    for (std::size_t k = 0; k < kKeys; ++k) keys[k] = std::to_string(k);
    for (std::int64_t ask = 0; ask < Scaled(2'000); ++ask) {
      Request request;
      for (const std::size_t step : {0, 4, 8}) {
        const std::string& key = keys[(i + step) % kKeys];
        request.push_back({key, &limit, 1, nullptr, limiter_->Hash(key)});
      }
      EXPECT_TRUE(Decide(request, clock_.Now()).allowed);
      for (const std::size_t step : {0, 4, 8}) ++taken[(i + step) % kKeys];
    }
  });
  for (std::size_t k = 0; k < kKeys; ++k) {
    EXPECT_EQ(Remaining(std::to_string(k), limit, clock_.Now()), 1'000'000 - taken[k]);
  }
}

// Two keys that are always asked together owe the same, whichever clients leave, because a client
// that leaves gives the tokens of all its keys back at one instant.
TEST_F(LimiterConcurrencyTest, WaitersForTwoKeysLeaveBothAtOnce) {
  const Limit limit = LimitOf("1M/s,burst=1");
  std::atomic<std::int64_t> served = 0;
  InThreads(8, [&](std::size_t i) {
    const Check a{"a", &limit, 1, nullptr, limiter_->Hash("a")};
    const Check b{"b", &limit, 1, nullptr, limiter_->Hash("b")};
    const Request request = i % 2 == 0 ? Request{a, b} : Request{b, a};
    for (std::int64_t ask = 0; ask < Scaled(400'000) / 8; ++ask) {
      const Admission admission =
          limiter_->Reserve(request, std::chrono::seconds{60}, clock_.Now()).value();
      ASSERT_TRUE(admission.verdict.allowed);
      if (admission.reservation && ask % 4 != 0) {
        limiter_->ReturnTokens(*admission.reservation);
      } else {
        ++served;
      }
    }
  });
  const Nanos owed = limiter_->ResetAfter("a", clock_.Now());
  EXPECT_EQ(owed, limiter_->ResetAfter("b", clock_.Now()));
  EXPECT_GE(owed, microseconds{served});
}

// Every decider has its own key and time, and compares the answers with its own log. The limits are
// shared and change all the time, so ids are given out and reclaimed while the deciders use them.
TEST_F(LimiterConcurrencyTest, SweepingAndReclaimingIdsChangeNoReply) {
  constexpr std::size_t kDeciders = 4;
  std::array<std::string, kDeciders> keys;
  for (std::size_t i = 0; i < kDeciders; ++i) keys[i] = "decider " + std::to_string(i);
  std::array<std::atomic<Nanos::rep>, kDeciders> elapsed{};
  std::atomic<std::size_t> working = kDeciders;
  std::atomic<std::size_t> reclaimed = 0;
  const auto enough = static_cast<std::size_t>(Scaled(300));

  const auto decide = [&](std::size_t self) {
    std::minstd_rand random(static_cast<unsigned>(self + 1));
    // Runs until ids were reclaimed often enough, with an upper bound.
    for (std::int64_t round = 0; reclaimed < enough && round < 1'000'000; ++round) {
      const Limit limit = TokenBucketOf(1 + round / 10 % 50, microseconds{100}, 3);
      LogOracle oracle(limit);
      LimitHint hint;
      Instant now = FakeClock::kStart + Nanos{elapsed[self]};
      for (int ask = 0; ask < 10; ++ask) {
        now += Nanos{random() % 50'000};
        const Decision want = oracle.Ask(now, 1);
        EXPECT_EQ(Decide({{keys[self], &limit, 1, &hint, limiter_->Hash(keys[self])}}, now)
                      .decisions.front(),
                  want);
      }
      now += milliseconds{1};  // Every bucket is full again, whatever its rate.
      elapsed[self] = (now - FakeClock::kStart).count();
    }
    --working;
  };
  const auto sweep = [&] {
    for (std::size_t i = 0; i < kDeciders; ++i) {
      // The decider never asks at an earlier instant again.
      const Instant now = FakeClock::kStart + Nanos{elapsed[i]};
      static_cast<void>(upkeep_.SweepSome(KeyHasher(HashSecret{})(keys[i]).partition, now, 0, 2));
    }
  };
  InThreads(kDeciders + 2, [&](std::size_t i) {
    if (i < kDeciders) return decide(i);
    while (working > 0) {
      sweep();
      if (i == kDeciders) reclaimed += upkeep_.ReclaimLimits(1, 8);
    }
  });
  EXPECT_GE(reclaimed, enough);
}

// Each Clear gives back a burst at most.
TEST_F(LimiterConcurrencyTest, ClearWhileOthersDecide) {
  constexpr std::int64_t kBurst = 100;
  const Limit limit = LimitOf("1/h,burst=100");
  std::atomic<std::size_t> working = 3;
  std::atomic<std::int64_t> admitted = 0;
  std::atomic<std::int64_t> clears = 0;
  InThreads(4, [&](std::size_t i) {
    if (i < 3) {
      for (std::int64_t ask = 0; ask < Scaled(100'000); ++ask) {
        const Verdict verdict =
            Decide({{"shared", &limit, 1, nullptr, limiter_->Hash("shared")}}, clock_.Now());
        if (verdict.allowed) ++admitted;
        EXPECT_LT(verdict.remaining, kBurst);
      }
      --working;
      return;
    }
    while (working > 0) {
      upkeep_.Clear();
      ++clears;
      while (upkeep_.FreeDiscarded()) {
      }
      upkeep_.ReclaimLimits(1, 1);
    }
  });
  EXPECT_LE(admitted, kBurst * (clears + 1));
  EXPECT_LE(upkeep_.size().buckets, 1u);
  upkeep_.Clear();
  EXPECT_EQ(upkeep_.size().buckets, 0u);
  while (upkeep_.FreeDiscarded()) {
  }
  upkeep_.ReclaimLimits(1, 1);
  EXPECT_EQ(upkeep_.size().limits, 0u);
}

TEST_F(LimiterConcurrencyTest, LookingWhileOthersDecideAndReset) {
  const Limit limit = LimitOf("1/m,burst=1000000");
  std::atomic<std::size_t> working = 2;
  std::atomic<std::int64_t> admitted = 0;
  InThreads(4, [&](std::size_t i) {
    const std::string key = i % 2 == 0 ? "a" : "b";
    if (i < 2) {
      for (std::int64_t ask = 0; ask < Scaled(20'000); ++ask) {
        const Request request = {{"a", &limit, 1, nullptr, limiter_->Hash("a")},
                                 {"b", &limit, 1, nullptr, limiter_->Hash("b")}};
        if (Decide(request, clock_.Now()).allowed) ++admitted;
        if (ask % 100 == 0) limiter_->Reset(key, {}, clock_.Now());
      }
      --working;
      return;
    }
    while (working > 0) {
      EXPECT_LE(limiter_->Inspect(key, clock_.Now()).size(), 1u);
      EXPECT_GE(limiter_->ResetAfter(key, clock_.Now()), Nanos{0});
      EXPECT_LE(i == 2 ? upkeep_.CountLive(clock_.Now()) : upkeep_.size().buckets, 2u);
    }
  });
  EXPECT_EQ(admitted, 2 * Scaled(20'000));
}

// Every request takes one token of each of two keys, so any consistent snapshot contains an even
// number of tokens.
TEST_F(LimiterConcurrencyTest, ASnapshotContainsARequestWholeOrNotAtAll) {
  constexpr std::size_t kDeciders = 3;
  constexpr std::int64_t kBurst = 1'000'000;
  const Limit limit = TokenBucketOf(1, milliseconds{1}, kBurst);
  Limiter limiter({.logs_changes = true});
  std::array<std::string, 64> keys;
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = std::to_string(i);
  std::atomic<std::size_t> working = kDeciders;
  InThreads(kDeciders + 1, [&](std::size_t self) {
    if (self < kDeciders) {
      std::minstd_rand random(static_cast<unsigned>(self + 1));
      for (std::int64_t ask = 0; ask < Scaled(20'000); ++ask) {
        const std::size_t one = random() % keys.size();
        const std::size_t other = (one + 1 + random() % (keys.size() - 1)) % keys.size();
        const Request request = {{keys[one], &limit, 1, nullptr, limiter.Hash(keys[one])},
                                 {keys[other], &limit, 1, nullptr, limiter.Hash(keys[other])}};
        EXPECT_TRUE(limiter.Decide(request, clock_.Now())->allowed);
      }
      --working;
      return;
    }
    std::map<std::uint64_t, std::int64_t> taken;
    bool last = false;
    while (!last) {
      last = working == 0;
      for (const BucketChange& change : TakeAll(limiter, clock_.Now(), true).buckets) {
        const Decision look = DecideLimit(limit, change.bucket, clock_.Now(), 0, Nanos{0}).decision;
        taken[change.key.key_hash()] = kBurst - look.remaining;
      }
      std::int64_t sum = 0;
      for (const auto& [key, tokens] : taken) sum += tokens;
      ASSERT_EQ(sum % 2, 0);
      if (last) {
        EXPECT_EQ(sum, 2 * kDeciders * Scaled(20'000));
      }
    }
  });
}

}  // namespace
}  // namespace weir
