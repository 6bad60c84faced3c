// Goal: each rule with a limit has a policy of its own, whose name stays when the number changes.
// Method: names against those that the header describes.
#include "rls/rule_policies.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/words/limit_grammar.h"
#include "rls/rule_file.h"

namespace weir {
namespace {

using testing::MatchesRegex;

RulePolicies PoliciesIn(std::string_view text) {
  std::vector<RuleFile> files;
  files.push_back(*ParseRuleFile(text, "a.yaml"));
  return *PoliciesOf(*RuleTree::Create(std::move(files), false));
}

TEST(RulePoliciesTest, NamesTellThePathOfTheRule) {
  const RulePolicies policies = PoliciesIn(R"(
domain: shop
descriptors:
- key: user
  rate_limit: {unit: minute, requests_per_unit: 2}
  descriptors:
  - {key: path-1, value: v_1, rate_limit: {unit: day, requests_per_unit: 0}}
- {key: free}
- {key: vip, rate_limit: {unlimited: true}}
- {key: many, rate_limit: {limits: ["10/s", "1000/h"]}}
)");
  EXPECT_THAT(policies.names, testing::ElementsAre("rls:shop.user", "rls:shop.user.path-1:v_1", "",
                                                   "", "rls:shop.many"));
  ASSERT_EQ(policies.policies.size(), 4U);
  EXPECT_EQ(policies.policies[0].first, kInlinePolicy);
  EXPECT_EQ(policies.policies[1].first, "rls:shop.user");
  EXPECT_EQ(PolicyLimitText(policies.policies[1].second.front()), "2/m,fixed,aligned");
  EXPECT_EQ(PolicyLimitText(policies.policies[2].second.front()), "none");
  EXPECT_EQ(policies.policies[3].second.size(), 2U);
}

TEST(RulePoliciesTest, OtherNamesHaveAHash) {
  const std::string rule = "\n- {key: user, rate_limit: {unit: day}, value: ";
  const RulePolicies policies = PoliciesIn("domain: a.b\ndescriptors:" + rule + "a*}" + rule +
                                           "b*}" + rule + std::string(100, 'x') + "}");
  const std::vector<std::string>& names = policies.names;
  ASSERT_EQ(names.size(), 3U);
  EXPECT_THAT(names[0], MatchesRegex("rls:a_b\\.user:a_:[0-9a-f]{16}"));
  EXPECT_NE(names[0], names[1]);
  EXPECT_EQ(names[2].size(), kLabelBytesMax);
  for (const std::string& name : names) EXPECT_TRUE(IsLabel(name)) << name;
  EXPECT_EQ(PoliciesIn("domain: a.b\ndescriptors:" + rule + "a*}").names[0], names[0]);
}

TEST(RulePoliciesTest, LimitsOfCallsHaveAPositionForEachUnit) {
  const RulePolicies policies = PoliciesIn("domain: a");
  const PolicyLimits& limits = policies.policies[0].second;
  ASSERT_EQ(limits.size(), 7U);
  EXPECT_EQ(PolicyLimitText(limits[InlinePosition(RuleUnit::kSecond)]),
            "2147483647/s,fixed,aligned");
  EXPECT_EQ(PolicyLimitText(limits[InlinePosition(RuleUnit::kWeek)]), "2147483647/w,fixed,aligned");
  EXPECT_EQ(PolicyLimitText(limits[InlinePosition(RuleUnit::kYear)]),
            "2147483647/365d,fixed,aligned");
}

}  // namespace
}  // namespace weir
