// Goal: every row of the command table is complete and can be found, and no other word finds one.
// Method: the rules of a row, applied to each.
#include "server/commands/command_table.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "core/commands/command_syntax.h"
#include "server/commands/handlers.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

std::string Lower(std::string_view text) { return absl::AsciiStrToLower(AbslView(text)); }

std::string Mixed(std::string_view text) {
  std::string mixed(text);
  for (std::size_t i = 0; i < mixed.size(); i += 2)
    mixed[i] = absl::ascii_tolower(static_cast<unsigned char>(mixed[i]));
  return mixed;
}

std::string_view ContainerName(const CommandSpec& spec) {
  return spec.name.substr(0, spec.name.find('|'));
}
std::string_view SubcommandName(const CommandSpec& spec) {
  return spec.name.substr(spec.name.find('|') + 1);
}

TEST(CommandTableTest, IsSortedAndWithoutDoubles) {
  const auto table = CommandTable();
  ASSERT_GE(table.size(), 40U);
  for (std::size_t i = 1; i < table.size(); ++i) EXPECT_LT(table[i - 1].name, table[i].name);
}

TEST(CommandTableTest, NamesAreUpperCaseWithAtMostOneBar) {
  for (const CommandSpec& spec : CommandTable()) {
    EXPECT_EQ(spec.name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ-.|"), std::string_view::npos)
        << spec.name;
    EXPECT_LE(std::ranges::count(spec.name, '|'), 1) << spec.name;
  }
}

// A container that is not a command needs a second word, so its own row never runs.
TEST(CommandTableTest, EveryRowThatCanRunHasAHandler) {
  for (const CommandSpec& spec : CommandTable()) {
    const bool pure_container = spec.Is(kContainer) && !spec.arity.Allows(1);
    EXPECT_EQ(spec.handler == nullptr, pure_container) << spec.name;
  }
}

TEST(CommandTableTest, ARowThatRefusesSaysWhy) {
  for (const CommandSpec& spec : CommandTable()) {
    EXPECT_EQ(spec.handler == &Refuse, !spec.refusal.empty()) << spec.name;
    if (!spec.refusal.empty()) {
      EXPECT_THAT(std::string(spec.refusal), testing::MatchesRegex("[A-Z]+ [^\r\n]+"));
    }
  }
}

TEST(CommandTableTest, EveryRowIsDescribed) {
  for (const CommandSpec& spec : CommandTable()) {
    EXPECT_THAT((std::vector<std::string_view>{"limit", "keys", "connection", "transaction",
                                               "pubsub", "server"}),
                testing::Contains(spec.group));
    EXPECT_TRUE(spec.summary.ends_with('.')) << spec.name;
    EXPECT_EQ(spec.summary.find_first_of("\r\n"), std::string_view::npos) << spec.name;
    EXPECT_FALSE(spec.complexity.empty()) << spec.name;
    EXPECT_THAT(spec.since, testing::AnyOf("0.1.0", "0.2.0")) << spec.name;
    EXPECT_FALSE(spec.Is(kWrite) && spec.Is(kReadOnly)) << spec.name;
  }
}

TEST(CommandTableTest, AritiesCountTheNamesAndFitTheKeys) {
  for (const CommandSpec& spec : CommandTable()) {
    const std::size_t names = IsSubcommand(spec) ? 2 : 1;
    EXPECT_GE(spec.arity.min, names) << spec.name;
    EXPECT_LE(spec.arity.min, spec.arity.max) << spec.name;
    if (spec.keys.first == 0) {
      EXPECT_TRUE(spec.keys.last == 0 && spec.keys.step == 0) << spec.name;
      EXPECT_FALSE(spec.Is(kAndKeys)) << spec.name;
      continue;
    }
    EXPECT_GE(static_cast<std::size_t>(spec.keys.first), names) << spec.name;
    EXPECT_LT(static_cast<std::size_t>(spec.keys.first), spec.arity.min)
        << spec.name << ": its key may be missing";
    EXPECT_TRUE(spec.keys.last == -1 || spec.keys.last == spec.keys.first) << spec.name;
    EXPECT_EQ(spec.keys.step, 1) << spec.name;
    EXPECT_TRUE(spec.Is(kWrite) || spec.Is(kReadOnly)) << spec.name;
  }
}

// The arity in COMMAND: the number of words, or minus the least number.
TEST(CommandTableTest, ArityIsToldAsRedisTellsIt) {
  EXPECT_EQ(Exactly(2).redis(), 2);
  EXPECT_EQ(AtLeast(3).redis(), -3);
  EXPECT_EQ(Between(1, 2).redis(), -1);
  EXPECT_TRUE(Between(1, 2).Allows(2));
  EXPECT_FALSE(Between(1, 2).Allows(3));
  EXPECT_FALSE(AtLeast(3).Allows(2));
  EXPECT_TRUE(AtLeast(3).Allows(1024));
}

// The keys that a row announces are among its arguments, and the other way round.
TEST(CommandTableTest, KeysAreArguments) {
  for (const CommandSpec& spec : CommandTable()) {
    const bool has_key = std::ranges::any_of(ArgumentsOf(spec), [](const Argument& argument) {
      return argument.type == Argument::Type::kKey;
    });
    EXPECT_EQ(has_key, spec.keys.first != 0) << spec.name;
  }
}

// What an edge does with each row. A new row must be added to one of the lists.
TEST(CommandTableTest, AnEdgeKnowsWhatToDoWithEveryRow) {
  const std::vector<std::string> runs_or_passes = {"RL.ALLOW"};
  const std::vector<std::string> passes = absl::StrSplit(
      "CL.THROTTLE EXISTS PTTL RL.CANCEL RL.CHARGE RL.COMMIT RL.INSPECT RL.PEEK RL.POLICY|GET "
      "RL.POLICY|LIST RL.POLICY|OVERRIDES RL.REFUND RL.RESERVE RL.SLICE RL.TAKE RL.THROTTLE TTL",
      ' ');
  const std::vector<std::string> refuses = absl::StrSplit(
      "BGSAVE DBSIZE DEL DISCARD EXEC FAILOVER FLUSHALL FLUSHDB KEYS LASTSAVE MEMORY|PURGE "
      "MEMORY|STATS MEMORY|USAGE MULTI PSUBSCRIBE PSYNC PUBLISH PUBSUB|CHANNELS PUBSUB|NUMPAT "
      "PUBSUB|NUMSUB PUNSUBSCRIBE RANDOMKEY REPLCONF REPLICAOF RL.BACKUP RL.BACKUPS "
      "RL.POLICY|DEL RL.POLICY|OVERRIDE RL.POLICY|RELOAD RL.POLICY|SET RL.POLICY|UNOVERRIDE "
      "RL.RESET RL.SYNC RL.WAIT SAVE SCAN SLAVEOF SUBSCRIBE SYNC TYPE UNLINK UNSUBSCRIBE UNWATCH "
      "WAIT WATCH",
      ' ');
  const std::vector<std::string> runs = absl::StrSplit(
      "ACL|CAT ACL|DRYRUN ACL|GENPASS ACL|GETUSER ACL|HELP ACL|LIST ACL|LOAD ACL|LOG ACL|USERS "
      "ACL|WHOAMI ASKING AUTH CLIENT|GETNAME CLIENT|HELP CLIENT|ID CLIENT|INFO CLIENT|KILL "
      "CLIENT|LIST CLIENT|NO-EVICT CLIENT|PAUSE CLIENT|REPLY CLIENT|SETINFO CLIENT|SETNAME "
      "CLIENT|UNBLOCK CLIENT|UNPAUSE CLUSTER COMMAND COMMAND|COUNT COMMAND|DOCS COMMAND|GETKEYS "
      "COMMAND|GETKEYSANDFLAGS COMMAND|HELP COMMAND|INFO COMMAND|LIST CONFIG|GET CONFIG|HELP "
      "CONFIG|RESETSTAT CONFIG|REWRITE CONFIG|SET ECHO HELLO INFO LATENCY|DOCTOR LATENCY|GRAPH "
      "LATENCY|HELP LATENCY|HISTOGRAM LATENCY|HISTORY LATENCY|LATEST LATENCY|RESET MEMORY|HELP "
      "MODULE|HELP MODULE|LIST MONITOR PING PUBSUB|HELP QUIT READONLY READWRITE RESET RL.HELP "
      "RL.POLICY|HELP RL.STATS RL.TOP ROLE SCRIPT|HELP SCRIPT|KILL SELECT SHUTDOWN SLOWLOG|GET "
      "SLOWLOG|HELP SLOWLOG|LEN SLOWLOG|RESET TIME",
      ' ');
  std::size_t rows = 0;
  const auto expect = [&rows](const std::vector<std::string>& names, bool is_run, bool is_passed) {
    for (const std::string& name : names) {
      const CommandSpec* const spec = FindCommand(name);
      ASSERT_NE(spec, nullptr) << name;
      EXPECT_EQ(spec->Is(kEdgeRuns), is_run) << name;
      EXPECT_EQ(spec->Is(kEdgePasses), is_passed) << name;
      ++rows;
    }
  };
  expect(runs_or_passes, true, true);
  expect(passes, false, true);
  expect(refuses, false, false);
  expect(runs, true, false);
  const auto can_run = [](const CommandSpec& spec) { return spec.handler != nullptr; };
  EXPECT_EQ(rows, static_cast<std::size_t>(std::ranges::count_if(CommandTable(), can_run)));
}

void ExpectWellFormed(const CommandSpec& spec, std::span<const Argument> arguments) {
  using Type = Argument::Type;
  for (const Argument& argument : arguments) {
    EXPECT_FALSE(argument.name.empty()) << spec.name;
    EXPECT_EQ(argument.name, Lower(argument.name)) << spec.name;
    const bool nests = argument.type == Type::kOneOf || argument.type == Type::kBlock;
    EXPECT_EQ(nests, !argument.parts.empty()) << spec.name << " " << argument.name;
    EXPECT_FALSE(argument.type == Type::kToken && argument.token.empty()) << spec.name;
    EXPECT_FALSE(argument.type == Type::kKey && !argument.token.empty()) << spec.name;
    ExpectWellFormed(spec, argument.parts);
  }
}

std::string Syntax(std::span<const Argument> arguments, const char* separator) {
  std::string syntax;
  for (const Argument& argument : arguments) {
    std::string value = argument.token;
    if (argument.type != Argument::Type::kToken) {
      const char* between = argument.type == Argument::Type::kOneOf ? "|" : " ";
      value += argument.token.empty() ? "" : " ";
      value += argument.parts.empty() ? argument.name : Syntax(argument.parts, between);
    }
    if (argument.multiple) value += (argument.optional ? "" : " [" + value) + " ...";
    if (argument.optional) value.insert(0, "[");
    if (argument.optional || argument.multiple) value += "]";
    syntax += (syntax.empty() ? "" : separator) + value;
  }
  return syntax;
}

// The structured arguments of COMMAND DOCS and the syntax line agree.
TEST(CommandTableTest, ArgumentsAreWellFormed) {
  for (const CommandSpec& spec : CommandTable()) {
    const std::vector<Argument> arguments = ArgumentsOf(spec);
    ExpectWellFormed(spec, arguments);
    std::string name(spec.name);
    std::ranges::replace(name, '|', ' ');
    EXPECT_EQ(CommandSyntax(spec), name + (arguments.empty() ? "" : " ") + Syntax(arguments, " "));
  }
}

TEST(CommandTableTest, FindCommandFindsEveryRowInAnyCase) {
  for (const CommandSpec& spec : CommandTable()) {
    EXPECT_EQ(FindCommand(spec.name), &spec) << spec.name;
    EXPECT_EQ(FindCommand(Lower(spec.name)), &spec) << spec.name;
    EXPECT_EQ(FindCommand(Mixed(spec.name)), &spec) << spec.name;
  }
}

TEST(CommandTableTest, FindCommandFindsNothingElse) {
  using namespace std::string_literals;
  for (const CommandSpec& spec : CommandTable()) {
    const std::string name(spec.name);
    std::vector<std::string> near = {name + "X", name + " ", name + "\0"s,
                                     " " + name, name + "|", "X" + name};
    for (std::size_t i = 0; i < name.size(); ++i) {
      std::string changed = name;
      changed[i] = static_cast<char>(changed[i] ^ 0x80);
      near.push_back(changed);
      near.push_back(name.substr(0, i));
    }
    for (const std::string& other : near) {
      const bool is_name = std::ranges::any_of(
          CommandTable(), [&](const CommandSpec& row) { return row.name == other; });
      EXPECT_EQ(FindCommand(other) != nullptr, is_name) << other;
    }
  }
  EXPECT_EQ(FindCommand(""), nullptr);
  EXPECT_EQ(FindCommand(std::string(70'000, 'P')), nullptr);
}

TEST(CommandTableTest, SubcommandsFollowTheirContainer) {
  std::size_t subcommands = 0;
  for (const CommandSpec& container : CommandTable()) {
    EXPECT_EQ(SubcommandsOf(container).empty(), !container.Is(kContainer)) << container.name;
    for (const CommandSpec& row : SubcommandsOf(container)) {
      ++subcommands;
      EXPECT_EQ(ContainerName(row), container.name);
      EXPECT_EQ(FindSubcommand(container, SubcommandName(row)), &row) << row.name;
      EXPECT_EQ(FindSubcommand(container, Lower(SubcommandName(row))), &row) << row.name;
      EXPECT_EQ(FindSubcommand(container, Mixed(SubcommandName(row))), &row) << row.name;
      EXPECT_EQ(FindSubcommand(container, row.name), nullptr) << row.name;
    }
    EXPECT_EQ(FindSubcommand(container, ""), nullptr) << container.name;
    EXPECT_EQ(FindSubcommand(container, "NOSUCH"), nullptr) << container.name;
    EXPECT_EQ(FindSubcommand(container, "HELP") != nullptr, container.Is(kContainer))
        << container.name;
  }
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count_if(CommandTable(), IsSubcommand)),
            subcommands);
}

// A row of the commands that newcomers type, and the end of the error.
struct Unknown {
  std::vector<std::string> words;
  std::string end;
};

TEST(CommandTableTest, AnUnknownCommandSaysWhatToType) {
  const std::string values = "- weir limits rates and stores no values: see RL.HELP";
  const std::vector<Unknown> rows = {
      {{"SET", "a", "b"}, "'a' 'b' " + values},
      {{"incr", "a"}, "'a' " + values},
      {{"GET"}, "with: " + values},
      {{"RL.ALOW", "k", "10/s"}, "'k' '10/s' - did you mean RL.ALLOW?"},
      {{"rl.hlep"}, "with: - did you mean RL.HELP?"},
      {{"RL.GET", "k"}, "'k' - see RL.HELP"},
      {{"ALLOW", "k", "10/s"}, "'k' '10/s' - did you mean RL.ALLOW?"},
      {{"throttle", "k"}, "'k' - did you mean RL.ALLOW?"},
      {{"peek", "k"}, "'k' - did you mean RL.PEEK?"},
      {{"FOO", "k"}, "with args beginning with: 'k' "},
      {{std::string(200, 'x')}, "with args beginning with: "},
  };
  for (const auto& [words, end] : rows) {
    Conversation client;
    const std::string reply = client.Call(words);
    EXPECT_THAT(reply, testing::StartsWith("-ERR unknown command '" + words[0].substr(0, 128)));
    EXPECT_THAT(reply, testing::EndsWith(end + "\r\n"));
  }
}

// "CLIENT" and "ID" are two words: the name under which the table keeps their row is not a command.
TEST(CommandTableTest, TheNameOfASubcommandsRowIsNoCommand) {
  for (const CommandSpec& spec : CommandTable()) {
    if (!IsSubcommand(spec)) continue;
    Conversation client;
    const std::vector<std::string> words(spec.arity.min, std::string(spec.name));
    EXPECT_THAT(client.Call(words),
                testing::StartsWith("-ERR unknown command '" + std::string(spec.name) + "', with"));
    EXPECT_FALSE(client.closed());
  }
}

// Every row is called by its name, with one word less than it needs and one more than it takes.
TEST(CommandTableTest, DispatchChecksTheArityOfEveryRow) {
  for (const CommandSpec& spec : CommandTable()) {
    std::vector<std::string> names = {Mixed(ContainerName(spec))};
    if (IsSubcommand(spec)) names.push_back(Mixed(SubcommandName(spec)));
    std::string refusal = "wrong number of arguments for '" + Lower(spec.name) + "' command\r\n";
    // EXEC ends a transaction even if its arity is wrong.
    refusal.insert(0,
                   spec.name == "EXEC" ? "-EXECABORT Transaction discarded because of: " : "-ERR ");
    // A word behind the name of a container selects another row.
    const std::size_t most =
        spec.Is(kContainer) ? names.size() : std::min<std::size_t>(spec.arity.max + 1, 8);
    for (std::size_t words = names.size(); words <= most; ++words) {
      Conversation client;
      std::vector<std::string> request = names;
      request.resize(words, "x");
      const std::string reply = client.Call(request);
      EXPECT_EQ(reply == refusal, !spec.arity.Allows(words))
          << spec.name << " with " << words << " words: " << reply;
      EXPECT_EQ(client.record().last_command.load(), spec.arity.Allows(words) ? &spec : nullptr);
    }
  }
}

}  // namespace
}  // namespace weir
