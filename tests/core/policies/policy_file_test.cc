// Goal: a policy file is read as a whole or not at all, and a one-line error says where it is wrong
// and what would be right. Method: good files, and each kind of bad file with its line number.
#include "core/policies/policy_file.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "core/policies/policies.h"
#include "core/words/limit_grammar.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class PolicyFileTest : public testing::Test {
 protected:
  // The policies of a file as text: "free: 10/s 1000/h".
  std::vector<std::string> Read(std::string_view text) {
    const absl::StatusOr<PolicyFile> file = ReadPolicyFile(directory_.Write("p.toml", text));
    EXPECT_TRUE(file.ok()) << file.status();
    std::vector<std::string> said;
    if (!file.ok()) return said;
    for (const auto& [name, limits] : *file) {
      said.push_back(name + ":");
      for (const PolicyLimit& limit : limits) said.back() += " " + PolicyLimitText(limit);
    }
    return said;
  }

  // The error for a file, without its path at the front.
  std::string ErrorOf(std::string_view text) {
    const std::string path = directory_.Write("p.toml", text);
    const absl::StatusOr<PolicyFile> file = ReadPolicyFile(path);
    EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument) << text;
    const std::string message(file.status().message());
    EXPECT_THAT(message, StartsWith(path + ":"));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message.substr(std::min(message.size(), path.size()));
  }

  const TemporaryDirectory directory_;
};

std::string Listed(std::size_t count) {
  std::string list = "[";
  for (std::size_t i = 0; i < count; ++i) list += "\"10/s\", ";
  return list + "]";
}

TEST_F(PolicyFileTest, GoodFiles) {
  EXPECT_THAT(Read("# Our plans.\n\n[policies]\n"
                   "free       = [\"10/s\", \"1000/h,name=hourly,cost=2,keep=9\"]  # most of them\n"
                   "enterprise = [\n  \"1000/s,burst=2000\",  # so far\n]\n"
                   "internal   = \"unlimited\"\n"
                   "\"a.b:c\"    = '5/m,fixed'\n"),
              ElementsAre("a.b:c: 5/m,fixed", "enterprise: 1000/s,burst=2000",
                          "free: 10/s 1000/h,cost=2,keep=9,name=hourly", "internal: unlimited"));
  EXPECT_THAT(Read("policies = { free = \"10/s\" }"), ElementsAre("free: 10/s"));
  EXPECT_THAT(Read("policies.free = \"10/s\"\r\npolicies.paid = \"20/s\"\r\n"),
              ElementsAre("free: 10/s", "paid: 20/s"));
  EXPECT_THAT(Read("[policies]\np = " + Listed(kPolicyLimitsMax)), testing::SizeIs(1));
  const std::string longest(kLabelBytesMax, 'x');
  EXPECT_THAT(Read("[policies]\n" + longest + " = \"10/s\""), ElementsAre(longest + ": 10/s"));
}

// A file without policies removes all policies of the file before it.
TEST_F(PolicyFileTest, EmptyFiles) {
  for (const char* text : {"", "\n", "# none yet\n", "[policies]\n", "policies = {}"}) {
    EXPECT_THAT(Read(text), IsEmpty()) << text;
  }
}

TEST_F(PolicyFileTest, BadSyntaxIsToldWithItsLine) {
  EXPECT_THAT(ErrorOf("[policies]\nfree = [\"10/s\"\nother = \"1/s\"\n"), StartsWith(":3: "));
  EXPECT_THAT(ErrorOf("[policies]\n\n\nfree\n"), StartsWith(":4: "));
  EXPECT_THAT(ErrorOf("[policies\n"), StartsWith(":1: "));
  EXPECT_THAT(ErrorOf("[policies]\n[`x]\n"), StartsWith(":2: "));
  EXPECT_THAT(ErrorOf("[policies]\nfree = 10/s\n"), StartsWith(":2: "));
  EXPECT_THAT(ErrorOf("[policies]\nfree = \"10/s\"\nfree = \"20/s\"\n"), StartsWith(":3: "));
  EXPECT_THAT(ErrorOf("[policies]\n[policies]\n"), StartsWith(":2: "));
  EXPECT_THAT(ErrorOf(std::string_view("[policies]\n\0", 12)), StartsWith(":2: "));
}

TEST_F(PolicyFileTest, OnlyCommentsMayHaveOtherCharactersThanAscii) {
  EXPECT_THAT(Read("\xEF\xBB\xBF# Für \xEF\xBA\xBA\n[policies]  # \xff\nfree = \"1/s\"  # ü\n"),
              ElementsAre("free: 1/s"));
  EXPECT_THAT(ErrorOf("[policies]\né = \"1/s\"\n"), StartsWith(":2: "));
  EXPECT_THAT(ErrorOf("[policies]\nfree = \"#\" \xEF\xBA\xBA\n"), StartsWith(":2: "));
  EXPECT_THAT(ErrorOf("[policies]\nfree = \"1/é\"\n"),
              StartsWith(":2: policy 'free': invalid limit '1/?\?': "));
}

TEST_F(PolicyFileTest, OtherKeysAreRefused) {
  const std::string one_table = ": a policy file has one table, [policies]";
  EXPECT_EQ(ErrorOf("[policies]\nfree = \"10/s\"\n\n[overrides]\nx = 1\n"),
            ":4: unexpected 'overrides'" + one_table);
  EXPECT_EQ(ErrorOf("\nfree = \"10/s\"\n"), ":2: unexpected 'free'" + one_table);
  EXPECT_EQ(ErrorOf("policies = 5\n"), ":1: unexpected 'policies'" + one_table);
  EXPECT_EQ(ErrorOf("[[policies]]\nfree = \"10/s\"\n"), ":1: unexpected 'policies'" + one_table);
  const std::string no_string = ": a limit is a string, as in \"10/s\"";
  EXPECT_EQ(ErrorOf("[policies]\nfree = 10\n"), ":2: policy 'free'" + no_string);
  EXPECT_EQ(ErrorOf("[policies]\nfree = [\n  \"10/s\",\n  10,\n]\n"),
            ":4: policy 'free'" + no_string);
  EXPECT_EQ(ErrorOf("[policies]\nfree = [[\"10/s\"]]\n"), ":2: policy 'free'" + no_string);
  EXPECT_EQ(ErrorOf("[policies]\nfree = 2026-01-01\n"), ":2: policy 'free'" + no_string);
  EXPECT_EQ(ErrorOf("[policies.free]\nlimit = \"10/s\"\n"), ":1: policy 'free'" + no_string);
  EXPECT_EQ(ErrorOf("[policies]\na.b = \"10/s\"\n"), ":2: policy 'a'" + no_string);
}

TEST_F(PolicyFileTest, BadLimitsAreTold) {
  EXPECT_EQ(ErrorOf("[policies]\nok = \"1/s\"\nfree = \"10/x\"\n"),
            ":3: policy 'free': invalid limit '10/x': unknown unit 'x' (us, ms, s, m, h, d, w, or "
            "day, week, month, year)");
  EXPECT_EQ(ErrorOf("[policies]\nfree = [\n  \"10/s\",\n  \"\",\n]\n"),
            ":4: policy 'free': invalid limit '': expected count/period, as in 10/s");
  EXPECT_EQ(ErrorOf("[policies]\na = \"1/s\"\nb = [\"2/s\", \"@a\"]\n"),
            ":3: policy 'b': invalid limit '@a': a policy cannot hold another");
  EXPECT_EQ(ErrorOf("[policies]\nfree = []\n"), ":2: policy 'free': it must have 1 to 64 limits");
  EXPECT_EQ(ErrorOf("[policies]\nfree = " + Listed(kPolicyLimitsMax + 1)),
            ":2: policy 'free': it must have 1 to 64 limits");
}

TEST_F(PolicyFileTest, ErrorsQuoteNoControlCharacter) {
  EXPECT_THAT(ErrorOf("[policies]\nfree = \"10/\\nx\"\n"),
              StartsWith(":2: policy 'free': invalid limit '10/?x': "));
  EXPECT_THAT(ErrorOf("[policies]\n\"a\\r\\tb\" = \"10/s\"\n"),
              StartsWith(":2: policy name 'a??b' must be "));
  EXPECT_THAT(ErrorOf("\"a\\nb\" = \"10/s\"\n"), StartsWith(":1: unexpected 'a?b': "));
}

TEST_F(PolicyFileTest, BadNamesAreTold) {
  const std::string must = " must be 1 to 64 of letters, digits, _ - . :";
  EXPECT_EQ(ErrorOf("[policies]\n\"a b\" = \"10/s\"\n"), ":2: policy name 'a b'" + must);
  EXPECT_EQ(ErrorOf("[policies]\n\"\" = \"10/s\"\n"), ":2: policy name ''" + must);
  const std::string long_name(kLabelBytesMax + 1, 'x');
  EXPECT_EQ(ErrorOf("[policies]\nok = \"1/s\"\n" + long_name + " = \"10/s\"\n"),
            ":3: policy name '" + long_name + "'" + must);
}

TEST_F(PolicyFileTest, AFileHasBounds) {
  std::string text = "[policies]\n";
  for (std::size_t i = 0; i < kPoliciesMax; ++i) text += "p" + std::to_string(i) + " = \"1/s\"\n";
  EXPECT_EQ(Read(text).size(), kPoliciesMax);
  EXPECT_EQ(ErrorOf(text + "more = \"1/s\"\n"), ": a policy file has at most 10000 policies");
  EXPECT_EQ(ErrorOf(std::string(16 * 1024 * 1024 + 1, '\n')),
            ": a policy file has at most 16777216 bytes");
}

// Nesting that is deeper than any parser's stack.
TEST_F(PolicyFileTest, DepthIsAnErrorToo) {
  EXPECT_THAT(ErrorOf("[policies]\nfree = " + std::string(100'000, '[')), StartsWith(":2: "));
}

TEST_F(PolicyFileTest, UnreadableFilesAreRefused) {
  const auto error_of = [](const std::string& path) {
    const absl::Status status = ReadPolicyFile(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    return std::string(status.message());
  };
  const std::string absent = directory_.path() + "/absent.toml";
  EXPECT_EQ(error_of(absent),
            "cannot read the policy file " + absent + ": No such file or directory");
  EXPECT_EQ(error_of(directory_.path()),
            "cannot read the policy file " + directory_.path() + ": Is a directory");
}

}  // namespace
}  // namespace weir
