// Goal: a trim cuts all buckets of a policy and no others, each by the numbers of its own key, with
// shadow buckets and beside open holds, and saves and replicas hear of it. Method: short histories
// in words, of one key and of thousands; the changes that a save takes. Random trims, with restarts
// and replicas, are part of random_load.h.
#include "core/limiter/policy_trim.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/change_reader.h"
#include "core/policies/overrides.h"
#include "core/policies/policies.h"
#include "tests/core/limiter/hold_fixture.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

class PolicyTrimTest : public HoldFixture {
 protected:
  PolicyTrimTest() : HoldFixture({.logs_changes = true}) { Set({"1000/d"}); }

  void Set(std::initializer_list<std::string_view> words) {
    ASSERT_TRUE(policies_.Set("p", LimitsOf(words)).ok());
  }
  void Override(std::string_view key, std::initializer_list<std::string_view> words) {
    ASSERT_TRUE(policies_.Override("p", key, LimitsOf(words)).ok());
  }
  // A request about a key's limits under the policy.
  Request Asks(std::string_view key, std::int64_t cost, bool shadow = false) {
    asked_.clear();
    for (const PolicyLimit& one : *policies_.LimitsOf("p", key)) {
      asked_.push_back(shadow ? one.limit.AsShadow() : one.limit);
    }
    Request request;
    for (const Limit& limit : asked_) request.push_back(CheckOf(key, limit, cost));
    return request;
  }
  bool Take(std::string_view key, std::int64_t cost, bool shadow = false) {
    return limiter_->Decide(Asks(key, cost, shadow), now_)->allowed;
  }
  Nanos WaitOf(std::string_view key, bool shadow = false) {
    return limiter_->Peek(Asks(key, 1, shadow), now_).decisions.front().retry_after;
  }
  // Sets the limits, and trims all buckets. Returns how many were cut.
  std::size_t SetAndTrim(std::initializer_list<std::string_view> words) {
    const PolicyLimits before = policies_.Find("p")->limits;
    Set(words);
    Limiter::PolicyTrim trim(*limiter_, policies_, before, policies_.Find("p"));
    steps_ = 1;
    while (!trim.Step(now_)) ++steps_;
    return trim.trimmed();
  }
  std::size_t OverrideAndTrim(std::string_view key, std::initializer_list<std::string_view> words) {
    const std::shared_ptr<const PolicyLimits> before = policies_.LimitsOf("p", key);
    Override(key, words);
    return Limiter::PolicyTrim::TrimKey(*limiter_, key, *before, *policies_.LimitsOf("p", key),
                                        now_);
  }

  Policies policies_;
  std::vector<Limit> asked_;  // of the last request
  int steps_ = 0;
};

TEST_F(PolicyTrimTest, OverrideCutsTheBucketsOfItsKeyOnly) {
  ASSERT_TRUE(Take("cust", 1000));
  ASSERT_TRUE(Take("cust", 1000, true)) << "the bucket of @p,shadow";
  ASSERT_TRUE(Take("other", 1000));
  EXPECT_EQ(OverrideAndTrim("cust", {"100/m"}), 2U);
  EXPECT_EQ(WaitOf("cust"), milliseconds{600});
  EXPECT_EQ(WaitOf("cust", true), milliseconds{600});
  EXPECT_EQ(WaitOf("other"), milliseconds{86400});
  EXPECT_EQ(OverrideAndTrim("cust", {"100/m"}), 0U);
}

TEST_F(PolicyTrimTest, OverrideOfAnotherMeaningCutsNothing) {
  ASSERT_TRUE(Take("k", 1000));
  EXPECT_EQ(OverrideAndTrim("k", {"5/m,fixed"}), 0U);
  EXPECT_EQ(OverrideAndTrim("k", {"none"}), 0U);
  EXPECT_EQ(OverrideAndTrim("k", {"unlimited", "100/m"}), 0U);
  ASSERT_TRUE(*policies_.RemoveOverride("p", "k"));
  EXPECT_EQ(WaitOf("k"), milliseconds{86400});
}

TEST_F(PolicyTrimTest, AllBucketsAreCutByTheNumbersOfTheirKeys) {
  Override("own", {"1000/h"});
  for (int i = 0; i < 1500; ++i) Override("k" + std::to_string(i), {"1000/h"});
  for (const char* key : {"a", "b", "own"}) ASSERT_TRUE(Take(key, 1000));
  ASSERT_TRUE(limiter_->Decide(Of({{"a", "1000/d", 1000}}), now_)->allowed);
  EXPECT_EQ(SetAndTrim({"100/m"}), 2U);
  EXPECT_GE(steps_, 3) << "1,501 overrides are two steps";
  for (const char* key : {"a", "b"}) EXPECT_EQ(WaitOf(key), milliseconds{600});
  EXPECT_EQ(WaitOf("own"), milliseconds{3600});
  EXPECT_EQ(Remaining("a", "1000/d"), 0) << "the same numbers without a policy";
  EXPECT_EQ(SetAndTrim({"100/m"}), 0U);
}

TEST_F(PolicyTrimTest, PresentNumbersCutWhatTheNumbersOfBeforeHaveLeft) {
  ASSERT_TRUE(Take("k", 1000));
  Set({"100/m"});
  EXPECT_GT(WaitOf("k"), hours{23});
  EXPECT_EQ(SetAndTrim({"100/m"}), 1U);
  EXPECT_EQ(WaitOf("k"), milliseconds{600});
}

// Goal: no step holds a thread for long. Method: more buckets than one step visits, in all
// partitions; the steps.
TEST_F(PolicyTrimTest, ManyBucketsAreCutInSteps) {
  constexpr int kKeys = 4000;
  for (int i = 0; i < kKeys; ++i) ASSERT_TRUE(Take("k" + std::to_string(i), 1000));
  EXPECT_EQ(SetAndTrim({"100/m"}), static_cast<std::size_t>(kKeys));
  EXPECT_GE(steps_, 1 + kKeys * 32 / (2 * 16'384));
}

TEST_F(PolicyTrimTest, StopsWhenThePolicyHasOtherLimitsOrIsDeleted) {
  for (const bool deletes : {false, true}) {
    constexpr int kKeys = 2000;
    for (int i = 0; i < kKeys; ++i) static_cast<void>(Take("k" + std::to_string(i), 1000));
    const PolicyLimits before = policies_.Find("p")->limits;
    Set({"100/m"});
    Limiter::PolicyTrim trim(*limiter_, policies_, before, policies_.Find("p"));
    while (trim.trimmed() == 0) ASSERT_FALSE(trim.Step(now_));
    const std::size_t trimmed = trim.trimmed();
    ASSERT_LT(trimmed, static_cast<std::size_t>(kKeys));
    if (deletes) {
      ASSERT_TRUE(policies_.Delete("p").ok());
    } else {
      Set({"10/d"});
    }
    EXPECT_TRUE(trim.Step(now_));
    EXPECT_TRUE(trim.is_outdated());
    EXPECT_EQ(trim.trimmed(), trimmed);
    Set({"1000/d"});
    upkeep_.Clear();
  }
}

// The present override of a key counts, although the first step copies all overrides. An override
// with greater numbers makes a new policy object, and does not stop the work.
TEST_F(PolicyTrimTest, OverridesThatChangeMeanwhileCount) {
  Override("gone", {"1000/h"});
  Override("changed", {"1000/h"});
  for (const char* key : {"new", "gone", "changed"}) ASSERT_TRUE(Take(key, 1000));
  const PolicyLimits before = policies_.Find("p")->limits;
  Set({"100/m"});
  Limiter::PolicyTrim trim(*limiter_, policies_, before, policies_.Find("p"));
  ASSERT_FALSE(trim.Step(now_));
  Override("new", {"2000/d"});
  Override("changed", {"100/m"});
  ASSERT_TRUE(*policies_.RemoveOverride("p", "gone"));
  while (!trim.Step(now_)) {
  }
  EXPECT_FALSE(trim.is_outdated());
  EXPECT_EQ(WaitOf("new"), milliseconds{43'200}) << "owes a day, as it may";
  EXPECT_EQ(WaitOf("gone"), milliseconds{600});
  EXPECT_EQ(WaitOf("changed"), milliseconds{600});
}

TEST_F(PolicyTrimTest, CutIsAChangeThatIsWrittenEvenIfTimeWentBack) {
  ASSERT_TRUE(Take("k", 1000));
  static_cast<void>(ChangeReader(limiter_->table()).TakeChanges(now_, false));
  EXPECT_EQ(OverrideAndTrim("k", {"100/m"}), 1U);
  const LimiterChanges changes = ChangeReader(limiter_->table()).TakeChanges(now_, false);
  ASSERT_EQ(changes.buckets.size(), 1U);
  EXPECT_TRUE(changes.buckets[0].went_back);
}

TEST_F(PolicyTrimTest, HoldsStayAndGiveNothingBackTwice) {
  ASSERT_TRUE(Hold(Asks("k", 600), "a", hours{1})->verdict.allowed);
  ASSERT_TRUE(Take("k", 400));
  EXPECT_EQ(OverrideAndTrim("k", {"1000/h"}), 1U);
  EXPECT_EQ(upkeep_.counts().open_holds, 1U);
  EXPECT_EQ(WaitOf("k"), milliseconds{3600});
  // 51,840 s were charged, and all but an hour of them are gone.
  EXPECT_TRUE(Cancel("a", "k"));
  EXPECT_EQ(limiter_->Peek(Asks("k", 0), now_).remaining, 0);
}

TEST_F(PolicyTrimTest, OtherBucketsOfAPartitionAndFullOnesStay) {
  ASSERT_TRUE(Take("k", 1));
  ASSERT_TRUE(
      limiter_->Decide(Of({{"k", "5/d,fixed", 5}, {"k", "5/d,sliding", 5}}), now_)->allowed);
  now_ += minutes{2};
  EXPECT_EQ(SetAndTrim({"1/s"}), 0U);
  EXPECT_EQ(Remaining("k", "5/d,fixed"), 0);
  EXPECT_EQ(Remaining("k", "5/d,sliding"), 0);
}

}  // namespace
}  // namespace weir
