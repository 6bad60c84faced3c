// Goal: a rule that loads and may not say what its author means gets a remark with its place.
// Method: files with one such rule each, and their neighbours without.
#include "rls/rule_remarks.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rls/rule_file.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Remarks(const std::vector<std::string>& texts) {
  std::vector<RuleFile> files;
  for (const std::string& text : texts) {
    const char name = static_cast<char>('a' + files.size());
    absl::StatusOr<RuleFile> file = ParseRuleFile(text, std::string(1, name) + ".yaml");
    EXPECT_TRUE(file.ok()) << file.status();
    files.push_back(*std::move(file));
  }
  return RemarksOn(files);
}

TEST(RuleRemarksTest, NumbersThatAreMissingOrTooGreat) {
  EXPECT_THAT(
      Remarks({"domain: d\ndescriptors:\n- key: a\n  rate_limit:\n    unit: day\n"}),
      ElementsAre("a.yaml:5: a limit without requests_per_unit: it is 0, and all is denied"));
  EXPECT_THAT(
      Remarks({"domain: d\ndescriptors:\n- key: a\n  rate_limit: {unit: day,\n    "
               "requests_per_unit: 4294967295}\n"}),
      ElementsAre("a.yaml:5: requests_per_unit 4294967295 is decided as 2147483647; no limit is "
                  "`unlimited: true`"));
  EXPECT_THAT(
      Remarks({"domain: d\ndescriptors:\n- key: a\n  rate_limit: {unit: day, "
               "requests_per_unit: 2147483647}\n- key: b\n  rate_limit: {unlimited: on}\n"}),
      IsEmpty());
}

TEST(RuleRemarksTest, KeysThatTheReferenceDoesNotHaveAreToldOnce) {
  EXPECT_THAT(
      Remarks({"domain: d\non_no_match: deny\ndescriptors:\n- key: a\n  rate_limit: {limits: "
               "[1/s]}\n- key: b\n  rate_limit: {limits: [1/s]}\n"}),
      ElementsAre(
          "a.yaml:2: 'on_no_match' is a key of weir's own: envoyproxy/ratelimit refuses the file",
          "a.yaml:5: 'limits' is a key of weir's own: envoyproxy/ratelimit refuses the file"));
}

TEST(RuleRemarksTest, RulesBehindAPatternThatTakesAll) {
  EXPECT_THAT(Remarks({"domain: d\ndescriptors:\n- {key: a, value: x*}\n- {key: a, value: x*z}\n"}),
              ElementsAre("a.yaml:4: 'a: x*z' is never met: 'a: x*' in a.yaml:3 fits all that it "
                          "fits"));
  EXPECT_THAT(Remarks({"domain: d\ndescriptors:\n- {key: a}\n- {key: a, value: '*'}\n"}),
              ElementsAre("a.yaml:3: 'a' is never met: 'a: *' in a.yaml:4 fits all that it fits"));
  EXPECT_THAT(Remarks({"domain: d\ndescriptors:\n- {key: p*}\n",
                       "domain: d\ndescriptors:\n- {key: pa*, value: x*}\n"}),
              ElementsAre("b.yaml:3: 'pa*: x*' is never met: 'p*' in a.yaml:3 fits all that it "
                          "fits"));
  // The other order, exact values, other levels and other domains.
  EXPECT_THAT(Remarks({"domain: d\ndescriptors:\n- {key: a, value: x*z}\n- {key: a, value: x*}\n"
                       "- {key: a, value: xyz}\n- {key: a}\n- {key: b, descriptors: [{key: a, "
                       "value: xx*}]}\n- {key: c, descriptors: [{key: a, value: x*}]}\n",
                       "domain: e\ndescriptors:\n- {key: a, value: xx*}\n"}),
              IsEmpty());
}

TEST(RuleRemarksTest, ReplacesThatNameNoRule) {
  const std::string replacing =
      "domain: d\ndescriptors:\n- key: a\n  rate_limit: {unlimited: true, replaces: [{name: n}]}\n";
  EXPECT_THAT(
      Remarks({replacing}),
      ElementsAre("a.yaml:3: replaces names 'n', and no limit of the domain has this name"));
  const std::string named = "\ndescriptors:\n- key: b\n  rate_limit: {unlimited: true, name: n}\n";
  EXPECT_THAT(Remarks({replacing, "domain: d" + named}), IsEmpty());
  EXPECT_EQ(Remarks({replacing, "domain: e" + named}).size(), 1U);
}

}  // namespace
}  // namespace weir
