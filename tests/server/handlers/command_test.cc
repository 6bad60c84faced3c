// Goal: COMMAND describes weir's own commands in the shapes of Redis 7, which clients use for
// routing and redis-cli for hints. Method: exact bytes in both protocols for the important rows,
// and checks of the whole table. Redis's own commands are tested in
// tests/e2e/differential_commands.py.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/command_table.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::StartsWith;

std::vector<std::string> TopLevelNames() {
  std::vector<std::string> names;
  for (const CommandSpec& spec : CommandTable()) {
    if (!IsSubcommand(spec)) names.push_back(LowerName(spec));
  }
  return names;
}

std::vector<std::string> Texts(const RespValue& value) {
  std::vector<std::string> texts;
  for (const RespValue& element : value.elements) texts.push_back(element.text);
  return texts;
}

// The value of a field of a map; RESP2 has an array of names and values.
const RespValue& Field(const RespValue& map, std::string_view name) {
  static const RespValue kNone;
  for (std::size_t i = 0; i + 1 < map.elements.size(); i += 2) {
    if (map.elements[i].text == name) return map.elements[i + 1];
  }
  ADD_FAILURE() << "no field " << name;
  return kNone;
}

TEST(CommandInfoTest, RlAllowInResp2) {
  Conversation client;
  EXPECT_EQ(client.Run("COMMAND INFO rl.allow"),
            "*1\r\n*10\r\n$8\r\nrl.allow\r\n:-3\r\n*4\r\n+write\r\n+denyoom\r\n+fast\r\n"
            "+movablekeys\r\n:1\r\n:1\r\n:1\r\n"
            "*3\r\n+@write\r\n+@limit\r\n+@fast\r\n*0\r\n*1\r\n"
            "*6\r\n$5\r\nflags\r\n*4\r\n+RW\r\n+access\r\n+update\r\n+incomplete\r\n"
            "$12\r\nbegin_search\r\n*4\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n*2\r\n$"
            "5\r\nindex\r\n:1\r\n"
            "$9\r\nfind_keys\r\n*4\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n*6\r\n$"
            "7\r\nlastkey\r\n:0\r\n"
            "$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n*0\r\n");
}

TEST(CommandInfoTest, RlAllowInResp3) {
  Conversation client;
  client.Run("HELLO 3");
  EXPECT_EQ(client.Run("COMMAND INFO RL.Allow"),
            "*1\r\n*10\r\n$8\r\nrl.allow\r\n:-3\r\n~4\r\n+write\r\n+denyoom\r\n+fast\r\n+"
            "movablekeys\r\n:1\r\n:"
            "1\r\n:1\r\n"
            "~3\r\n+@write\r\n+@limit\r\n+@fast\r\n~0\r\n~1\r\n"
            "%3\r\n$5\r\nflags\r\n~4\r\n+RW\r\n+access\r\n+update\r\n+incomplete\r\n"
            "$12\r\nbegin_search\r\n%2\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n%1\r\n$"
            "5\r\nindex\r\n:1\r\n"
            "$9\r\nfind_keys\r\n%2\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n%3\r\n$"
            "7\r\nlastkey\r\n:0\r\n"
            "$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n~0\r\n");
}

TEST(CommandInfoTest, SubcommandsAreRowsInsideTheirContainer) {
  Conversation client;
  EXPECT_EQ(client.Run("COMMAND INFO module"),
            "*1\r\n*10\r\n$6\r\nmodule\r\n:-2\r\n*0\r\n:0\r\n:0\r\n:0\r\n*1\r\n+@slow\r\n*0\r\n*"
            "0\r\n*2\r\n"
            "*10\r\n$11\r\nmodule|help\r\n:2\r\n*1\r\n+loading\r\n:0\r\n:0\r\n:0\r\n*1\r\n+@"
            "slow\r\n*0\r\n*0\r\n*0\r\n"
            "*10\r\n$11\r\nmodule|list\r\n:2\r\n*2\r\n+admin\r\n+loading\r\n:0\r\n:0\r\n:0\r\n"
            "*3\r\n+@admin\r\n+@dangerous\r\n+@slow\r\n*0\r\n*0\r\n*0\r\n");
  // In RESP3 the subcommands of a container are an array; no subcommands are an empty set.
  client.Run("HELLO 3");
  const RespValue module = client.Ask("COMMAND INFO module").elements[0];
  EXPECT_EQ(module.elements[9].type, '*');
  EXPECT_EQ(module.elements[9].elements[0].elements[9].type, '~');
}

// redis-py's cluster client reads all of it and routes by the first key.
TEST(CommandInfoTest, CommandAloneDescribesEveryRow) {
  Conversation client;
  const std::string bytes = client.Run("COMMAND");
  EXPECT_EQ(client.Run("COMMAND INFO"), bytes);
  const auto all = ReadRespValues(bytes);
  ASSERT_TRUE(all.has_value());
  std::vector<std::string> names;
  for (const RespValue& row : all->front().elements) {
    ASSERT_EQ(row.elements.size(), 10U);
    const CommandSpec* spec = FindCommand(row.elements[0].text);
    ASSERT_NE(spec, nullptr);
    names.push_back(row.elements[0].text);
    EXPECT_EQ(row.elements[1].number, spec->arity.redis());
    EXPECT_EQ(row.elements[3].number, spec->keys.first);
    EXPECT_EQ(row.elements[4].number, spec->keys.last);
    EXPECT_EQ(row.elements[5].number, spec->keys.step);
    EXPECT_EQ(row.elements[8].elements.size(), spec->keys.first == 0 ? 0U : 1U);
    EXPECT_EQ(row.elements[9].elements.size(), SubcommandsOf(*spec).size());
  }
  EXPECT_EQ(names, TopLevelNames());
}

TEST(CommandCountTest, EqualsTheRowsThatAreNoSubcommands) {
  Conversation client;
  EXPECT_EQ(client.Run("COMMAND COUNT"), ":" + std::to_string(TopLevelNames().size()) + "\r\n");
  EXPECT_EQ(client.Ask("COMMAND").elements.size(), TopLevelNames().size());
}

TEST(CommandListTest, ListsTheNamesThatMatch) {
  Conversation client;
  std::vector<std::string> all;
  for (const CommandSpec& spec : CommandTable()) all.push_back(LowerName(spec));
  EXPECT_EQ(Texts(client.Ask("COMMAND LIST")), all);
  EXPECT_THAT(Texts(client.Ask("COMMAND LIST FILTERBY PATTERN rl.?????*")),
              IsSupersetOf({"rl.allow", "rl.policy", "rl.policy|set", "rl.throttle"}));
  EXPECT_THAT(Texts(client.Ask("COMMAND LIST FILTERBY PATTERN memory|*")),
              ElementsAre("memory|help", "memory|purge", "memory|stats", "memory|usage"));
  EXPECT_THAT(Texts(client.Ask("COMMAND LIST FILTERBY ACLCAT Transaction")),
              ElementsAre("discard", "exec", "multi", "unwatch", "watch"));
  EXPECT_EQ(client.Run("COMMAND LIST FILTERBY MODULE weir"), "*0\r\n");
}

TEST(CommandGetKeysTest, FindsTheKeysOfEveryGroup) {
  Conversation client;
  const auto keys = [&](const std::string& words) {
    return Texts(client.Ask("COMMAND GETKEYS " + words));
  };
  EXPECT_THAT(keys("rl.allow k 1/s"), ElementsAre("k"));
  EXPECT_THAT(keys("RL.PEEK a 1/s COST 2 AND b 1/s 2/s and c 1/s WITHLIMITS"),
              ElementsAre("a", "b", "c"));
  EXPECT_THAT(keys("RL.ALLOW AND 1/s AND AND 1/s AND COST 1/s"), ElementsAre("AND", "AND", "COST"));
  EXPECT_THAT(keys("RL.WAIT a 1/s AND b 1/s TIMEOUT 1"), ElementsAre("a", "b"));
  EXPECT_THAT(keys("RL.RESERVE a 1/s AND b 1/s OR c 1/s or OR 1/s HOLD OR TTL 5"),
              ElementsAre("a", "b", "c", "OR"));
  EXPECT_THAT(keys("RL.RESET k 1/s AND 2/s"), ElementsAre("k"));
  EXPECT_THAT(keys("RL.ALLOW \"\" 1/s AND \"a b\" 1/s"), ElementsAre("", "a b"));
}

// An invalid request may end anywhere.
TEST(CommandGetKeysTest, ReadsNothingPastTheLastWord) {
  Conversation client;
  EXPECT_THAT(Texts(client.Ask("COMMAND GETKEYS RL.ALLOW k AND")), ElementsAre("k"));
  EXPECT_THAT(Texts(client.Ask("COMMAND GETKEYS RL.ALLOW k 1/s AND")), ElementsAre("k"));
  EXPECT_THAT(Texts(client.Ask("COMMAND GETKEYS RL.ALLOW k AND AND")), ElementsAre("k", "AND"));
}

TEST(CommandDocsCommandTest, DescribesRlAllow) {
  Conversation client;
  client.Run("HELLO 3");
  const RespValue reply = client.Ask("COMMAND DOCS rl.allow");
  ASSERT_EQ(reply.type, '%');
  ASSERT_EQ(reply.elements.size(), 2U);
  EXPECT_EQ(reply.elements[0].text, "rl.allow");
  const RespValue& docs = reply.elements[1];
  EXPECT_THAT(Field(docs, "summary").text,
              StartsWith("Takes tokens from all limits or from none;"));
  EXPECT_EQ(Field(docs, "since").text, "0.1.0");
  EXPECT_EQ(Field(docs, "group").text, "limit");
  EXPECT_EQ(Field(docs, "complexity").text, "O(limits)");
  const RespValue& arguments = Field(docs, "arguments");
  ASSERT_EQ(arguments.elements.size(), 7U);
  const RespValue& key = arguments.elements[0];
  EXPECT_EQ(Field(key, "name").text, "key");
  EXPECT_EQ(Field(key, "type").text, "key");
  EXPECT_EQ(Field(key, "key_spec_index").number, 0);
  EXPECT_THAT(Texts(Field(arguments.elements[1], "flags")), ElementsAre("multiple"));
  EXPECT_EQ(Field(arguments.elements[2], "token").text, "COST");
  EXPECT_THAT(Texts(Field(arguments.elements[2], "flags")), ElementsAre("optional"));
  const RespValue& more = arguments.elements[3];
  EXPECT_EQ(Field(more, "type").text, "block");
  EXPECT_EQ(Field(more, "token").text, "AND");
  EXPECT_EQ(Field(more, "flags").type, '~');
  EXPECT_THAT(Texts(Field(more, "flags")), ElementsAre("optional", "multiple", "multiple_token"));
  EXPECT_EQ(Field(more, "arguments").elements.size(), 3U);
  EXPECT_EQ(Field(arguments.elements[4], "token").text, "OR");
  EXPECT_EQ(Field(arguments.elements[4], "arguments").elements.size(), 4U);
  EXPECT_EQ(Field(arguments.elements[5], "type").text, "pure-token");
}

TEST(CommandDocsCommandTest, IsArraysOfPairsInResp2) {
  Conversation client;
  EXPECT_EQ(client.Run("COMMAND DOCS ping"),
            "*2\r\n$4\r\nping\r\n*10\r\n$7\r\nsummary\r\n$29\r\nAnswers PONG, or the "
            "message.\r\n$5\r\nsince\r\n"
            "$5\r\n0.1.0\r\n$5\r\ngroup\r\n$10\r\nconnection\r\n$10\r\ncomplexity\r\n$4\r\nO(1)"
            "\r\n$9\r\narguments\r\n"
            "*1\r\n*6\r\n$4\r\nname\r\n$7\r\nmessage\r\n$4\r\ntype\r\n$6\r\nstring\r\n$"
            "5\r\nflags\r\n*1\r\n+optional\r\n");
}

// A map, in which no key may stand twice.
TEST(CommandDocsCommandTest, RepeatedNamesAreDocumentedOnce) {
  Conversation client;
  for (const char* protocol : {"HELLO 2", "HELLO 3"}) {
    client.Run(protocol);
    const RespValue docs = client.Ask("COMMAND DOCS time ping TIME nosuch client|id Ping client");
    std::vector<std::string> names;
    for (std::size_t i = 0; i < docs.elements.size(); i += 2)
      names.push_back(docs.elements[i].text);
    EXPECT_THAT(names, ElementsAre("time", "ping", "client|id", "client"));
  }
}

TEST(CommandDocsCommandTest, AloneDocumentsEveryRow) {
  Conversation client;
  for (const char* protocol : {"HELLO 2", "HELLO 3"}) {
    client.Run(protocol);
    const RespValue all = client.Ask("COMMAND DOCS");
    ASSERT_EQ(all.elements.size(), 2 * TopLevelNames().size());
    for (std::size_t i = 0; i < all.elements.size(); i += 2) {
      const CommandSpec* spec = FindCommand(all.elements[i].text);
      ASSERT_NE(spec, nullptr);
      EXPECT_EQ(Field(all.elements[i + 1], "summary").text, spec->summary);
      const auto subcommands = SubcommandsOf(*spec);
      if (subcommands.empty()) continue;
      EXPECT_EQ(Field(all.elements[i + 1], "subcommands").elements.size(), 2 * subcommands.size());
    }
  }
}

TEST(CommandGetKeysAndFlagsTest, ShowsTheAccessFlagsOfEachKey) {
  Conversation client;
  EXPECT_EQ(client.Run("COMMAND GETKEYSANDFLAGS rl.allow a 1/s AND b 1/s"),
            "*2\r\n*2\r\n$1\r\na\r\n*3\r\n+RW\r\n+access\r\n+update\r\n"
            "*2\r\n$1\r\nb\r\n*3\r\n+RW\r\n+access\r\n+update\r\n");
}

}  // namespace
}  // namespace weir
