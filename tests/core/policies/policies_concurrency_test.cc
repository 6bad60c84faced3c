// Goal: a change of a policy is atomic to threads that decide: every verdict uses the limits of one
// version. Method: four threads, each with its own memo, decide on @p while another thread sets,
// deletes and overrides p in turn; no two versions have a limit in common. ThreadSanitizer watches
// (the preset tsan).
#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/id_type.h"
#include "core/commands/request_grammar.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/policies/limit_memo.h"
#include "core/policies/policies.h"
#include "core/policies/policy_bytes.h"
#include "tests/support/fake_clock.h"
#include "tests/support/policy_limits.h"
#include "tests/support/printing.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

constexpr std::size_t kDeciders = 4;

class PoliciesConcurrencyTest : public testing::Test {
 protected:
  using Words = std::vector<std::string_view>;

  void Set(const Words& words) { EXPECT_TRUE(policies_.Set("p", LimitsOf(words)).ok()); }
  void Override(std::string_view key, const Words& words) {
    EXPECT_TRUE(policies_.Override("p", key, LimitsOf(words)).ok());
  }
  void Delete() {
    const absl::StatusOr<PolicyId> gone = policies_.Delete("p");
    ASSERT_TRUE(gone.ok());
    LimiterUpkeep(limiter_->table()).ForgetPolicies({{*gone}});
  }

  // True until the decider has made enough decisions, over enough changes.
  [[nodiscard]] bool GoOn(std::int64_t seen) const {
    return rounds_ < Scaled(300) || seen < Scaled(10'000);
  }

  // Runs decide(i) in four threads, and change(round) in another thread until those four have
  // ended.
  template <typename Decide, typename Change>
  void InThreads(Decide decide, Change change) {
    std::latch start(kDeciders + 1);
    std::atomic<std::size_t> working = kDeciders;
    std::vector<std::thread> pool;
    for (std::size_t i = 0; i < kDeciders; ++i) {
      pool.emplace_back([&, i] {
        start.arrive_and_wait();
        decide(i);
        --working;
      });
    }
    start.arrive_and_wait();
    for (; working > 0; ++rounds_) change(rounds_);
    for (std::thread& thread : pool) thread.join();
  }

  Policies policies_;
  const std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{});
  FakeClock clock_;
  std::atomic<std::int64_t> rounds_ = 0;
};

// The limits that decided a request, in words.
std::string ContentText(const ParsedRequest& request) {
  std::string text;
  for (const Check& check : request.checks) text += LimitText(*check.limit) + " ";
  return text;
}

TEST_F(PoliciesConcurrencyTest, EveryVerdictIsByOneVersion) {
  const std::vector<Words> versions = {{"1G/s"}, {"2G/s", "3G/s"}, {"4G/s", "5G/s", "6G/s"}};
  const Words own = {"7G/s", "8G/s"};
  const auto one_of_them = testing::AnyOf("1G/s ", "2G/s 3G/s ", "4G/s 5G/s 6G/s ", "7G/s 8G/s ");

  const auto decide = [&](std::size_t self) {
    LimitMemo memo(&policies_);
    const std::string key = self % 2 == 0 ? "shared" : "k" + std::to_string(self);
    const std::vector<std::string_view> words = {key, "@p"};
    for (std::int64_t verdicts = 0; GoOn(verdicts);) {
      const absl::StatusOr<ParsedRequest> request =
          ParseRequest(words, memo, KeyHashes(limiter_->hasher()));
      if (!request.ok()) {
        ASSERT_EQ(request.status().code(), absl::StatusCode::kNotFound);
        continue;
      }
      ASSERT_THAT(ContentText(*request), one_of_them);
      const absl::StatusOr<Verdict> verdict = limiter_->Decide(request->checks, clock_.Now());
      ASSERT_TRUE(verdict.ok()) << verdict.status();
      ASSERT_EQ(verdict->decisions.size(), request->checks.size());
      for (std::size_t i = 0; i < request->checks.size(); ++i) {
        ASSERT_LE(verdict->decisions[i].remaining, request->checks[i].limit->shape().burst);
        ASSERT_TRUE(verdict->decisions[i].allowed || verdict->decisions[i].retry_after > Nanos{0});
      }
      ++verdicts;
    }
  };
  const auto change = [&](std::int64_t round) {
    for (const Words& words : versions) {
      Set(words);
      Override("shared", own);
      EXPECT_TRUE(policies_.RemoveOverride("p", "shared").ok());
    }
    if (round % 2 == 0) Delete();
    LimiterUpkeep(limiter_->table()).ReclaimLimits(1, 64);
  };
  InThreads(decide, change);

  // A decision on an old version may have left a bucket of the deleted policy. No request reads
  // that bucket: a new policy starts full, and the bucket is swept once it is full.
  EXPECT_TRUE(policies_.ReplaceFile({}).ok());
  if (policies_.Find("p")) Delete();
  Set({"10/s"});
  LimitMemo memo(&policies_);
  const std::vector<std::string_view> words = {"shared", "@p"};
  EXPECT_EQ(
      limiter_->Peek(ParseRequest(words, memo, KeyHashes(limiter_->hasher()))->checks, clock_.Now())
          .remaining,
      9);
  clock_.Advance(std::chrono::hours{1});
  for (std::size_t i = 0; i < kPartitionCount; ++i)
    LimiterUpkeep(limiter_->table()).Sweep(i, clock_.Now());
  EXPECT_EQ(LimiterUpkeep(limiter_->table()).size().buckets, 0U);
}

// At a frozen clock no token comes back, whatever the numbers are in between: during one policy's
// life no more is admitted than the largest of its bursts.
TEST_F(PoliciesConcurrencyTest, ChangesGiveNothingBack) {
  const std::vector<Words> versions = {{"1000/s"}, {"1000/s,burst=100"}, {"1000/s,burst=1"}};
  Set(versions[0]);
  std::atomic<std::int64_t> admitted = 0;
  const auto decide = [&](std::size_t) {
    LimitMemo memo(&policies_);
    const std::vector<std::string_view> words = {"k", "@p"};
    for (std::int64_t asked = 0; GoOn(asked); ++asked) {
      const absl::StatusOr<ParsedRequest> request =
          ParseRequest(words, memo, KeyHashes(limiter_->hasher()));
      ASSERT_TRUE(request.ok());
      if (limiter_->Decide(request->checks, clock_.Now())->allowed) ++admitted;
    }
  };
  const auto change = [&](std::int64_t round) {
    Set(versions[static_cast<std::size_t>(round) % versions.size()]);
    Override("k", {"1000/s,burst=500"});
    EXPECT_TRUE(policies_.RemoveOverride("p", "k").ok());
  };
  InThreads(decide, change);
  EXPECT_LE(admitted, 1000);
  EXPECT_EQ(LimiterUpkeep(limiter_->table()).size().buckets, 1U);
}

// Every thread makes every kind of change.
TEST_F(PoliciesConcurrencyTest, ManyMayChangeAtOnce) {
  const auto decide = [&](std::size_t self) {
    const std::string name = "p" + std::to_string(self % 2);
    const std::vector<std::string_view> limits = {"10/s", "5/m,fixed"};
    LimitMemo memo(&policies_);
    const std::string word = "@" + name;
    const std::vector<std::string_view> words = {"k", word};
    for (std::int64_t round = 0; round < Scaled(2'000); ++round) {
      EXPECT_TRUE(policies_.Set(name, LimitsOf(limits)).ok());
      const absl::Status overridden = policies_.Override(name, "k", LimitsOf(limits));
      EXPECT_TRUE(overridden.ok() || absl::IsNotFound(overridden));
      const absl::StatusOr<ParsedRequest> request =
          ParseRequest(words, memo, KeyHashes(limiter_->hasher()));
      if (request.ok()) {
        EXPECT_TRUE(limiter_->Decide(request->checks, clock_.Now()).ok());
        const Limit& limit = *request->checks[0].limit;
        const std::optional<Limit> present = policies_.PresentLimit(limit, "k");
        EXPECT_TRUE(!present || present->SharesBucketsWith(limit));
      }
      const absl::StatusOr<PolicyId> gone = policies_.Delete(name);
      if (gone.ok()) LimiterUpkeep(limiter_->table()).ForgetPolicies({{*gone}});
    }
  };
  InThreads(decide, [&](std::int64_t) { EXPECT_LE(policies_.All().size(), 2U); });
  EXPECT_LE(policies_.All().size(), 2U);
}

// All policies and overrides, as text.
std::vector<std::string> ContentText(const Policies& policies) {
  std::vector<std::string> text;
  for (const auto& policy : policies.All()) {
    text.push_back(PolicyValue(*policy));
    for (const auto& [key, limits] : policy->overrides->All()) {
      text.push_back(policy->name + key + ": " + OverrideValue(*limits));
    }
  }
  return text;
}

// Goal: copies that are made while others change policies are completed by the changes that are
// taken after them. Method: a thread that changes policies and overrides all the time.
TEST(PoliciesReplicationTest, CopiesMayMeetChanges) {
  constexpr int kKeys = 5'000;
  Policies primary;
  primary.StartLogging();
  ASSERT_TRUE(primary.Set("p", LimitsOf({"10/s"})).ok());
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(primary.Override("p", "k" + std::to_string(i), LimitsOf({"1/s"})).ok());
  }
  std::atomic<bool> stop = false;
  std::thread changer([&] {
    for (int i = 0; !stop; i = (i + 77) % kKeys) {
      const std::string key = "k" + std::to_string(i);
      if (!*primary.RemoveOverride("p", key)) {
        EXPECT_TRUE(primary.Override("p", key, LimitsOf({i % 2 == 0 ? "2/s" : "3/s"})).ok());
      }
      const bool changed = primary.Delete("q").ok() || primary.Set("q", LimitsOf({"1/s"})).ok();
      EXPECT_TRUE(changed);
    }
  });
  Policies replica;
  for (std::int64_t i = 0; i < Scaled(20); ++i) {
    replica.Apply(primary.TakeChanges(), false);
    replica.Apply(primary.List(), true);
    for (std::uint16_t partition = 0; partition < kPartitionCount; ++partition) {
      replica.ReplaceOverrides(partition, primary.OverridesIn(partition));
    }
  }
  stop = true;
  changer.join();
  replica.Apply(primary.TakeChanges(), false);
  EXPECT_EQ(ContentText(replica), ContentText(primary));
}

}  // namespace
}  // namespace weir
