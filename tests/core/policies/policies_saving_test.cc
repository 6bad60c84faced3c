// Goal: a save receives the changed policies, a failed save loses nothing, and policies are
// restored as they were saved. Method: one change after the other by hand.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/policies/policies.h"
#include "tests/random/generators.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

std::string TextOf(const PolicyLimits& limits) {
  std::string text;
  for (const PolicyLimit& limit : limits) text += PolicyLimitText(limit) + " ";
  return text;
}

// The whole content of the policies, with their ids.
std::vector<std::string> TextOf(const Policies& policies) {
  std::vector<std::string> lines;
  for (const std::shared_ptr<const Policy>& policy : policies.All()) {
    lines.push_back(policy->name + " " + std::to_string(NumberOf(policy->id)) +
                    (policy->from_file ? " of the file " : " ") + TextOf(policy->limits));
    for (const PolicyLimit& limit : policy->limits) {
      EXPECT_EQ(limit.limit.owner().policy, policy->id);
    }
    policy->overrides->ForEach([&](const std::string& key, const PolicyLimits& limits) {
      lines.push_back(policy->name + "[" + key + "] " + TextOf(limits));
      EXPECT_EQ(limits.front().limit.owner(), (LimitOwner{policy->id, 0}));
      return true;
    });
  }
  return lines;
}

class PoliciesSavingTest : public testing::Test {
 protected:
  PoliciesSavingTest() { policies_.StartLogging(); }

  void Set(std::string_view name, std::string_view word) {
    EXPECT_TRUE(policies_.Set(name, LimitsOf({word})).ok());
  }
  void Override(std::string_view name, std::string_view key, std::string_view word) {
    EXPECT_TRUE(policies_.Override(name, key, LimitsOf({word})).ok());
  }

  Policies policies_;
};

TEST_F(PoliciesSavingTest, TakesPresentPolicies) {
  Set("free", "10/s");
  Set("free", "20/s");
  Override("free", "user:1", "30/s");
  Override("free", "user:1", "40/s");
  const PolicyChanges changes = policies_.TakeChanges();
  ASSERT_EQ(changes.policies.size(), 1U);
  EXPECT_EQ(TextOf(changes.policies[0].policy->limits), "20/s ");
  ASSERT_EQ(changes.overrides.size(), 1U);
  EXPECT_EQ(changes.overrides[0].key, "user:1");
  EXPECT_EQ(TextOf(*changes.overrides[0].limits), "40/s ");
  EXPECT_EQ(changes.next_id, PolicyId{2});
  EXPECT_TRUE(policies_.TakeChanges().empty());
}

TEST_F(PoliciesSavingTest, TakesDeletedPolicies) {
  Set("free", "10/s");
  Override("free", "user:1", "30/s");
  Override("free", "user:2", "30/s");
  static_cast<void>(policies_.TakeChanges());
  EXPECT_TRUE(*policies_.RemoveOverride("free", "user:1"));
  const PolicyChanges removed = policies_.TakeChanges();
  EXPECT_TRUE(removed.policies.empty());
  ASSERT_EQ(removed.overrides.size(), 1U);
  EXPECT_EQ(removed.overrides[0].limits, nullptr);

  EXPECT_TRUE(policies_.Delete("free").ok());
  Set("free", "11/s");
  const PolicyChanges changes = policies_.TakeChanges();
  ASSERT_EQ(changes.policies.size(), 2U);
  for (const PolicyChanges::PolicyChange& change : changes.policies) {
    EXPECT_EQ(change.policy == nullptr, change.id == PolicyId{1});
  }
  ASSERT_EQ(changes.overrides.size(), 1U) << "the policy's overrides go with it";
  EXPECT_EQ(changes.overrides[0].key, "user:2");
  EXPECT_EQ(changes.overrides[0].limits, nullptr);
  EXPECT_EQ(changes.next_id, PolicyId{3});
}

// Goal: a save receives each override of a deleted policy once, including overrides that were
// removed before. Method: an override that is saved, one that is saved and removed, and one that is
// not saved.
TEST_F(PoliciesSavingTest, TakesEachOverrideOfADeletedPolicyOnce) {
  Set("free", "10/s");
  Override("free", "saved", "30/s");
  Override("free", "removed", "30/s");
  static_cast<void>(policies_.TakeChanges());
  Override("free", "saved", "31/s");
  Override("free", "new", "30/s");
  EXPECT_TRUE(*policies_.RemoveOverride("free", "removed"));
  EXPECT_TRUE(policies_.Delete("free").ok());
  policies_.FreeDeleted();
  const PolicyChanges changes = policies_.TakeChanges();
  std::vector<std::string> keys;
  for (const OverrideChange& change : changes.overrides) {
    EXPECT_EQ(change.policy, PolicyId{1});
    EXPECT_EQ(change.limits, nullptr);
    keys.push_back(change.key);
  }
  EXPECT_THAT(keys, testing::UnorderedElementsAre("saved", "removed", "new"));
  EXPECT_TRUE(policies_.TakeChanges().empty());
}

TEST_F(PoliciesSavingTest, TakesTheFilesPoliciesToo) {
  ASSERT_TRUE(policies_.ReplaceFile({{"a", LimitsOf({"1/s"})}, {"b", LimitsOf({"2/s"})}}).ok());
  EXPECT_EQ(policies_.TakeChanges().policies.size(), 2U);
  ASSERT_TRUE(policies_.ReplaceFile({{"b", LimitsOf({"2/s"})}}).ok());
  PolicyChanges changes = policies_.TakeChanges();
  EXPECT_EQ(std::ranges::count(changes.policies, nullptr, &PolicyChanges::PolicyChange::policy), 0)
      << "a retired policy stays";
  ASSERT_TRUE(policies_.Delete("a").ok());
  changes = policies_.TakeChanges();
  EXPECT_EQ(std::ranges::count(changes.policies, nullptr, &PolicyChanges::PolicyChange::policy), 1);
}

TEST_F(PoliciesSavingTest, RestoreBringsPoliciesBack) {
  Set("gone", "1/s");
  Set("free", "10/s,name=x,cost=2");
  Set("ban", "none");
  ASSERT_TRUE(policies_.ReplaceFile({{"filed", LimitsOf({"1/s", "5/m,fixed,aligned"})}}).ok());
  Override("free", std::string("\0 \xFF", 3), "unlimited");
  Override("filed", "", "7/s,shadow");
  EXPECT_TRUE(policies_.Delete("gone").ok());
  const PolicyChanges changes = policies_.TakeChanges();

  Policies restored;
  restored.StartLogging();
  for (const PolicyChanges::PolicyChange& one : changes.policies) {
    EXPECT_EQ(one.policy && restored.Restore(*one.policy), one.policy != nullptr);
  }
  for (const OverrideChange& change : changes.overrides) {
    EXPECT_TRUE(restored.RestoreOverride(change.policy, change.key, *change.limits));
  }
  restored.RestoreNextId(changes.next_id);
  EXPECT_EQ(TextOf(restored), TextOf(policies_));
  EXPECT_TRUE(restored.TakeChanges().empty()) << "what was loaded need not be saved";
  ASSERT_TRUE(restored.Set("new", LimitsOf({"1/s"})).ok());
  ASSERT_TRUE(policies_.Set("new", LimitsOf({"1/s"})).ok());
  EXPECT_EQ(TextOf(restored), TextOf(policies_)) << "ids go on where they were";
}

TEST_F(PoliciesSavingTest, IdsAreNeverUsedAgain) {
  Set("free", "10/s");
  EXPECT_TRUE(policies_.Delete("free").ok());
  Policies restored;
  restored.RestoreNextId(policies_.TakeChanges().next_id);
  ASSERT_TRUE(restored.Set("paid", LimitsOf({"1/s"})).ok());
  EXPECT_EQ(restored.Find("paid")->id, PolicyId{2});
  restored.RestoreNextId(PolicyId{1});
  ASSERT_TRUE(restored.Set("more", LimitsOf({"1/s"})).ok());
  EXPECT_EQ(restored.Find("more")->id, PolicyId{3}) << "never back";
}

TEST_F(PoliciesSavingTest, RestoreRefusesImpossibleRecords) {
  const auto policy = [](std::string name, PolicyId id) {
    return Policy{std::move(name), id, false, LimitsOf({"10/s"}), nullptr};
  };
  EXPECT_TRUE(policies_.Restore(policy("free", PolicyId{7})));
  EXPECT_FALSE(policies_.Restore(policy("paid", PolicyId{7}))) << "the id is taken";
  EXPECT_FALSE(policies_.Restore(policy("free", PolicyId{8}))) << "the name is taken";
  EXPECT_FALSE(policies_.Restore(policy("", PolicyId{8})));
  EXPECT_FALSE(policies_.Restore(policy("a b", PolicyId{8})));
  EXPECT_FALSE(policies_.Restore(policy("paid", PolicyId{0})));
  EXPECT_FALSE(policies_.Restore(policy("paid", kThrottleOwner.policy)));
  EXPECT_FALSE(policies_.RestoreOverride(PolicyId{8}, "user:1", LimitsOf({"10/s"})));
  EXPECT_TRUE(policies_.RestoreOverride(PolicyId{7}, "user:1", LimitsOf({"10/s"})));
  EXPECT_FALSE(policies_.RestoreOverride(PolicyId{7}, "user:1", LimitsOf({"11/s"})))
      << "it is there";
  EXPECT_EQ(policies_.All().size(), 1U);
}

}  // namespace
}  // namespace weir
