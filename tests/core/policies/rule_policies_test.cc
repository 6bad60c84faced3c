// Goal: the policies that rules make are apart from those of clients and of the policy file: their
// names, their number and their replacement. Method: examples.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status.h"
#include "core/policies/policies.h"
#include "tests/support/policy_limits.h"
#include "tests/support/printing.h"

namespace weir {
namespace {

class RulePoliciesTest : public testing::Test {
 protected:
  Policies policies_;
};

TEST_F(RulePoliciesTest, ThoseOfRulesAreReplacedByThemselves) {
  const PolicyLimits limits = LimitsOf({"1/s"});
  ASSERT_TRUE(policies_.Set("rls:before", LimitsOf({"1/s"})).ok());
  ASSERT_TRUE(policies_.ReplaceFile({{"rls:a", limits}}, FilePart::kRules).ok());
  ASSERT_TRUE(policies_.ReplaceFile({{"b", limits}}, FilePart::kOthers).ok());
  EXPECT_FALSE(policies_.Find("rls:a")->retired);
  ASSERT_TRUE(policies_.ReplaceFile({}, FilePart::kRules).ok());
  EXPECT_TRUE(policies_.Find("rls:a")->retired);
  EXPECT_FALSE(policies_.Find("b")->retired);
  constexpr std::string_view kError =
      "policy 'rls:c' belongs to the rules of rls-config: change them there";
  EXPECT_EQ(StdView(policies_.Set("rls:c", limits).message()), kError);
  const auto other = policies_.ReplaceFile({{"rls:c", limits}}, FilePart::kOthers);
  EXPECT_EQ(StdView(other.status().message()), kError);
  EXPECT_TRUE(policies_.Delete("rls:a").ok());
  ASSERT_TRUE(policies_.ReplaceFile({}).ok());
  EXPECT_TRUE(policies_.Set("rls:c", limits).ok());
}

TEST_F(RulePoliciesTest, ThoseOfRulesHaveABoundOfTheirOwn) {
  const PolicyLimits limits = LimitsOf({"1/s"});
  for (std::size_t i = 0; i < kPoliciesMax; ++i)
    ASSERT_TRUE(policies_.Set("p" + std::to_string(i), LimitsOf({"10/s"})).ok());
  std::vector<std::pair<std::string, PolicyLimits>> rules;
  for (std::size_t i = 0; i < kRulePoliciesMax; ++i) {
    rules.emplace_back("rls:" + std::to_string(i), limits);
  }
  ASSERT_TRUE(policies_.ReplaceFile(rules, FilePart::kRules).ok());
  EXPECT_EQ(policies_.size().policies, kAllPoliciesMax);
  rules.pop_back();
  ASSERT_TRUE(policies_.ReplaceFile(rules, FilePart::kRules).ok());
  rules.emplace_back("rls:more", limits);
  EXPECT_EQ(StdView(policies_.ReplaceFile(rules, FilePart::kRules).status().message()),
            "too many policies of rules, with those that are retired: at most 20002 (RL.POLICY DEL "
            "deletes retired ones)");
  EXPECT_TRUE(policies_.Delete("rls:20001").ok());
  EXPECT_TRUE(policies_.ReplaceFile(rules, FilePart::kRules).ok());
  EXPECT_FALSE(policies_.Set("more", limits).ok());
  EXPECT_TRUE(policies_.Delete("p1").ok());
  EXPECT_TRUE(policies_.Set("more", limits).ok());
}

TEST_F(RulePoliciesTest, AClientsPolicyIsNotTakenForARule) {
  ASSERT_TRUE(policies_.Set("rls:a", LimitsOf({"1/s"})).ok());
  const auto taken = policies_.ReplaceFile({{"rls:a", LimitsOf({"2/s"})}}, FilePart::kRules);
  EXPECT_EQ(StdView(taken.status().message()),
            "policy 'rls:a' was made by a client, and a rule needs its name: RL.POLICY DEL");
  EXPECT_EQ(LimitText(policies_.Find("rls:a")->limits[0].limit), "1/s");
  EXPECT_TRUE(policies_.Delete("rls:a").ok());
  EXPECT_TRUE(policies_.ReplaceFile({{"rls:a", LimitsOf({"2/s"})}}, FilePart::kRules).ok());
}

TEST_F(RulePoliciesTest, AFileThatStaysTheSameChangesNothing) {
  policies_.StartLogging();
  const std::vector<std::pair<std::string, PolicyLimits>> file = {
      {"a", LimitsOf({"1/s,cost=2"})}, {"b", LimitsOf({"1/s", "5/h,name=x"})}};
  ASSERT_TRUE(policies_.ReplaceFile(file).ok());
  EXPECT_EQ(policies_.TakeChanges().policies.size(), 2U);
  const std::uint64_t version = policies_.version();
  ASSERT_TRUE(policies_.ReplaceFile(file).ok());
  EXPECT_EQ(policies_.version(), version);
  EXPECT_TRUE(policies_.TakeChanges().empty());
  ASSERT_TRUE(policies_.ReplaceFile({file[0], {"b", LimitsOf({"1/s", "5/h,name=y"})}}).ok());
  EXPECT_EQ(policies_.TakeChanges().policies.size(), 1U);
  ASSERT_TRUE(policies_.ReplaceFile({file[0]}).ok());
  ASSERT_TRUE(policies_.ReplaceFile({file[0], {"b", LimitsOf({"1/s", "5/h,name=y"})}}).ok());
  EXPECT_FALSE(policies_.Find("b")->retired);
}

}  // namespace
}  // namespace weir
