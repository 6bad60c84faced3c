// Goal: weir-check finds the mistake of each rule file with its place, counts rules, and remarks on
// what may be a mistake. Method: folders.
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/file_check.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RuleCheckTest : public testing::Test {
 protected:
  // A path in the folder.
  [[nodiscard]] std::string In(std::string_view name) const {
    return absl::StrCat(directory_.path(), "/", std::string(name));
  }

  TemporaryDirectory directory_;
};

TEST_F(RuleCheckTest, RulesAreCountedAndRemarksAreNoMistakes) {
  directory_.Write("b.yaml", "domain: b\n");
  directory_.Write("a.yml",
                   "domain: a\ndescriptors:\n- key: k\n  rate_limit: {unit: day}\n- key: k*\n");
  directory_.Write("notes.txt", "");
  const FileReport report = CheckRuleFiles(directory_.path());
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(
      report.facts,
      ElementsAre(
          In("a.yml") + ": domain 'a', 2 rules", In("b.yaml") + ": domain 'b', 0 rules",
          In("notes.txt") +
              ": passed over, as it is no file *.yaml or *.yml; envoyproxy/ratelimit reads it",
          In("a.yml:3") + ": 'k' is never met: 'k*' in " + In("a.yml:5") + " fits all that it fits",
          In("a.yml:4") + ": a limit without requests_per_unit: it is 0, and all is denied"));
}

TEST_F(RuleCheckTest, EachFileIsReadUpToItsFirstMistake) {
  directory_.Write("a.yaml", "domain: a\ndescriptors: x\nlimits: x\n");
  directory_.Write("b.yaml", "domain: b\n");
  directory_.Write("c.yaml", "domains: c\n");
  const FileReport report = CheckRuleFiles(directory_.path());
  EXPECT_THAT(
      report.findings,
      ElementsAre(
          In("a.yaml:3") + ": unknown key 'limits' (domain, descriptors, on_no_match, hits)",
          In("c.yaml:1") + ": unknown key 'domains' (domain, descriptors, on_no_match, hits)"));
  EXPECT_THAT(report.facts, ElementsAre(In("b.yaml") + ": domain 'b', 0 rules"));
}

TEST_F(RuleCheckTest, ADomainInTwoFilesIsAMistakeUnlessTheyAreMerged) {
  directory_.Write("a.yaml", "domain: d\ndescriptors: [{key: k1}]\n");
  directory_.Write("b.yaml", "domain: d\ndescriptors: [{key: k2}]\n");
  EXPECT_THAT(CheckRuleFiles(directory_.path()).findings,
              ElementsAre(In("b.yaml:1") + ": domain 'd' stands in " + In("a.yaml:1") +
                          ", too (--rls-merge-domains joins them)"));
  EXPECT_THAT(CheckMergedRuleFiles(directory_.path()).findings, IsEmpty());
}

TEST_F(RuleCheckTest, AFileOrAFolderThatIsNotThere) {
  EXPECT_THAT(CheckRuleFiles(directory_.path()).findings,
              ElementsAre(directory_.path() + ": no file *.yaml or *.yml"));
  EXPECT_THAT(CheckRuleFiles("/nonexistent").findings,
              ElementsAre("/nonexistent: cannot read the rule file /nonexistent: No such file or "
                          "directory"));
  const std::string file = directory_.Write("rules", "domain: d\n");
  EXPECT_THAT(CheckRuleFiles(file).facts, ElementsAre(file + ": domain 'd', 0 rules"));
}

}  // namespace
}  // namespace weir
