// Goal: a call is one unit in the table: no thread comes between its rules, an error changes
// nothing, and what it changes is logged. Method: examples, and threads at a frozen clock, where
// the sums are known in whatever order they run. (Its rules are tested in tests/core/plans.)
#include "core/limiter/call_decider.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "core/table/key_bound.h"
#include "core/table/table_bound.h"
#include "tests/core/plans/call_fixture.h"
#include "tests/support/take_all.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class CallDeciderTest : public CallFixture {
 protected:
  explicit CallDeciderTest(const LimiterOptions& options = {.logs_changes = true})
      : CallFixture(options) {
    SetRule("one", {{"1/h,fixed,aligned"}});
    SetRule("many", {{"1000/h,fixed,aligned"}});
    SetRule("more", {{"2000/h,fixed,aligned"}});
    SetRule("shut", {{"1/m,ban=1h"}});
  }

  std::size_t Changed() { return TakeAll(*limiter_, now_).buckets.size(); }
};

TEST_F(CallDeciderTest, CallWithoutChecks) {
  EXPECT_EQ(Call("-"), "- OK");
  EXPECT_EQ(Call("deny; -"), "OVER - OVER");
  EXPECT_EQ(buckets(), 0u);
}

TEST_F(CallDeciderTest, MarkIsAChangeAndALookIsNone) {
  EXPECT_EQ(Call("one=a; many=a+2"), "r0 r998 OK");
  EXPECT_EQ(Changed(), 2u);
  EXPECT_EQ(Call("one=a; many=a"), "OVER r998 OVER");
  EXPECT_EQ(Changed(), 1u) << "the mark";
  EXPECT_EQ(Call("one=a; many=a; many=b-1; many=a+0"), "OVER r998 r1000 r998 OVER");
  EXPECT_EQ(Changed(), 0u);
  EXPECT_EQ(buckets(), 2u);
}

TEST_F(CallDeciderTest, LateThreadDecidesAtTheLatestTime) {
  const Instant late = now_ + seconds{10};
  now_ = late;
  EXPECT_EQ(VerdictOf("many=a").now, late);
  now_ -= seconds{5};
  EXPECT_EQ(VerdictOf("many=a; one=b").now, late);
  EXPECT_EQ(VerdictOf("many=c").now, now_);
}

TEST_F(CallDeciderTest, OpenHoldsKnowWhatACallGivesBackAndCutsOff) {
  const auto after = [&](const std::string& key, const std::string& hits) {
    Call(key + "+40");
    const Request held = CallOf(key + "*50").checks;
    EXPECT_TRUE(
        limiter_->DecideAndHold(held, {.id = "id", .ttl = hours{1}}, now_)->verdict.allowed);
    Call(key + hits);
    const std::string_view name = held[0].key;
    const SettledKey keys[] = {{{name, limiter_->Hash(name)}, 0}};
    EXPECT_TRUE(limiter_->SettleHold({.id = "id", .keys = keys, .named = {}}, now_)->settled);
    return Used(key);
  };
  EXPECT_EQ(after("many=a", "*7"), 47);
  EXPECT_EQ(after("many=b", "-20"), 40) << "20 of 50 were given back before";
  EXPECT_EQ(after("many=c", "+30"), 70);
  EXPECT_EQ(after("many=d", "+1940"), 1980) << "30 were cut off, so these are still charged";
}

// --- Errors -------------------------------------------------------------------------------------

TEST_F(CallDeciderTest, KeyWithoutRoomChangesNothing) {
  EXPECT_EQ(Call("one=a; shut=a"), "r0 r0 OK");
  for (std::size_t i = 0; i < kKeyBucketsMax; ++i) {
    const std::string limit = std::to_string(i + 1) + "/h";
    ASSERT_TRUE(limiter_->Decide(Of({{"more=k", limit}}), now_).ok());
  }
  static_cast<void>(Changed());
  const auto refused = Decide(CallOf("one=a; shut=a; many=a+1; one=b-1; more=k+1"));
  EXPECT_EQ(refused.status(), TooManyBucketsOfKey());
  EXPECT_EQ(Changed(), 0u);
  EXPECT_EQ(Call("one=a+0; shut=a+0; many=a+0"), "r0 r0 r1000 OK");
}

class CallOfTwoLimitsTest : public CallDeciderTest {
 protected:
  CallOfTwoLimitsTest() : CallDeciderTest({.limits_max = 2, .logs_changes = true}) {}
};

TEST_F(CallOfTwoLimitsTest, TooManyLimitsChangeNothing) {
  EXPECT_EQ(Call("one=a; shut=a"), "r0 r0 OK");
  static_cast<void>(Changed());
  const auto refused = Decide(CallOf("one=a; shut=a; many=a+1"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Changed(), 0u);
  EXPECT_EQ(Call("one=a+0; shut=a+0"), "r0 r0 OK");
  EXPECT_EQ(Call("deny; many=a"), "OVER r1000 OVER") << "a call that is over needs no limit";
}

TEST_F(CallOfTwoLimitsTest, IdleLimitMakesRoom) {
  EXPECT_EQ(Call("one=a; shut=a"), "r0 r0 OK");
  now_ += hours{2};
  SweepAll();
  EXPECT_EQ(Call("many=a+1; more=a"), "r999 r1999 OK");
}

// --- A table at its bound -----------------------------------------------------------------------

class CallAtTheBoundTest : public CallDeciderTest {
 protected:
  CallAtTheBoundTest() : CallDeciderTest({.memory_max = TableBound::kBytesMin}) {}

  // The next key of the last partition, of this rule.
  std::string NextKey(const std::string& rule) {
    for (;;) {
      std::string key = rule + "=" + std::to_string(next_++);
      if (limiter_->Hash(key).partition == kPartitionCount - 1) return key;
    }
  }

 private:
  std::size_t next_ = 0;
};

TEST_F(CallAtTheBoundTest, NewBucketsOfACallDoNotEvictEachOther) {
  const std::size_t most =
      TableBound::Within(TableBound::kBytesMin, false).SlotsMax(kPartitionCount - 1);
  while (buckets() < most) ASSERT_EQ(Call(NextKey("many")), "r999 OK");
  const std::vector<std::string> keys = {NextKey("more"), NextKey("more"), NextKey("more")};
  EXPECT_EQ(Call(keys[0] + "*500; " + keys[1] + "+500; " + keys[2] + "*500"),
            "r1500 r1500 r1500 OK");
  for (const std::string& key : keys) EXPECT_EQ(Used(key), 500);
  EXPECT_LE(buckets(), most);
  EXPECT_GT(upkeep_.counts().evicted, 0u);
}

// --- Threads ------------------------------------------------------------------------------------

class CallConcurrencyTest : public CallDeciderTest {
 protected:
  CallConcurrencyTest() : CallDeciderTest(LimiterOptions{}) {}
};

TEST_F(CallConcurrencyTest, ThreadsGainNoTokenAndLoseNoReport) {
  constexpr std::size_t kThreads = 4;
  const std::int64_t rounds = Scaled(2'000);
  SetRule("seen", {{"1000000/h,fixed,aligned"}});
  // The same keys in different orders: threads that locked them in those would deadlock.
  const CallRequest calls[] = {CallOf("many=a; more=b; seen=c+1"),
                               CallOf("seen=c+1; more=b; many=a")};
  std::latch start(kThreads);
  std::atomic<std::int64_t> admitted{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      for (std::int64_t round = 0; round < rounds; ++round) {
        if (!Decide(calls[i % 2])->over) ++admitted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::int64_t asked = std::int64_t{kThreads} * rounds;
  EXPECT_EQ(admitted, std::min<std::int64_t>(asked, 1'000));
  EXPECT_EQ(Used("many=a"), std::min<std::int64_t>(asked, 1'001)) << "with the mark";
  EXPECT_EQ(Used("more=b"), admitted);
  EXPECT_EQ(Used("seen=c"), asked);
}

}  // namespace
}  // namespace weir
