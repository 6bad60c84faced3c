// Goal: reading ahead returns the client's commands, no byte more or less, whichever of them are
// dropped. Method: a parser and a limiter, without a session. (Sessions: session_test.cc.)
#include "server/session/read_ahead.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/command_table.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class ReadAheadTest : public testing::Test {
 protected:
  ParseResult Fill(std::string_view unread) { return ahead_.Fill(unread, parser_, *limiter_); }
  ReadAhead::Command Pop() { return ahead_.Pop(*limiter_); }
  // The keys whose hashes come with the next command.
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    for (const HashedKey& key : Pop().keys) {
      keys.emplace_back(key.text);
      EXPECT_EQ(key.hash, limiter_->PrefetchPartition(key.text));
    }
    return keys;
  }

  const std::unique_ptr<Limiter> limiter_ = std::make_unique<Limiter>(LimiterOptions{});
  RespParser parser_;
  ReadAhead ahead_;
};

TEST_F(ReadAheadTest, ReadsCommandsAndCountsTheirBytes) {
  EXPECT_TRUE(ahead_.empty());
  ASSERT_EQ(Fill("\r\nPING\r\nfoo bar\r\n\r\n\r\nECHO"), ParseResult::kCommand);
  EXPECT_EQ(ahead_.next().spec, FindCommand("PING"));
  ReadAhead::Command command = Pop();
  EXPECT_EQ(command.spec, FindCommand("PING"));
  EXPECT_EQ(command.bytes, 8U);
  EXPECT_THAT(command.words, ElementsAre("PING"));
  ASSERT_FALSE(ahead_.empty());
  command = Pop();
  EXPECT_EQ(command.spec, nullptr);
  EXPECT_EQ(command.bytes, 13U) << "those of the empty requests behind it";
  EXPECT_THAT(command.words, ElementsAre("foo", "bar"));
  EXPECT_TRUE(ahead_.empty());
  ASSERT_EQ(Fill("ECHO x\r\n"), ParseResult::kCommand) << "the parser continues";
  EXPECT_THAT(Pop().words, ElementsAre("ECHO", "x"));
}

TEST_F(ReadAheadTest, TakesCommandsThatAreParsed) {
  const std::vector<std::string_view> allow = {"rl.allow", "a", "1/s", "and", "b", "2/s"};
  const std::vector<std::string_view> unknown = {"foo"};
  std::vector<std::span<const std::string_view>> commands(ReadAhead::kCommandsMax, allow);
  commands[1] = unknown;
  commands.emplace_back(unknown);
  ahead_.Fill(commands, *limiter_);
  EXPECT_THAT(Keys(), ElementsAre("a", "b"));
  EXPECT_THAT(Pop().words, ElementsAre("foo"));
  for (std::size_t i = 2; i < ReadAhead::kCommandsMax; ++i) EXPECT_THAT(Pop().words, SizeIs(6));
  EXPECT_TRUE(ahead_.empty());
  ahead_.Fill({}, *limiter_);
  EXPECT_TRUE(ahead_.empty());
}

// The row of a command does not depend on the commands before it.
TEST_F(ReadAheadTest, FindsEachRowAfterAnyOther) {
  using Words = std::vector<std::string_view>;
  const std::vector<Words> requests = {{"PING"},         {"ping"},      {"CLIENT", "ID"},
                                       {"CLIENT", "ls"}, {"CLIENT|ID"}, {"CLIENT"},
                                       {"COMMAND"},      {"foo"},       {"RL.ALLOW", "k", "1/s"}};
  for (const Words& first : requests) {
    for (const Words& second : requests) {
      const std::vector<std::span<const std::string_view>> commands = {first, second, first};
      ahead_.Fill(commands, *limiter_);
      for (const auto& words : commands) EXPECT_EQ(Pop().spec, FindRequested(words)) << words[0];
    }
  }
}

TEST_F(ReadAheadTest, SaysWhyThereIsNothing) {
  EXPECT_EQ(Fill(""), ParseResult::kNeedMore);
  EXPECT_EQ(Fill("\r\n\r\nPI"), ParseResult::kNeedMore);
  EXPECT_EQ(parser_.consumed(), 4U);
  EXPECT_TRUE(ahead_.empty());
  parser_.Restart();
  EXPECT_EQ(Fill("PING\r\n*x\r\n"), ParseResult::kCommand);
  EXPECT_EQ(Pop().bytes, 6U);
  EXPECT_EQ(Fill("*x\r\n"), ParseResult::kProtocolError);
  EXPECT_EQ(Fill("*x\r\n"), ParseResult::kProtocolError);
}

TEST_F(ReadAheadTest, DroppedCommandsAreReadAgain) {
  const std::string_view input = "PING\r\nECHO a\r\nECHO b\r\n*x";
  ASSERT_EQ(Fill(input), ParseResult::kCommand);
  const std::size_t bytes = Pop().bytes;
  ahead_.Drop();
  EXPECT_TRUE(ahead_.empty());
  parser_.Restart();
  ASSERT_EQ(Fill(input.substr(bytes)), ParseResult::kCommand);
  EXPECT_THAT(Pop().words, ElementsAre("ECHO", "a"));
}

// The words of such a command are in the parser, and the next command would overwrite them.
TEST_F(ReadAheadTest, ACommandWithQuotesIsTheLast) {
  const std::string_view input = "ECHO a\r\nECHO 'b c'\r\nECHO 'd'\r\n";
  ASSERT_EQ(Fill(input), ParseResult::kCommand);
  std::size_t bytes = Pop().bytes;
  const ReadAhead::Command command = Pop();
  bytes += command.bytes;
  EXPECT_THAT(command.words, ElementsAre("ECHO", "b c"));
  ASSERT_TRUE(ahead_.empty());
  ASSERT_EQ(Fill(input.substr(bytes)), ParseResult::kCommand);
  EXPECT_THAT(Pop().words, ElementsAre("ECHO", "d"));
}

// The commands behind it wait as well, and would be read again each time.
TEST_F(ReadAheadTest, ACommandThatMayWaitIsTheLast) {
  ASSERT_EQ(Fill("PING\nRL.WAIT a 1/s AND b 1/s TIMEOUT 1\nPING\n"), ParseResult::kCommand);
  static_cast<void>(Pop());
  EXPECT_EQ(Pop().spec, FindCommand("RL.WAIT"));
  EXPECT_TRUE(ahead_.empty());
}

TEST_F(ReadAheadTest, FetchesTheKeysOfLaterCommands) {
  ASSERT_EQ(Fill("RL.ALLOW a 1/s\nRL.ALLOW b 1/s AND c 2/s\nPING\nRL.ALLOW\nDEL d e\n"),
            ParseResult::kCommand);
  EXPECT_THAT(Keys(), ElementsAre("a"));
  EXPECT_THAT(Keys(), ElementsAre("b", "c"));
  EXPECT_THAT(Keys(), ElementsAre());
  EXPECT_THAT(Keys(), ElementsAre()) << "too few words";
  EXPECT_THAT(Keys(), ElementsAre("d", "e"));
  ASSERT_EQ(Fill("RL.ALLOW a 1/s\n"), ParseResult::kCommand);
  EXPECT_THAT(Keys(), ElementsAre()) << "nothing is done meanwhile";
}

TEST_F(ReadAheadTest, HasBounds) {
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += "RL.ALLOW k" + std::to_string(i) + " 1/s\n";
  ASSERT_EQ(Fill(many), ParseResult::kCommand);
  std::size_t commands = 0;
  for (; !ahead_.empty(); ++commands) {
    EXPECT_THAT(Keys(), ElementsAre("k" + std::to_string(commands)));
  }
  EXPECT_EQ(commands, ReadAhead::kCommandsMax);
  // A command with more keys than are fetched has the hashes of its first keys, or none.
  std::string keys = "DEL";
  for (std::size_t i = 0; i < 2 * ReadAhead::kKeysMax; ++i) keys += " k" + std::to_string(i);
  keys += "\nRL.ALLOW a 1/s\n";
  ASSERT_EQ(Fill(keys), ParseResult::kCommand);
  EXPECT_EQ(Keys().size(), ReadAhead::kKeysMax);
  EXPECT_THAT(Keys(), ElementsAre());
}

#ifndef NDEBUG
TEST_F(ReadAheadTest, NoCommandIsReadOverAndNoneTakenTwice) {
  EXPECT_DEATH(static_cast<void>(ahead_.next()), "!empty");
  ASSERT_EQ(Fill("PING\r\nPING\r\n"), ParseResult::kCommand);
  static_cast<void>(Pop());
  EXPECT_DEATH(static_cast<void>(Fill("PING\r\n")), "empty");
  EXPECT_DEATH(ahead_.Fill({}, *limiter_), "empty");
}
#endif

}  // namespace
}  // namespace weir
