// Goal: of a call those descriptors are decided that a rule limits, each in the way that its hits
// ask for. Method: calls in a short notation, against files of rules.
#include "rls/matched_call.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "rls/rule_file.h"

namespace weir {
namespace {

constexpr std::string_view kRules = R"(
domain: shop
descriptors:
- key: user
  rate_limit: {unit: minute, requests_per_unit: 2, name: per_user}
  descriptors:
  - {key: path, rate_limit: {unit: day, requests_per_unit: 3, replaces: [{name: per_user}]}}
- {key: vip, rate_limit: {unlimited: true, replaces: [{name: per_user}]}}
- {key: free}
- {key: trial, shadow_mode: true, rate_limit: {unit: hour, requests_per_unit: 1}}
- {key: pool, quota_mode: true, rate_limit: {unit: hour, requests_per_unit: 1}}
)";

RuleTree TreeFrom(std::string_view text) {
  std::vector<RuleFile> files;
  files.push_back(*ParseRuleFile(text, "a.yaml"));
  return *RuleTree::Create(std::move(files), false);
}

class MatchedCallTest : public testing::Test {
 protected:
  // Descriptors "a=1/b=2 +5", separated by ';'; "+n" are their own hits, "-n" negative ones, and
  // "@n" is a limit of n an hour that they bring.
  static std::string MessageOf(std::string_view descriptors, std::uint32_t hits) {
    rls::RateLimitRequest request;
    request.set_domain("shop");
    request.set_hits_addend(hits);
    for (const absl::string_view text : absl::StrSplit(AbslView(descriptors), ';')) {
      rls::Descriptor& sent = *request.add_descriptors();
      const std::vector<std::string> words = absl::StrSplit(text, ' ');
      for (const absl::string_view pair : absl::StrSplit(words[0], '/')) {
        const std::vector<std::string> entry = absl::StrSplit(pair, '=');
        rls::Entry& added = *sent.add_entries();
        added.set_key(entry[0]);
        added.set_value(entry[1]);
      }
      if (words.size() == 1) continue;
      const std::uint32_t number = static_cast<std::uint32_t>(std::stoul(words[1].substr(1)));
      if (words[1][0] == '@') {
        sent.mutable_limit()->set_unit(3);
        sent.mutable_limit()->set_requests_per_unit(number);
        continue;
      }
      sent.mutable_hits_addend()->set_value(number);
      sent.set_is_negative_hits(words[1][0] == '-');
    }
    return request.SerializeAsString();
  }

  // The answers in words: "-", "inf", "deny", or the way, the hits and the key of a part.
  std::string Match(std::string_view descriptors, std::uint32_t hits = 0) {
    const std::map<Way, std::string_view> ways = {{Way::kAsk, "ask"},
                                                  {Way::kLook, "look"},
                                                  {Way::kReport, "report"},
                                                  {Way::kRefund, "refund"}};
    EXPECT_TRUE(call_.Read(MessageOf(descriptors, hits)).ok());
    const MatchedCall plan(tree_, call_);
    std::vector<std::string> words;
    for (const MatchedDescriptor& matched : plan.descriptors()) {
      using Answer = MatchedDescriptor::Answer;
      if (matched.answer == Answer::kNoLimit) words.emplace_back("-");
      if (matched.answer == Answer::kDenied) words.emplace_back("deny");
      if (matched.answer == Answer::kUnlimited) words.emplace_back("inf");
      if (matched.answer != Answer::kPart) continue;
      const MatchedPart& part = plan.parts()[matched.part];
      words.push_back(
          absl::StrCat(AbslView(ways.at(part.way)), " ", part.hits, " ", AbslView(part.key)));
      if (part.is_shadow) words.back() += " shadow";
      if (part.is_quota) words.back() += " quota";
    }
    return absl::StrJoin(words, "; ");
  }

  RuleTree tree_ = TreeFrom(kRules);
  RateLimitCall call_;
};

TEST_F(MatchedCallTest, TheHitsSayTheWay) {
  EXPECT_EQ(Match("user=7"), "ask 1 rls:shop:user=7");
  EXPECT_EQ(Match("user=7", 1), "ask 1 rls:shop:user=7");
  EXPECT_EQ(Match("user=7", 3), "report 3 rls:shop:user=7");
  EXPECT_EQ(Match("user=7 +1"), "report 1 rls:shop:user=7");
  EXPECT_EQ(Match("user=7 +5", 3), "report 5 rls:shop:user=7");
  EXPECT_EQ(Match("user=7 +0", 3), "look 0 rls:shop:user=7");
  EXPECT_EQ(Match("user=7 -2"), "refund 2 rls:shop:user=7");
  EXPECT_EQ(Match("user=7 @5"), "ask 1 rls:shop:user=7");
  tree_ = TreeFrom("domain: shop\nhits: ask\ndescriptors: [{key: user, rate_limit: {unit: day}}]");
  EXPECT_EQ(Match("user=7 +5"), "ask 5 rls:shop:user=7");
  EXPECT_EQ(Match("user=7", 3), "ask 3 rls:shop:user=7");
  EXPECT_EQ(Match("user=7 +0"), "look 0 rls:shop:user=7");
}

TEST_F(MatchedCallTest, SomeDropOut) {
  EXPECT_EQ(Match("other=1"), "-");
  EXPECT_EQ(Match("free=1"), "-");
  EXPECT_EQ(Match("user=1/other=1"), "-");
  EXPECT_EQ(Match("vip=1"), "inf");
  EXPECT_EQ(Match("user=1;vip=1"), "-; inf");
  EXPECT_EQ(Match("user=1;user=1/path=2"), "-; ask 1 rls:shop:user=1,path=2");
  EXPECT_EQ(Match("user=1 @5;vip=1"), "ask 1 rls:shop:user=1; inf");
  EXPECT_EQ(Match("user=1;vip=1 @5"), "ask 1 rls:shop:user=1; ask 1 rls:shop:vip=1");
  tree_ = TreeFrom("domain: shop\non_no_match: deny\ndescriptors: [{key: free}]");
  EXPECT_EQ(Match("free=1;other=1"), "-; deny");
  tree_ = TreeFrom("domain: market\non_no_match: deny");
  EXPECT_EQ(Match("free=1;user=1 @5"), "-; -");
}

TEST_F(MatchedCallTest, ALimitOfZeroInTheCallCountsForItsBucket) {
  const auto numbers = [this](std::string_view descriptors) {
    EXPECT_TRUE(call_.Read(MessageOf(descriptors, 0)).ok());
    std::vector<std::uint32_t> found;
    const MatchedCall plan(tree_, call_);
    for (const MatchedPart& part : plan.parts()) {
      found.push_back(part.inline_limit ? part.inline_limit->requests_per_unit : 99);
    }
    return found;
  };
  EXPECT_EQ(numbers("user=7 @5;user=7 @0;user=7 @3"), (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(numbers("user=7 @5;user=8 @0;user=7"), (std::vector<std::uint32_t>{5, 0, 99}));
}

TEST_F(MatchedCallTest, RulesSayThatTheyAreShadowsOrQuota) {
  EXPECT_EQ(Match("trial=1;pool=1"), "ask 1 rls:shop:trial=1 shadow; ask 1 rls:shop:pool=1 quota");
}

}  // namespace
}  // namespace weir
