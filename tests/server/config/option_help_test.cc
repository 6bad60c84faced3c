// Goal: --help has every option once, in groups that begin with what is used most, and its defaults
// can be typed. Method: the text against the table of options.
#include "server/config/option_help.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> LinesOf(const std::string& text) { return absl::StrSplit(text, '\n'); }

// The options that rows of the text begin with, in its order.
std::vector<std::string> OptionsIn(const std::string& help) {
  std::vector<std::string> names;
  for (const std::string& line : LinesOf(help)) {
    if (!line.starts_with("  --")) continue;
    names.push_back(line.substr(4, line.find_first_of(" =", 4) - 4));
  }
  return names;
}

TEST(OptionHelpTest, EveryGroupBeginsWithItsTwoMostUsedOptions) {
  for (const OptionGroupTitle& group : OptionGroups()) {
    const std::vector<const OptionSpec*> options = OptionsOf(group.group);
    if (group.group == OptionGroup::kGeneral) continue;
    ASSERT_GE(options.size(), 2U) << group.title;
    EXPECT_EQ(options[0]->rank, 1) << group.title;
    EXPECT_EQ(options[1]->rank, 2) << group.title;
    EXPECT_TRUE(std::is_sorted(options.begin() + 2, options.end(),
                               [](const auto* a, const auto* b) { return a->name < b->name; }));
    for (const OptionSpec* const spec : options) EXPECT_EQ(spec->group, group.group);
    EXPECT_TRUE(std::all_of(options.begin() + 2, options.end(),
                            [](const OptionSpec* spec) { return spec->rank == 0; }));
  }
  EXPECT_EQ(OptionsOf(OptionGroup::kListen)[0]->name, "port");
}

TEST(OptionHelpTest, TheWholeTextHasTheGroupsInTheirOrderAndEveryOptionOnce) {
  const std::string help = HelpText().value();
  std::string groups;
  for (const OptionGroupTitle& group : OptionGroups()) {
    absl::StrAppend(&groups, "\n", HelpText(group.word).value());
  }
  EXPECT_EQ(help,
            absl::StrCat("Usage: weir-server [--OPTION VALUE] ...\n"
                         "A rate-limit server that speaks the Redis protocol. Defaults follow "
                         "the sign =.\n",
                         groups));
  const std::vector<std::string> names = OptionsIn(help);
  const std::set<std::string> once(names.begin(), names.end());
  EXPECT_EQ(names.size(), once.size());
  for (const OptionSpec& spec : OptionTable()) {
    EXPECT_TRUE(once.contains(std::string(spec.name))) << spec.name;
  }
  EXPECT_EQ(names.size(), OptionTable().size() + 2);  // --version, --ping
  for (const std::string& line : LinesOf(help)) EXPECT_LE(line.size(), 100U) << line;
}

TEST(OptionHelpTest, OneGroupIsPrintedAlone) {
  const std::string tls = HelpText("TLS").value();
  EXPECT_THAT(tls, StartsWith("TLS (--help tls)\n  --tls-port NUMBER=0 "));
  EXPECT_THAT(tls, Not(HasSubstr("\n\n")));
  EXPECT_THAT(OptionsIn(tls), testing::ElementsAre("tls-port", "tls-cert", "tls-auth-clients",
                                                   "tls-ca", "tls-key", "tls-only"));
}

TEST(OptionHelpTest, AnUnknownGroupSaysWhichThereAre) {
  EXPECT_EQ(HelpText("lsten").status().message(),
            "unknown group 'lsten': did you mean --help listen?");
  EXPECT_EQ(HelpText("port").status().message(),
            "unknown group 'port': must be general, listen, access, state, limits, memory, http, "
            "replicas, tls, logs, rare");
}

TEST(OptionHelpTest, DefaultsCanBeTyped) {
  for (const OptionSpec& spec : OptionTable()) {
    Options options = DefaultOptions();
    EXPECT_TRUE(SetOption(spec, FallbackText(spec), options).ok()) << spec.name;
    EXPECT_EQ(OptionText(spec, options), spec.fallback);
  }
  const std::string help = HelpText().value();
  for (const char* const row :
       {"--max-clients-memory SIZE=64mb ", "--max-memory SIZE=0 ", "--repl-backlog-size SIZE=16mb ",
        "--max-wait TIME=60s ", "--ack-timeout TIME=200ms ", "--tls-only=no ",
        "--protected-mode=yes ", "--durability WORD=snapshot ", "--data-dir TEXT "}) {
    EXPECT_THAT(help, HasSubstr(absl::StrCat("\n  ", row)));
  }
}

}  // namespace
}  // namespace weir
