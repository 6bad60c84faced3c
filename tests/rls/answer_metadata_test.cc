// Goal: the metadata of an answer tell what was asked, what was said, and what the rules say.
// Method: calls and statuses written here, and the metadata as a line of text.
#include "rls/answer_metadata.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rls/rule_file.h"
#include "tests/rls/metadata_text.h"

namespace weir {
namespace {

constexpr std::string_view kRulesWithMetadata = R"(
domain: shop
descriptors:
- {key: a, rate_limit: {unit: day, requests_per_unit: 1, name: one}, metadata: {m: {x: 1}, tier: 1}}
- {key: b, rate_limit: {unit: day, requests_per_unit: 1}, metadata: {m: {x: 2, y: [no]}, tier: 2}}
- {key: vip, rate_limit: {unlimited: true, replaces: [{name: gone}]}, metadata: {vip: 1}}
- {key: gone, rate_limit: {unit: day, name: gone}, metadata: {gone: 1}}
- {key: free, metadata: {free: yes}}
)";

// Of a call about the entries `key=1`, answered with the statuses.
std::string MetadataText(const std::vector<std::string>& keys,
                         std::vector<DescriptorStatus> statuses) {
  rls::RateLimitRequest request;
  request.set_domain("shop");
  for (const std::string& key : keys) {
    rls::Entry& entry = *request.add_descriptors()->add_entries();
    entry.set_key(key);
    entry.set_value("1");
  }
  RateLimitCall call;
  EXPECT_TRUE(call.Read(request.SerializeAsString()).ok());
  std::vector<RuleFile> files;
  files.push_back(*ParseRuleFile(kRulesWithMetadata, "a.yaml"));
  const RuleTree tree = *RuleTree::Create(std::move(files), false);
  const RateLimitAnswer answer = {.statuses = std::move(statuses)};
  return TextOf(MetadataOf(call, MatchedCall(tree, call), answer).back().metadata);
}

TEST(AnswerMetadataTest, ThoseOfRulesThatPassAreMerged) {
  const DescriptorStatus over = {.is_over = true};
  EXPECT_EQ(MetadataText({"a", "b"}, {{}, {}}), "{m={x=1;y=[false;];};tier=1;}");
  EXPECT_EQ(MetadataText({"b", "a"}, {{}, {}}), "{m={x=2;y=[false;];};tier=2;}");
  EXPECT_EQ(MetadataText({"a", "b"}, {over, {}}), "{m={x=2;y=[false;];};tier=2;}");
  EXPECT_EQ(MetadataText({"vip", "gone", "free"}, {{}, {}, {}}), "{free=true;}");
}

TEST(AnswerMetadataTest, ACallAndItsAnswerAreTold) {
  rls::RateLimitRequest request;
  request.set_domain("sh\xffop");
  request.set_hits_addend(7);
  rls::Descriptor& first = *request.add_descriptors();
  for (const std::string_view value : {"1", "\xe9"}) {
    rls::Entry& entry = *first.add_entries();
    entry.set_key("k");
    entry.set_value(std::string(value));
  }
  first.mutable_limit()->set_requests_per_unit(10);
  first.mutable_limit()->set_unit(4);
  first.mutable_hits_addend()->set_value(0);
  rls::Limit& limit = *request.add_descriptors()->mutable_limit();
  limit.set_unit(1);
  limit.mutable_unit_multiplier()->set_value(5);
  request.add_descriptors();
  RateLimitCall call;
  ASSERT_TRUE(call.Read(request.SerializeAsString()).ok());
  const RuleTree tree = *RuleTree::Create({}, false);
  RateLimitAnswer answer;
  answer.statuses = {
      {.is_over = true, .limit = AnsweredLimit{.name = "n"}, .retry_after = Nanos{1'000'001}},
      {.is_over = true, .limit = AnsweredLimit{}, .retry_after = kNever},
      {}};
  EXPECT_EQ(TextOf({.value = MetadataOf(call, MatchedCall(tree, call), answer)}),
            "{domain=\"sh\xef\xbf\xbdop\";descriptors=["
            "{entries=[\"k=1\";\"k=\xef\xbf\xbd\";];limit=\"requests_per_unit:10 unit:DAY\";"
            "hitsAddend=0;code=\"OVER_LIMIT\";limitName=\"n\";retryAfterMs=2;};"
            "{entries=[];limit=\"unit:SECOND unit_multiplier:{value:5}\";code=\"OVER_LIMIT\";"
            "retryAfterMs=-1;};{entries=[];code=\"OK\";};];hitsAddend=7;}");
}

}  // namespace
}  // namespace weir
