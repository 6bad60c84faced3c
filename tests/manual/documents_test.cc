// Goal: the documents of the tree say what the programs do. Method: each file is compared with the
// text that the tables make today, and each text with the tables.
#include "manual/documents.h"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "manual/man_page.h"
#include "replay/replay_options.h"
#include "server/config/option_help.h"
#include "server/config/options.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DocumentsTest, AreUpToDate) {
  std::set<std::string_view> paths;
  for (const Document& document : Documents()) {
    std::ifstream file(absl::StrCat(WEIR_SOURCE_DIR "/", AbslView(document.path)),
                       std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(text == TextOf(document, text))
        << document.path << " is stale or missing: run `./dev docs`";
    EXPECT_TRUE(paths.insert(document.path).second) << document.path;
  }
}

TEST(ManPageTest, TextsAreEscapedAndLinesBroken) {
  ManPage page("weir-x", 1, "tests a page");
  const std::string head = page.text();
  EXPECT_THAT(head, HasSubstr("\n.TH WEIR\\-X 1 "));
  EXPECT_THAT(head, HasSubstr("\n.SH NAME\nweir\\-x \\- tests a page\n"));
  page.Section("DESCRIPTION");
  page.Text("First, `--a-b` \\ end.\n\n.dots and 'quotes\n\n  code\n  .more");
  EXPECT_EQ(page.text().substr(head.size()),
            ".SH DESCRIPTION\nFirst, \\fB\\-\\-a\\-b\\fP \\e end.\n"
            ".PP\n\\&.dots and 'quotes\n"
            ".PP\n.RS 4\n.EX\ncode\n\\&.more\n.EE\n.RE\n");
}

TEST(ManPageTest, NoLineIsTooLongOrBeginsWithARequestByChance) {
  ManPage page("x", 1, "x");
  const std::string head = page.text();
  page.Item(Bold("t"), std::string(78, 'a') + " .b " + std::string(78, 'c') + " 'd");
  EXPECT_EQ(page.text().substr(head.size()), ".TP\n\\fBt\\fP\n" + std::string(78, 'a') +
                                                 "\n\\&.b\n" + std::string(78, 'c') + "\n\\&'d\n");
}

// The text of the item of an option on a page: up to the next item or section.
std::string ItemOf(const std::string& page, const std::string& tag) {
  const std::size_t begin = page.find("\n.TP\n" + tag);
  if (begin == std::string::npos) return "";
  std::string item = page.substr(begin + 5, page.find("\n.", begin + 5) - begin - 5);
  return absl::StrReplaceAll(item, {{"\\-", "-"}, {"\n", " "}, {"\\fB", ""}, {"\\fP", ""}});
}

TEST(DocumentsTest, ThePagesOfTheServerHaveEveryOption) {
  for (const OptionSpec& spec : OptionTable()) {
    const std::string summary = absl::StrReplaceAll(AbslView(spec.summary), {{"`", ""}});
    const std::string on_line = ItemOf(ServerPage(), Bold(absl::StrCat("--", AbslView(spec.name))));
    EXPECT_THAT(on_line, HasSubstr(summary)) << spec.name;
    const std::string in_file = ItemOf(ConfigPage(), Bold(spec.name) + " = ");
    if (spec.name == "config") {
      EXPECT_EQ(in_file, "");
      continue;
    }
    EXPECT_THAT(in_file, HasSubstr(summary)) << spec.name;
    EXPECT_THAT(in_file,
                HasSubstr(absl::StrCat(
                    " Default: ", spec.fallback.empty() ? "none" : AbslView(spec.fallback), ".")));
  }
}

// The operator finds an option in the manual where --help has it.
TEST(DocumentsTest, ThePagesOfTheServerHaveTheOrderOfTheHelp) {
  std::size_t on_line = 0;
  std::size_t in_file = 0;
  for (const OptionGroupTitle& group : OptionGroups()) {
    on_line = ServerPage().find(absl::StrCat("\n.SS ", AbslView(group.title), "\n"), on_line);
    ASSERT_NE(on_line, std::string::npos) << group.title;
    for (const OptionSpec* const spec : OptionsOf(group.group)) {
      const std::string name = Bold(absl::StrCat("--", AbslView(spec->name)));
      on_line = ServerPage().find("\n.TP\n" + name, on_line);
      ASSERT_NE(on_line, std::string::npos) << spec->name;
      if (spec->name == "config") continue;
      in_file = ConfigPage().find("\n.TP\n" + Bold(spec->name) + " = ", in_file);
      ASSERT_NE(in_file, std::string::npos) << spec->name;
    }
  }
}

TEST(DocumentsTest, ThePageOfReplayHasEveryOptionOfItsHelp) {
  const char* const words[] = {"weir-replay", "--help"};
  std::istringstream help(ParseReplayCommandLine(2, words)->print_and_exit);
  std::size_t options = 0;
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with("  --")) continue;
    const std::string name = line.substr(2, line.find_first_of(" =", 2) - 2);
    EXPECT_NE(ItemOf(ReplayPage(), Bold(name)), "") << name;
    ++options;
  }
  EXPECT_EQ(options + 1, HelpOfReplay().options.size());  // "-h,--help" begins otherwise
}

// Goal: the file of the package is what it says. Method: it is read as the server reads it, as it
// is and with all that it has commented out.
TEST(ConfigFileTest, SetsTheDirectoriesAndTheAdminPortAlone) {
  Options options = DefaultOptions();
  const absl::Status read = ApplyOptionsFile(ConfigFile(), "weir.toml", options);
  ASSERT_TRUE(read.ok()) << read;
  const Options defaults = DefaultOptions();
  for (const OptionSpec& spec : OptionTable()) {
    const std::string value = OptionText(spec, options);
    if (spec.name == "admin-port") {
      EXPECT_EQ(value, "7382");
    } else if (spec.name == "backup-dir") {
      EXPECT_EQ(value, "/var/lib/weir/backups");
    } else if (spec.name == "data-dir") {
      EXPECT_EQ(value, "/var/lib/weir");
    } else {
      EXPECT_EQ(value, OptionText(spec, defaults)) << spec.name;
    }
  }
}

TEST(ConfigFileTest, TheCommentedLinesAreTheDefaults) {
  std::istringstream lines(ConfigFile());
  std::string uncommented;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 79U) << line;
    if (line.starts_with('#') && !line.starts_with("# ")) line.erase(0, 1);
    absl::StrAppend(&uncommented, line, "\n");
  }
  Options options = DefaultOptions();
  const absl::Status read = ApplyOptionsFile(uncommented, "weir.toml", options);
  ASSERT_TRUE(read.ok()) << read;
  const Options defaults = DefaultOptions();
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.name == "config") continue;
    EXPECT_THAT(uncommented, HasSubstr(absl::StrCat("\n", AbslView(spec.name), " = ")));
    const std::string value = OptionText(spec, options);
    if (value.find("weir") == std::string::npos && spec.name != "admin-port") {
      EXPECT_EQ(value, OptionText(spec, defaults)) << spec.name;
    }
  }
  EXPECT_THAT(uncommented, Not(HasSubstr("\nconfig = ")));
}

}  // namespace
}  // namespace weir
