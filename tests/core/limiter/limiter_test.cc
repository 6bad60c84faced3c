// Goal: a request is one transaction over its checks, and its verdict joins their decisions.
// Method: examples at one or two instants; the state is observed through later replies and the
// sizes of table and registry.
#include "core/limiter/limiter.h"

#include <chrono>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/limiter/isolation.h"
#include "tests/core/limiter/limiter_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class LimiterTest : public LimiterFixture {};

// --- One check ----------------------------------------------------------------------------------

TEST_F(LimiterTest, OneCheck) {
  EXPECT_EQ(Decide({{"a", "3/s"}}), (Told{true, 2, Nanos{0}, Nanos{333'333'334}, 0}));
  EXPECT_EQ(Decide({{"a", "3/s", 2}}), (Told{true, 0, Nanos{0}, seconds{1}, 0}));
  EXPECT_EQ(Decide({{"a", "3/s"}}), (Told{false, 0, Nanos{333'333'334}, seconds{1}, 0}));
  now_ += Nanos{333'333'334};
  EXPECT_EQ(Decide({{"a", "3/s"}}), (Told{true, 0, Nanos{0}, seconds{1}, 0}));
}

TEST_F(LimiterTest, EveryKeyHasItsOwnBucket) {
  // Keys may be any bytes, or none; a prefix of a key is another key.
  const std::string keys[] = {
      "",     std::string(1, '\0'),     std::string(2, '\0'),    "a", "ab", "a\r\n",
      "\xFF", std::string(65'536, 'k'), std::string(65'535, 'k')};
  for (const std::string& key : keys) EXPECT_TRUE(Decide({{key, "1/s"}}).allowed);
  for (const std::string& key : keys) EXPECT_FALSE(Decide({{key, "1/s"}}).allowed);
  EXPECT_EQ(buckets(), std::size(keys));
  EXPECT_EQ(limits(), 1u);
}

TEST_F(LimiterTest, EveryLimitHasItsOwnBucket) {
  EXPECT_EQ(Decide({{"a", "5/s"}}).remaining, 4);
  EXPECT_EQ(Decide({{"a", "5/s,burst=6"}}).remaining, 5);
  EXPECT_EQ(Decide({{"a", "10/2s,burst=5"}}).remaining, 4);
  EXPECT_EQ(Decide({{"a", "6/s,burst=5"}}).remaining, 4);
  EXPECT_EQ(buckets(), 4u);
  EXPECT_EQ(limits(), 4u);
}

TEST_F(LimiterTest, SpellingsOfOneLimitShareABucket) {
  EXPECT_EQ(Decide({{"a", "60/m"}}).remaining, 59);
  EXPECT_EQ(Decide({{"a", "60/60s,bucket,burst=60"}}).remaining, 58);
  EXPECT_EQ(limits(), 1u);
}

TEST_F(LimiterTest, SecretDecidesWhereKeysLieAndNothingElse) {
  Limiter other({.secret = {1, 2, 3}});
  ASSERT_NE(other.Hash("a"), limiter_->Hash("a"));
  const Check check{.key = "a", .limit = &Named("3/s"), .hash = other.Hash("a")};
  EXPECT_EQ(other.Decide({check}, now_)->remaining, Decide({{"a", "3/s"}}).remaining);
}

// A single check is decided by another instance of the plan's template than several checks. Two
// limiters decide the same checks, in one of them beside a check that never matters, through every
// kind of limit, cost and time.
TEST_F(LimiterTest, OneCheckIsDecidedAsOneOfSeveral) {
  constexpr std::string_view kLimits[] = {"3/s",  "7/11ms,burst=2", "4/s,fixed", "5/2s,sliding",
                                          "none", "unlimited",      "2/s,shadow"};
  for (const bool is_ordered : {false, true}) {
    Limiter one({.secret = {1}, .time_is_ordered = is_ordered, .logs_changes = is_ordered});
    Limiter several({.secret = {1}, .time_is_ordered = is_ordered, .logs_changes = is_ordered});
    std::mt19937 random(7);
    for (int step = 0; step < 4'000; ++step) {
      const Limit& limit = Named(kLimits[random() % std::size(kLimits)]);
      const std::string_view key = random() % 2 == 0 ? "a" : "b";
      const Check check{.key = key,
                        .limit = &limit,
                        .cost = static_cast<std::int64_t>(random() % 5),
                        .hash = one.Hash(key)};
      now_ += milliseconds{static_cast<int>(random() % 500) - 100};
      const Verdict alone = *one.Decide({check}, now_);
      const Check shadow{
          .key = key, .limit = &Named("1000000/s,shadow"), .cost = 0, .hash = check.hash};
      const Verdict beside = *several.Decide({check, shadow}, now_);
      ASSERT_EQ(alone.allowed, beside.allowed) << step;
      ASSERT_EQ(alone.decisions.front(), beside.decisions.front()) << step;
      ASSERT_EQ(alone.retry_after, beside.retry_after) << step;
      ASSERT_EQ(alone.reset_after, beside.reset_after) << step;
      ASSERT_EQ(alone.remaining, beside.remaining) << step;
      ASSERT_EQ(alone.limit_index, beside.limit_index) << step;
      const LimiterUpkeep::Size size = LimiterUpkeep(one.table()).size();
      const LimiterUpkeep::Size size_of_several = LimiterUpkeep(several.table()).size();
      ASSERT_EQ(size.buckets, size_of_several.buckets) << step;
      ASSERT_EQ(size.changes, size_of_several.changes) << step;
    }
  }
}

// A fetch returns the hash that checks need, and changes nothing.
TEST_F(LimiterTest, FetchesReturnTheKeysHash) {
  Limiter limiter({.secret = {1}});
  const KeyHash hash = limiter.PrefetchPartition("a");
  EXPECT_EQ(hash, limiter.Hash("a"));
  limiter.PrefetchBuckets(hash);
  const Limit& limit = Named("3/s");
  EXPECT_EQ(limiter.Decide({{.key = "a", .limit = &limit, .hash = hash}}, now_)->remaining, 2);
  limiter.PrefetchBuckets(hash);
  EXPECT_EQ(limiter.Decide({{.key = "a", .limit = &limit, .hash = hash}}, now_)->remaining, 1);
  EXPECT_EQ(LimiterUpkeep(limiter.table()).size().buckets, 1u);
}

// --- Cost ---------------------------------------------------------------------------------------

TEST_F(LimiterTest, CostOfZeroAdmitsAndCreatesNothing) {
  EXPECT_EQ(Decide({{"a", "3/s", 0}}), (Told{true, 3, Nanos{0}, Nanos{0}, 0}));
  EXPECT_EQ(buckets(), 0u);
  EXPECT_EQ(limits(), 0u);
  Decide({{"a", "3/s", 3}});
  EXPECT_EQ(Decide({{"a", "3/s", 0}}), (Told{true, 0, Nanos{0}, seconds{1}, 0}));
  EXPECT_EQ(Decide({{"a", "3/s", 0}, {"b", "9/s", 1}}), (Told{true, 0, Nanos{0}, seconds{1}, 0}));
  EXPECT_EQ(buckets(), 2u);
}

TEST_F(LimiterTest, CostAboveTheBurstNeverPasses) {
  EXPECT_EQ(Decide({{"a", "3/s", 4}}), (Told{false, 3, kNever, Nanos{0}, 0}));
  EXPECT_EQ(Decide({{"a", "3/s", INT64_MAX}}), (Told{false, 3, kNever, Nanos{0}, 0}));
}

TEST_F(LimiterTest, SumOfCostsDoesNotWrap) {
  // 2 * (2^63 - 1) + 2 is 2^64, which would wrap to 0.
  EXPECT_EQ(Decide({{"a", "3/s", INT64_MAX}, {"a", "3/s", INT64_MAX}, {"a", "3/s", 2}}),
            (Told{false, 3, kNever, Nanos{0}, 0}));
  EXPECT_EQ(Decide({{"a", "3/s", INT64_MAX}, {"a", "3/s", INT64_MAX}, {"a", "3/s", 3}}),
            (Told{false, 3, kNever, Nanos{0}, 0}));
}

// --- All or none --------------------------------------------------------------------------------

TEST_F(LimiterTest, L4AdmissionChargesEveryLimit) {
  EXPECT_TRUE(Decide({{"a", "10/s", 2}, {"a", "100/m", 3}, {"b", "10/s", 4}}).allowed);
  EXPECT_EQ(Remaining("a", "10/s"), 8);
  EXPECT_EQ(Remaining("a", "100/m"), 97);
  EXPECT_EQ(Remaining("b", "10/s"), 6);
  EXPECT_EQ(buckets(), 3u);
  EXPECT_EQ(limits(), 2u);
}

TEST_F(LimiterTest, L4DenialByOneChargesNone) {
  Decide({{"b", "5/m", 5}});
  EXPECT_EQ(Decide({{"a", "10/s"}, {"b", "5/m"}}), (Told{false, 0, seconds{12}, minutes{1}, 1}));
  EXPECT_EQ(Decide({{"b", "5/m"}, {"a", "10/s"}}), (Told{false, 0, seconds{12}, minutes{1}, 0}));
  EXPECT_EQ(Remaining("a", "10/s"), 10);
  EXPECT_EQ(Remaining("b", "5/m"), 0);
}

TEST_F(LimiterTest, L3DenialCreatesNothing) {
  Decide({{"b", "1/m"}});
  Decide({{"a", "10/s"}, {"b", "1/m"}, {"c", "20/s"}});
  Decide({{"a", "10/s", 11}});
  EXPECT_EQ(buckets(), 1u);
  EXPECT_EQ(limits(), 1u);
}

TEST_F(LimiterTest, L3DenialChangesNoBucketOfTheRequest) {
  Decide({{"a", "3/s"}, {"b", "1/m"}, {"c", "7/11ms", 2}});
  const Verdict before =
      limiter_->Peek(Of({{"a", "3/s", 0}, {"b", "1/m", 0}, {"c", "7/11ms", 0}}), now_);
  Decide({{"a", "3/s"}, {"b", "1/m"}, {"c", "7/11ms", 2}});
  const Verdict after =
      limiter_->Peek(Of({{"a", "3/s", 0}, {"b", "1/m", 0}, {"c", "7/11ms", 0}}), now_);
  EXPECT_EQ(before.decisions, after.decisions);
}

TEST_F(LimiterTest, PeekSaysWhatDecideWouldAndChangesNothing) {
  const Told would = Peek({{"a", "3/s", 2}, {"b", "5/s"}});
  EXPECT_EQ(would, (Told{true, 1, Nanos{0}, Nanos{666'666'667}, 0}));
  EXPECT_EQ(buckets(), 0u);
  EXPECT_EQ(limits(), 0u);
  EXPECT_EQ(Decide({{"a", "3/s", 2}, {"b", "5/s"}}), would);
  EXPECT_EQ(Peek({{"a", "3/s", 2}, {"b", "5/s"}}), Decide({{"a", "3/s", 2}, {"b", "5/s"}}));
}

TEST_F(LimiterTest, MostChecksOfOneRequest) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kChecksMax; ++i) keys.push_back(std::to_string(i));
  std::vector<Asked> asked;
  for (const std::string& key : keys) asked.push_back({key, "2/s"});
  EXPECT_EQ(Decide(asked).remaining, 1);
  EXPECT_EQ(buckets(), kChecksMax);
  Decide({{keys.back(), "2/s"}});
  EXPECT_EQ(Decide(asked), (Told{false, 0, milliseconds{500}, seconds{1}, kChecksMax - 1}));
  EXPECT_EQ(Remaining(keys.front(), "2/s"), 1);
}

// --- The same bucket twice ----------------------------------------------------------------------

TEST_F(LimiterTest, SameBucketTwiceIsOneCheckWithTheSummedCost) {
  const Verdict verdict = Verdicts({{"a", "10/s", 2}, {"b", "10/s", 1}, {"a", "10/s", 3}});
  EXPECT_TRUE(verdict.allowed);
  const Decision both{true, 5, Nanos{0}, milliseconds{500}};
  EXPECT_THAT(verdict.decisions,
              testing::ElementsAre(both, Decision{true, 9, Nanos{0}, milliseconds{100}}, both));
  EXPECT_EQ(Remaining("a", "10/s"), 5);
  EXPECT_EQ(buckets(), 2u);
}

TEST_F(LimiterTest, SameBucketTwiceWithOneTokenKeepsIt) {
  Decide({{"a", "10/s", 9}});
  const Verdict verdict = Verdicts({{"a", "10/s"}, {"a", "10/s"}});
  EXPECT_FALSE(verdict.allowed);
  const Decision both{false, 1, milliseconds{100}, milliseconds{900}};
  EXPECT_THAT(verdict.decisions, testing::ElementsAre(both, both));
  EXPECT_EQ(verdict.limit_index, 0u);
  EXPECT_EQ(Remaining("a", "10/s"), 1);
}

TEST_F(LimiterTest, SameBucketUnderTwoSpellingsAndTwoCopiesOfTheKey) {
  const std::string copy = "a";
  const Verdict verdict = Verdicts({{"a", "60/m", 30}, {copy, "60/60s", 31}});
  EXPECT_EQ(verdict.decisions[0].retry_after, kNever);
  EXPECT_EQ(verdict.decisions[1].retry_after, kNever);
}

TEST_F(LimiterTest, SameBucketTwiceWithACostOfZeroFirst) {
  EXPECT_EQ(Decide({{"a", "10/s", 0}, {"a", "10/s", 4}}),
            (Told{true, 6, Nanos{0}, milliseconds{400}, 0}));
  EXPECT_EQ(buckets(), 1u);
}

// --- The joined verdict -------------------------------------------------------------------------

TEST_F(LimiterTest, AllowedIsDecidedByTheFewestRemaining) {
  EXPECT_EQ(Decide({{"a", "10/s"}, {"a", "5/m"}, {"a", "100/h"}}),
            (Told{true, 4, Nanos{0}, seconds{36}, 1}));
}

TEST_F(LimiterTest, AllowedIsDecidedByTheFirstOfEquals) {
  EXPECT_EQ(Decide({{"a", "9/s"}, {"a", "5/s"}, {"b", "5/s"}}).limit_index, 1u);
  EXPECT_EQ(Decide({{"c", "5/s"}, {"d", "5/s"}}).limit_index, 0u);
}

TEST_F(LimiterTest, DeniedIsDecidedByTheLongestWait) {
  Decide({{"a", "10/s", 10}, {"a", "10/m", 10}, {"a", "10/h", 9}});
  EXPECT_EQ(Decide({{"a", "10/s"}, {"a", "10/m"}, {"a", "10/h"}}),
            (Told{false, 0, seconds{6}, minutes{54}, 1}));
}

TEST_F(LimiterTest, DeniedIsDecidedByTheFirstOfEquals) {
  Decide({{"a", "10/s", 10}, {"b", "10/s", 10}});
  EXPECT_EQ(Decide({{"c", "10/s"}, {"b", "10/s"}, {"a", "10/s"}}).limit_index, 1u);
}

TEST_F(LimiterTest, NeverOutranksEveryWait) {
  Decide({{"a", "1/3285d"}});
  EXPECT_EQ(Decide({{"a", "1/3285d"}, {"b", "3/s", 4}}),
            (Told{false, 0, kNever, hours{24 * 3285}, 1}));
  EXPECT_EQ(Decide({{"b", "3/s", 4}, {"a", "1/3285d"}}),
            (Told{false, 0, kNever, hours{24 * 3285}, 0}));
}

TEST_F(LimiterTest, DeniedTellsOfUntouchedBuckets) {
  Decide({{"a", "10/s", 4}, {"b", "2/s", 2}});
  const Verdict verdict = Verdicts({{"a", "10/s", 3}, {"b", "2/s"}, {"c", "7/s"}});
  EXPECT_THAT(verdict.decisions,
              testing::ElementsAre(Decision{true, 6, Nanos{0}, milliseconds{400}},
                                   Decision{false, 0, milliseconds{500}, seconds{1}},
                                   Decision{true, 7, Nanos{0}, Nanos{0}}));
}

// Waiting the joined retry_after is enough for the same request, and waiting less is not.
TEST_F(LimiterTest, L5RetryAfterOfTheWholeRequestIsTight) {
  Decide({{"a", "3/s", 3}, {"a", "7/11ms", 7}});
  const Told told = Decide({{"a", "3/s", 2}, {"a", "7/11ms", 5}});
  now_ += told.retry_after - Nanos{1};
  EXPECT_FALSE(Peek({{"a", "3/s", 2}, {"a", "7/11ms", 5}}).allowed);
  now_ += Nanos{1};
  EXPECT_TRUE(Peek({{"a", "3/s", 2}, {"a", "7/11ms", 5}}).allowed);
}

TEST_F(LimiterTest, L16OrderOfTheChecksDoesNotMatter) {
  Decide({{"a", "3/s", 1}, {"a", "10/s", 9}, {"b", "7/11ms", 7}});
  std::vector<Asked> asked = {{"a", "3/s", 2}, {"a", "10/s", 1}, {"b", "3/s", 1}, {"c", "5/m", 5}};
  for (const bool denied : {false, true}) {
    if (denied) asked[1].cost = 2;
    std::vector<int> order(asked.size());
    std::iota(order.begin(), order.end(), 0);
    const Verdict first = limiter_->Peek(Of(asked), now_);
    EXPECT_EQ(first.allowed, !denied);
    do {
      std::vector<Asked> permuted;
      for (const int i : order) permuted.push_back(asked[static_cast<std::size_t>(i)]);
      const Verdict verdict = limiter_->Peek(Of(permuted), now_);
      EXPECT_EQ(verdict.allowed, first.allowed);
      EXPECT_EQ(verdict.remaining, first.remaining);
      EXPECT_EQ(verdict.retry_after, first.retry_after);
      EXPECT_EQ(verdict.reset_after, first.reset_after);
      for (std::size_t i = 0; i < order.size(); ++i) {
        EXPECT_EQ(verdict.decisions[i], first.decisions[static_cast<std::size_t>(order[i])]);
      }
    } while (std::ranges::next_permutation(order).found);
  }
}

// --- The clamp ----------------------------------------------------------------------------------

// A clock that went back an hour, and a limiter that accepts waits of a minute.
class LimiterClampTest : public LimiterTest {
 protected:
  LimiterClampTest() {
    Decide({{"a", "1/s"}});
    now_ -= hours{1};
  }
};

TEST_F(LimiterClampTest, DenialStoresTheCutTime) {
  EXPECT_EQ(Decide({{"a", "1/s"}}),
            (Told{false, 0, minutes{1} + seconds{1}, minutes{1} + seconds{1}, 0}));
  now_ += minutes{1} + seconds{1};
  EXPECT_TRUE(Decide({{"a", "1/s"}}).allowed);
}

TEST_F(LimiterClampTest, DenialByAnotherLimitStoresTheCutTimeToo) {
  EXPECT_FALSE(Decide({{"b", "3/s", 4}, {"a", "1/s"}}).allowed);
  now_ += minutes{1} + seconds{1};
  EXPECT_TRUE(Decide({{"a", "1/s"}}).allowed);
}

TEST_F(LimiterClampTest, PeekStoresNothing) {
  EXPECT_EQ(Peek({{"a", "1/s"}}),
            (Told{false, 0, minutes{1} + seconds{1}, minutes{1} + seconds{1}, 0}));
  now_ += minutes{1} + seconds{1};
  EXPECT_FALSE(Decide({{"a", "1/s"}}).allowed);
}

TEST_F(LimiterClampTest, CostOfZeroStoresNothing) {
  Decide({{"a", "1/s", 0}, {"b", "1/s", 1}});
  now_ += minutes{1} + seconds{1};
  EXPECT_FALSE(Decide({{"a", "1/s"}}).allowed);
}

// --- Too many limits ----------------------------------------------------------------------------

class LimiterOfTwoLimitsTest : public LimiterFixture {
 protected:
  LimiterOfTwoLimitsTest() : LimiterFixture({.limits_max = 2}) {}

  absl::Status Refusal(const std::vector<Asked>& asked) {
    return limiter_->Decide(Of(asked), now_).status();
  }
};

TEST_F(LimiterOfTwoLimitsTest, OneMoreIsAnError) {
  Decide({{"a", "1/s"}, {"a", "2/s"}});
  const absl::Status refusal = Refusal({{"a", "3/s"}});
  EXPECT_EQ(refusal.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refusal.message()), testing::HasSubstr("too many distinct limits"));
  EXPECT_EQ(buckets(), 2u);
  EXPECT_TRUE(Decide({{"b", "1/s"}, {"b", "2/s"}}).allowed);
}

TEST_F(LimiterOfTwoLimitsTest, ErrorChargesNothing) {
  Decide({{"a", "10/s", 2}});
  EXPECT_FALSE(Refusal({{"a", "10/s"}, {"a", "20/s"}, {"a", "30/s"}}).ok());
  EXPECT_EQ(buckets(), 1u);
  EXPECT_EQ(Remaining("a", "10/s"), 8);
  EXPECT_EQ(Remaining("a", "20/s"), 20);
}

TEST_F(LimiterOfTwoLimitsTest, DenialIsNoError) {
  Decide({{"a", "1/s"}, {"a", "2/s"}});
  EXPECT_FALSE(Decide({{"a", "3/s"}, {"a", "1/s"}}).allowed);
  EXPECT_FALSE(Decide({{"a", "3/s", 4}}).allowed);
  EXPECT_TRUE(Decide({{"a", "3/s", 0}}).allowed);
  EXPECT_TRUE(Peek({{"a", "3/s"}}).allowed);
}

TEST_F(LimiterOfTwoLimitsTest, LimitsWithoutBucketsMakeRoom) {
  Decide({{"a", "1/s"}, {"a", "2/s"}});
  now_ += seconds{1};
  SweepAll();
  EXPECT_TRUE(Decide({{"a", "3/s"}, {"a", "4/s"}}).allowed);
  EXPECT_EQ(limits(), 2u);
  EXPECT_FALSE(Refusal({{"a", "5/s"}}).ok());
}

// The content that Clear() has forgotten is freed later, but a new limit needs an id now.
TEST_F(LimiterOfTwoLimitsTest, ClearMakesRoomAtOnce) {
  for (const bool is_isolated : {false, true}) {
    Decide({{"a", "1/s"}});
    Decide({{"b", "2/s"}});
    upkeep_.Clear();
    if (is_isolated) upkeep_.MakeRoomForLimits();
    const std::vector<std::string_view> keys = {"a"};
    std::optional<Isolation> isolation;
    if (is_isolated) isolation.emplace(limiter_->table(), keys);
    EXPECT_TRUE(Decide({{"a", "3/s"}}).allowed);
    isolation.reset();
    EXPECT_TRUE(Decide({{"a", "4/s"}}).allowed);
    EXPECT_FALSE(Refusal({{"a", "5/s"}}).ok());
    upkeep_.Clear();
  }
}

// An isolation holds locks that reclaiming ids needs, so the server makes room before it begins.
TEST_F(LimiterOfTwoLimitsTest, AnIsolationTakesNoIdsBack) {
  Decide({{"a", "1/s"}, {"a", "2/s"}});
  now_ += seconds{1};
  SweepAll();
  const std::vector<std::string_view> keys = {"a"};
  {
    const Isolation isolation(limiter_->table(), keys);
    EXPECT_FALSE(Refusal({{"a", "3/s"}}).ok());
  }
  upkeep_.MakeRoomForLimits();
  const Isolation isolation(limiter_->table(), keys);
  EXPECT_TRUE(Decide({{"a", "3/s"}, {"a", "4/s"}}).allowed);
}

}  // namespace
}  // namespace weir
