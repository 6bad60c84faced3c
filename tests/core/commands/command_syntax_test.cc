// Goal: a syntax string becomes the arguments that COMMAND DOCS describes, and the syntax line that
// users read. Method: an example for each rule of the grammar; a string outside the grammar ends
// the process. (command_table_test checks both forms of every row.)
#include "core/commands/command_syntax.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using Type = Argument::Type;

CommandSpec RowWith(std::string_view syntax) {
  return {.name = "X|Y", .arity = AtLeast(2), .group = "", .summary = "", .syntax = syntax};
}

std::vector<Argument> Read(std::string_view syntax) { return ArgumentsOf(RowWith(syntax)); }

Argument ReadOne(std::string_view syntax) {
  std::vector<Argument> arguments = Read(syntax);
  EXPECT_EQ(arguments.size(), 1U) << syntax;
  return arguments.front();
}

std::string Shown(std::string_view syntax) { return CommandSyntax(RowWith(syntax)); }

TEST(CommandSyntaxTest, NoArgumentsAreAnEmptyString) {
  EXPECT_TRUE(Read("").empty());
  EXPECT_EQ(Shown(""), "X Y");
}

TEST(CommandSyntaxTest, NamesSayTheType) {
  EXPECT_EQ(ReadOne("key").type, Type::kKey);
  EXPECT_EQ(ReadOne("limit").type, Type::kString);
  EXPECT_EQ(ReadOne("count").type, Type::kInteger);
  EXPECT_EQ(ReadOne("unix-time-ns").type, Type::kUnixTime);
  EXPECT_EQ(ReadOne("pattern").type, Type::kPattern);
  EXPECT_EQ(ReadOne("ip:port").name, "ip:port");
}

TEST(CommandSyntaxTest, BracketsAndDotsSayHowOften) {
  const auto how_often = [](std::string_view syntax) {
    const Argument argument = ReadOne(syntax);
    return std::string(argument.optional ? "optional" : "") + (argument.multiple ? "*" : "");
  };
  EXPECT_EQ(how_often("limit"), "");
  EXPECT_EQ(how_often("[limit]"), "optional");
  EXPECT_EQ(how_often("[limit ...]"), "optional*");
  EXPECT_EQ(how_often("limit [limit ...]"), "*");
  EXPECT_EQ(how_often("data=(parameter value) [parameter value ...]"), "*");
  EXPECT_EQ(Read("limit [key ...]").size(), 2U);
}

TEST(CommandSyntaxTest, AKeywordStandsAloneOrBeforeAValue) {
  const std::vector<Argument> arguments = Read("[NOW] [LIB-NAME libname] TIMEOUT milliseconds");
  ASSERT_EQ(arguments.size(), 3U);
  EXPECT_EQ(arguments[0].type, Type::kToken);
  EXPECT_EQ(arguments[0].name, "now");
  EXPECT_EQ(arguments[0].token, "NOW");
  EXPECT_EQ(arguments[1].name, "libname");
  EXPECT_EQ(arguments[1].token, "LIB-NAME");
  EXPECT_EQ(arguments[2].type, Type::kInteger);
  EXPECT_EQ(arguments[2].token, "TIMEOUT");
  EXPECT_FALSE(arguments[2].optional);
}

TEST(CommandSyntaxTest, GroupsAreAllOrOneOfTheirParts) {
  const Argument block = ReadOne("[AND (key limit [limit ...]) ...]");
  EXPECT_EQ(block.type, Type::kBlock);
  EXPECT_EQ(block.name, "and");
  EXPECT_EQ(block.token, "AND");
  ASSERT_EQ(block.parts.size(), 2U);
  EXPECT_TRUE(block.parts[1].multiple);
  const Argument choice = ReadOne("filter=(ip:port|filters=([ID client-id] [SKIPME (YES|NO)]))");
  EXPECT_EQ(choice.type, Type::kOneOf);
  EXPECT_EQ(choice.name, "filter");
  ASSERT_EQ(choice.parts.size(), 2U);
  const Argument& filters = choice.parts[1];
  EXPECT_EQ(filters.type, Type::kBlock);
  EXPECT_EQ(filters.name, "filters");
  ASSERT_EQ(filters.parts.size(), 2U);
  EXPECT_EQ(filters.parts[1].type, Type::kOneOf);
  EXPECT_EQ(filters.parts[1].name, "skipme");
  EXPECT_EQ(filters.parts[1].parts[0].token, "YES");
}

TEST(CommandSyntaxTest, SyntaxLinesHideGroupNames) {
  EXPECT_EQ(Shown("key [AND (key limit) ...]"), "X Y key [AND key limit ...]");
  EXPECT_EQ(Shown("filter=(ip:port|filters=([ID client-id] [SKIPME (YES|NO)]))"),
            "X Y ip:port|[ID client-id] [SKIPME YES|NO]");
  EXPECT_EQ(Shown("client-id [how=(TIMEOUT|ERROR)]"), "X Y client-id [TIMEOUT|ERROR]");
}

TEST(CommandSyntaxDeathTest, OtherStringsEndTheProcess) {
  for (const char* syntax : {" ", "key ", "key  key", "[key", "key]", "[key ..]", "(key", "(key))",
                             "how=key", "how=", "a|b", "(a|b c)", "[]", "()", "(key limit)"}) {
    EXPECT_DEATH(static_cast<void>(Read(syntax)), "check failed") << syntax;
  }
}

}  // namespace
}  // namespace weir
