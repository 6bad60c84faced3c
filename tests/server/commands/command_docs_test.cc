// Goal: the documentation of commands is true. Method: docs/commands.md is compared with the page
// that the table generates today; syntax lines and flags with expected text.
#include "server/commands/command_docs.h"

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/filled_text.h"
#include "core/base/status.h"
#include "core/commands/command_syntax.h"
#include "server/commands/command_table.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const CommandSpec& Row(std::string_view name) {
  const CommandSpec* spec = FindCommand(name);
  WEIR_CHECK(spec != nullptr);
  return *spec;
}

TEST(CommandDocsTest, ThePageIsUpToDate) {
  std::ifstream file(WEIR_SOURCE_DIR "/docs/commands.md", std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(page == CommandsMarkdown())
      << "docs/commands.md is stale or missing: run `./dev docs`";
}

TEST(CommandDocsTest, SyntaxLinesHideTheNamesOfGroups) {
  const std::vector<std::pair<std::string_view, std::string_view>> lines = {
      {"RL.ALLOW",
       "RL.ALLOW key limit [limit ...] [COST cost] [AND key limit [limit ...] [COST cost] ...] "
       "[OR key limit [limit ...] [COST cost] [AND key limit [limit ...] [COST cost] ...] ...] "
       "[WITHLIMITS] [AT unix-time-ns]"},
      {"RL.RESET", "RL.RESET key [limit ...]"},
      {"RL.HELP", "RL.HELP"},
      {"PING", "PING [message]"},
      {"AUTH", "AUTH [username] password"},
      {"HELLO", "HELLO [protover [AUTH username password] [SETNAME clientname]]"},
      {"DEL", "DEL key [key ...]"},
      {"FLUSHALL", "FLUSHALL [ASYNC|SYNC]"},
      {"SHUTDOWN", "SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT]"},
      {"CLIENT|SETINFO", "CLIENT SETINFO LIB-NAME libname|LIB-VER libver"},
      {"CLIENT|LIST", "CLIENT LIST [TYPE client-type|ID client-id [client-id ...]]"},
      {"COMMAND|LIST",
       "COMMAND LIST [FILTERBY MODULE module-name|ACLCAT category|PATTERN pattern]"},
      {"CONFIG|GET", "CONFIG GET parameter [parameter ...]"},
  };
  for (const auto& [name, syntax] : lines) EXPECT_EQ(CommandSyntax(Row(name)), syntax);
}

TEST(CommandDocsTest, FlagsAreNamedAsRedisNamesThem) {
  EXPECT_THAT(FlagNames(Row("RL.ALLOW")), ElementsAre("write", "denyoom", "fast", "movablekeys"));
  EXPECT_THAT(FlagNames(Row("RL.PEEK")), ElementsAre("readonly", "fast", "movablekeys"));
  EXPECT_THAT(FlagNames(Row("HELLO")), ElementsAre("fast", "no_auth", "loading", "no_multi"));
  EXPECT_THAT(FlagNames(Row("SHUTDOWN")), ElementsAre("admin", "loading", "no_multi"));
  EXPECT_THAT(FlagNames(Row("CLIENT")), ElementsAre());
}

// What the page says of a command: a section of weir's own, a row of a table of Redis's.
std::string Entry(const CommandSpec& spec) {
  const std::string syntax = CommandSyntax(spec);
  if (spec.group == "limit") {
    std::string section = "\n```\n" + syntax + "\n```\n\n";
    AppendFilled(spec.summary, 100, "", "", section);
    return section;
  }
  const auto cell = [](std::string_view text) {
    return absl::StrReplaceAll(AbslView(text), {{"|", "\\|"}});
  };
  return "\n| `" + cell(syntax) + "` | " + cell(spec.summary) + " | ";
}

TEST(CommandDocsTest, ThePageShowsEveryCommandOnce) {
  const std::string page = CommandsMarkdown();
  for (const CommandSpec& spec : CommandTable()) {
    const std::string syntax = Entry(spec);
    const bool shown = !spec.Is(kContainer) || spec.arity.Allows(1);
    const std::size_t first = page.find(syntax);
    EXPECT_EQ(first != std::string::npos, shown) << spec.name;
    EXPECT_EQ(page.find(syntax, first + 1), std::string::npos) << spec.name;
    for (const Example& example : spec.examples) {
      EXPECT_THAT(page, HasSubstr("\n> " + std::string(example.command) + "\n" +
                                  std::string(example.reply) + "\n"));
    }
  }
  EXPECT_EQ(page.find("\n# "), std::string::npos) << "a page has one title";
  EXPECT_TRUE(page.starts_with("# Commands\n"));
}

}  // namespace
}  // namespace weir
