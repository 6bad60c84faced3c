// Goal: RL.PEEK changes nothing, RL.RESET forgets the named buckets, RL.INSPECT shows the stored
// ones. Method: the state before and after, to the nanosecond.
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "core/commands/hold_commands.h"
#include "core/commands/limit_commands.h"
#include "core/commands/replies.h"
#include "tests/commands/client.h"
#include "tests/commands/differences.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

TEST(RlPeekTest, SaysWhatAllowWouldSay) {
  Client peeker;
  Client asker;
  for (int step = 0; step < 300; ++step) {
    const std::string words = " k" + std::to_string(step % 3) +
                              " 10/s 3/s,burst=5 AND k 7/11ms COST " + std::to_string(step % 5) +
                              " WITHLIMITS";
    const std::string peeked = peeker.Run("RL.PEEK" + words);
    EXPECT_EQ(peeker.Run("RL.PEEK" + words), peeked);
    EXPECT_EQ(asker.Run("RL.ALLOW" + words), peeked);
    EXPECT_EQ(peeker.Run("RL.ALLOW" + words), peeked);
    peeker.clock().Advance(Nanos{step * 1'000'003});
    asker.clock().Advance(Nanos{step * 1'000'003});
  }
}

TEST(RlPeekTest, ChangesAndCreatesNothing) {
  Client client;
  client.Run("RL.ALLOW k 10/s 1000/h COST 7");
  const std::string before = client.host().State({"k", "new"});
  for (const char* line : {"RL.PEEK k 10/s", "RL.PEEK k 10/s COST 3", "RL.PEEK k 10/s COST 10",
                           "RL.PEEK k 10/s COST 11", "RL.PEEK k 20/s",
                           "RL.PEEK new 10/s 5/m AND k 1000/h COST 1000 WITHLIMITS"}) {
    client.Run(line);
    EXPECT_EQ(client.host().State({"k", "new"}), before) << line;
    EXPECT_EQ(client.Run("EXISTS new"), ":0\r\n");
  }
}

// --- The bound of a key -------------------------------------------------------------------------

TEST(KeyBoundTest, AKeyHasAtMost1024Buckets) {
  Client client;
  for (int request = 0; request < 16; ++request) {
    std::string line = "RL.ALLOW k";
    for (int i = 1; i <= 64; ++i) line += " " + std::to_string(64 * request + i) + "/d";
    ASSERT_EQ(client.Ask(line).elements[0].number, 1) << line;
  }
  const std::string refused = "-ERR too many limits on one key: at most 1024\r\n";
  EXPECT_EQ(client.Run("RL.ALLOW k 2000/d"), refused);
  EXPECT_EQ(client.Run("RL.TAKE k 1000/d 2000/d UPTO 5"), refused);
  EXPECT_EQ(client.Run("RL.WAIT k 2000/d TIMEOUT 10"), refused);
  EXPECT_EQ(client.Run("CL.THROTTLE k 10 5 60"), refused);
  EXPECT_EQ(client.Run("RL.PEEK k 1000/d COST 0"), Five("1 999 0 86400 0"));
  EXPECT_EQ(client.Ask("RL.ALLOW k 1000/d").elements[0].number, 1);
  EXPECT_EQ(client.Ask("RL.ALLOW l 2000/d").elements[0].number, 1);
  EXPECT_EQ(client.Run("RL.RESET k 7/d"), ":1\r\n");
  EXPECT_EQ(client.Ask("RL.ALLOW k 2000/d").elements[0].number, 1);
  EXPECT_EQ(client.Run("RL.ALLOW k 2001/d"), refused);
}

TEST(RlPeekTest, CountsAsNoDecision) {
  Client client;
  client.Run("RL.PEEK k 10/s");
  client.Run("RL.PEEK k 10/s COST 11");
  EXPECT_EQ(client.Run("RL.STATS"),
            "*1\r\n*7\r\n$7\r\n(total)\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n");
  client.Run("RL.ALLOW k 10/s");
  client.Run("RL.ALLOW k 10/s COST 11");
  client.Run("RL.ALLOW k 10/x");
  EXPECT_EQ(client.Run("RL.STATS"),
            "*2\r\n*7\r\n$7\r\n(total)\r\n:1\r\n:1\r\n:0\r\n:0\r\n:0\r\n:0\r\n"
            "*7\r\n$4\r\n10/s\r\n:1\r\n:1\r\n:0\r\n:0\r\n:0\r\n:0\r\n");
}

TEST(RlResetTest, ForgetsTheLimitsThatAreNamed) {
  Client client;
  client.Run("RL.ALLOW k 10/s 20/s 30/s AND other 10/s");
  EXPECT_EQ(client.Run("RL.RESET k 10/s 30/s,cost=7,name=any 40/s"), ":2\r\n");
  EXPECT_EQ(client.Run("RL.INSPECT k"), "*1\r\n*5\r\n$4\r\n20/s\r\n:19\r\n:50\r\n:1\r\n:0\r\n");
  EXPECT_EQ(client.Run("RL.INSPECT other"), "*1\r\n*5\r\n$4\r\n10/s\r\n:9\r\n:100\r\n:1\r\n:0\r\n");
  EXPECT_EQ(client.Run("RL.RESET k 10/s 30/s"), ":0\r\n");
}

TEST(RlResetTest, WithoutLimitsForgetsAllOfTheKey) {
  Client client;
  client.Run("RL.ALLOW k 10/s 20/s 30/s AND other 10/s");
  EXPECT_EQ(client.Run("RL.RESET k"), ":3\r\n");
  EXPECT_EQ(client.Run("RL.RESET k"), ":0\r\n");
  EXPECT_EQ(client.Run("RL.RESET nosuch"), ":0\r\n");
  EXPECT_EQ(client.Run("EXISTS k other"), ":1\r\n");
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s COST 10"), "*5\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:0\r\n");
}

// A bucket that has filled up is not counted, but is forgotten, too.
TEST(RlResetTest, CountsOnlyWhatWasNotFull) {
  Client client;
  client.Run("RL.ALLOW k 10/s 1/h");
  client.clock().Advance(milliseconds{100});
  EXPECT_EQ(client.Run("DBSIZE"), DbSize(1, 2));
  EXPECT_EQ(client.Run("RL.RESET k"), ":1\r\n");
  EXPECT_EQ(client.Run("DBSIZE"), ":0\r\n");
}

TEST(RlResetTest, TheSameLimitTwiceIsOne) {
  Client client;
  client.Run("RL.ALLOW k 10/s");
  EXPECT_EQ(client.Run("RL.RESET k 10/s 10/s 10/1s"), ":1\r\n");
}

TEST(RlInspectTest, ShowsEveryBucketThatIsNotFull) {
  Client client;
  EXPECT_EQ(client.Run("RL.INSPECT k"), "*0\r\n");
  client.Run("RL.ALLOW k 1000/24h,name=daily,cost=2");
  client.Run("RL.ALLOW k 10/s,burst=20 COST 20");
  EXPECT_EQ(client.Show("RL.INSPECT k"),
            "[\"1000/d\" 998 172800 2 0]\n[\"10/s,burst=20\" 0 2000 20 0]");
  client.clock().Advance(Nanos{1'999'999'999});
  EXPECT_EQ(client.Show("RL.INSPECT k"),
            "[\"1000/d\" 998 170801 2 0]\n[\"10/s,burst=20\" 19 1 1 0]");
  client.clock().Advance(Nanos{1});
  EXPECT_EQ(client.Show("RL.INSPECT k"), "[[\"1000/d\" 998 170800 2 0]]");
}

// A key with buckets exists; its time to live is the longest time until one of them is full.
TEST(KeysTest, AKeyIsGoneWhenItsBucketsAreFull) {
  Client client;
  client.Run("RL.ALLOW k 10/s 3/s");
  EXPECT_EQ(client.Run("PTTL k"), ":334\r\n");
  EXPECT_EQ(client.Run("TYPE k"), "+" + TypeOfBuckets() + "\r\n");
  const Instant gone = GoneAt(client.clock().Now() + Nanos{333'333'334});
  client.clock().Set(gone - Nanos{1});
  EXPECT_EQ(client.Run("EXISTS k"), ":1\r\n");
  client.clock().Set(gone);
  EXPECT_EQ(client.Run("EXISTS k"), ":0\r\n");
  EXPECT_EQ(client.Run("PTTL k"), ":-2\r\n");
}

// Redis's commands on keys work on keys with buckets.
TEST(KeysTest, ADeletedKeyHasItsTokensBack) {
  Client client;
  client.Run("RL.ALLOW k 10/h 20/h COST 10");
  EXPECT_EQ(client.Run("DEL k nosuch"), ":1\r\n");
  EXPECT_EQ(client.Run("RL.ALLOW k 10/h COST 10"), Five("1 0 0 3600000 0"));
  EXPECT_EQ(client.Run("FLUSHALL"), "+OK\r\n");
  EXPECT_EQ(client.Run("RL.ALLOW k 10/h COST 10"), Five("1 0 0 3600000 0"));
}

TEST(RlHelpTest, ListsTheCommandsWithTheirSyntax) {
  Client client;
  const RespValue help = client.Ask("RL.HELP");
  std::size_t commands = OwnCommands();
  commands += rows::kHoldCommands.size();
  for (const CommandSpec& spec : rows::kLimitCommands)
    commands += spec.name.starts_with("RL.") ? 1 : 0;
  constexpr std::size_t kGrammar = kGrammarHelp.size();
  ASSERT_EQ(help.elements.size(), kGrammar + 2 * commands);
  for (std::size_t i = 0; i < kGrammar; ++i) EXPECT_EQ(help.elements[i].text, kGrammarHelp[i]);
  EXPECT_EQ(help.elements[kGrammar].text,
            "RL.ALLOW key limit [limit ...] [COST cost] [AND key limit [limit ...] [COST cost] "
            "...] [OR key limit [limit ...] [COST cost] [AND key limit [limit ...] [COST cost] "
            "...] ...] [WITHLIMITS] [AT unix-time-ns]");
  EXPECT_THAT(help.elements[kGrammar + 1].text, testing::StartsWith("    Takes tokens"));
  EXPECT_THAT(client.Show("RL.HELP"), testing::HasSubstr("\"RL.RESET key [limit ...]\""));
}

// Each limit that the lines of the language show can be typed.
TEST(RlHelpTest, ShowsLimitsThatCanBeTyped) {
  Client client;
  std::size_t limits = 0;
  for (const std::string_view line : kGrammarHelp) {
    EXPECT_LE(line.size(), 100U) << line;
    for (absl::string_view word : absl::StrSplit(AbslView(line), absl::ByAnyChar(" :;)"))) {
      const bool is_limit = !word.empty() && absl::ascii_isdigit(word[0]) &&
                            (absl::StrContains(word, '/') || absl::StrContains(word, ','));
      if (!is_limit) continue;
      EXPECT_THAT(client.Show("RL.PEEK k " + std::string(word)), testing::StartsWith("1 ")) << word;
      ++limits;
    }
  }
  EXPECT_EQ(limits, 13U);
}

}  // namespace
}  // namespace weir
