// Goal: a command line names a check and a path, or its error says what is wrong. Method: words.
#include "check/check_options.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"

namespace weir {
namespace {

using testing::HasSubstr;

absl::StatusOr<CheckCommandLine> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "weir-check");
  return ParseCheckCommandLine(static_cast<int>(words.size()), words.data());
}

std::string ErrorOf(const std::vector<const char*>& words) {
  const absl::StatusOr<CheckCommandLine> line = Parse(words);
  return line.ok() ? "no error" : std::string(StdView(line.status().message()));
}

TEST(CheckOptionsTest, EachKindOfFileIsAWord) {
  for (const FileCheck& row : FileChecks()) {
    const auto line = Parse({row.kind.data(), "a/b"});
    ASSERT_TRUE(line.ok()) << line.status();
    EXPECT_EQ(line->check, &row);
    EXPECT_EQ(line->path, "a/b");
    EXPECT_EQ(line->print_and_exit, "");
  }
}

TEST(CheckOptionsTest, AFlagBelongsToItsKind) {
  EXPECT_FALSE(Parse({"rls", "a"})->has_flag);
  EXPECT_TRUE(Parse({"rls", "a", "--merge-domains"})->has_flag);
  EXPECT_TRUE(Parse({"rls", "--merge-domains", "a"})->has_flag);
  EXPECT_EQ(ErrorOf({"rls", "a", "--merge-domain"}),
            "unknown option '--merge-domain': did you mean --merge-domains?");
  EXPECT_EQ(ErrorOf({"data", "a", "--merge-domains"}),
            "unknown option '--merge-domains': see weir-check --help");
  for (const FileCheck& row : FileChecks()) {
    EXPECT_EQ(row.flag.empty(), row.check_with_flag == nullptr);
  }
}

TEST(CheckOptionsTest, HelpNamesEveryKind) {
  const std::string help = Parse({"--help"})->print_and_exit;
  for (const FileCheck& row : FileChecks()) {
    EXPECT_THAT(help, HasSubstr("\n  " + std::string(row.kind) + " "));
    EXPECT_THAT(Parse({row.kind.data(), "--help"})->print_and_exit,
                HasSubstr(std::string(row.argument)));
  }
  EXPECT_THAT(Parse({"--version"})->print_and_exit, HasSubstr("weir "));
}

TEST(CheckOptionsTest, OtherWordsAreErrors) {
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{},
                                             {"data"},
                                             {"files", "x"},
                                             {"data", "x", "y"},
                                             {"data", "x", "config", "y"},
                                             {"--data", "x"},
                                             {"data", "--fast", "x"}}) {
    EXPECT_THAT(ErrorOf(words), testing::EndsWith(": see weir-check --help"));
    EXPECT_THAT(ErrorOf(words), testing::Not(HasSubstr("\n")));
  }
}

TEST(CheckOptionsTest, AMistypedWordHasAHint) {
  EXPECT_EQ(ErrorOf({"dta", "x"}), "unknown kind of file 'dta': did you mean data?");
  EXPECT_EQ(ErrorOf({"polices", "x"}), "unknown kind of file 'polices': did you mean policies?");
  EXPECT_EQ(ErrorOf({"--hlep"}), "unknown option '--hlep': did you mean --help?");
  EXPECT_EQ(ErrorOf({"--verson"}), "unknown option '--verson': did you mean --version?");
  EXPECT_EQ(ErrorOf({"data", "x", "--hepl"}), "unknown option '--hepl': did you mean --help?");
  EXPECT_EQ(ErrorOf({"data", "x", "y"}), "unexpected 'y' after 'x': see weir-check --help");
  EXPECT_EQ(ErrorOf({}), "a kind of file is missing: see weir-check --help");
}

}  // namespace
}  // namespace weir
