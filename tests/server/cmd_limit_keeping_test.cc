// Goal: RL.PEEK changes nothing, RL.RESET forgets what it is told to, RL.INSPECT shows what there
// is. Method: the state to the nanosecond before and after.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/command_table.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

std::string StateOf(TestServer& server, const std::string& key) {
  std::string state;
  for (const auto& bucket : server.limiter->Inspect(key, server.clock.Now())) {
    state += LimitText(bucket.limit) + " " + std::to_string(bucket.remaining) + " " +
             std::to_string(bucket.reset_after.count()) + "\n";
  }
  return state + std::to_string(server.limiter->size().buckets) + " " +
         std::to_string(server.limiter->size().limits);
}

TEST(RlPeekTest, SaysWhatAllowWouldSay) {
  Conversation peeker;
  Conversation asker;
  for (int step = 0; step < 300; ++step) {
    const std::string words = " k" + std::to_string(step % 3) +
                              " 10/s 3/s,burst=5 AND k 7/11ms COST " + std::to_string(step % 5) +
                              " WITHLIMITS";
    const std::string peeked = peeker.Run("RL.PEEK" + words);
    EXPECT_EQ(peeker.Run("RL.PEEK" + words), peeked);
    EXPECT_EQ(asker.Run("RL.ALLOW" + words), peeked);
    EXPECT_EQ(peeker.Run("RL.ALLOW" + words), peeked);
    peeker.server().clock.Advance(Nanos{step * 1'000'003});
    asker.server().clock.Advance(Nanos{step * 1'000'003});
  }
}

TEST(RlPeekTest, ChangesAndCreatesNothing) {
  Conversation client;
  client.Run("RL.ALLOW k 10/s 1000/h COST 7");
  const std::string before = StateOf(client.server(), "k");
  for (const char* line : {"RL.PEEK k 10/s", "RL.PEEK k 10/s COST 3", "RL.PEEK k 10/s COST 10",
                           "RL.PEEK k 10/s COST 11", "RL.PEEK k 20/s",
                           "RL.PEEK new 10/s 5/m AND k 1000/h COST 1000 WITHLIMITS"}) {
    client.Run(line);
    EXPECT_EQ(StateOf(client.server(), "k"), before) << line;
    EXPECT_EQ(client.Run("EXISTS new"), ":0\r\n");
  }
}

TEST(RlPeekTest, CountsAsNoDecision) {
  Conversation client;
  client.Run("RL.PEEK k 10/s");
  client.Run("RL.PEEK k 10/s COST 11");
  EXPECT_EQ(client.server().worker.tally.allowed.value(), 0U);
  EXPECT_EQ(client.server().worker.tally.denied.value(), 0U);
  client.Run("RL.ALLOW k 10/s");
  client.Run("RL.ALLOW k 10/s COST 11");
  client.Run("RL.ALLOW k 10/x");
  EXPECT_EQ(client.server().worker.tally.allowed.value(), 1U);
  EXPECT_EQ(client.server().worker.tally.denied.value(), 1U);
}

TEST(RlResetTest, ForgetsTheLimitsThatAreNamed) {
  Conversation client;
  client.Run("RL.ALLOW k 10/s 20/s 30/s AND other 10/s");
  EXPECT_EQ(client.Run("RL.RESET k 10/s 30/s,cost=7,name=any 40/s"), ":2\r\n");
  EXPECT_EQ(client.Run("RL.INSPECT k"), "*1\r\n*3\r\n$4\r\n20/s\r\n:19\r\n:50\r\n");
  EXPECT_EQ(client.Run("RL.INSPECT other"), "*1\r\n*3\r\n$4\r\n10/s\r\n:9\r\n:100\r\n");
  EXPECT_EQ(client.Run("RL.RESET k 10/s 30/s"), ":0\r\n");
}

TEST(RlResetTest, WithoutLimitsForgetsAllOfTheKey) {
  Conversation client;
  client.Run("RL.ALLOW k 10/s 20/s 30/s AND other 10/s");
  EXPECT_EQ(client.Run("RL.RESET k"), ":3\r\n");
  EXPECT_EQ(client.Run("RL.RESET k"), ":0\r\n");
  EXPECT_EQ(client.Run("RL.RESET nosuch"), ":0\r\n");
  EXPECT_EQ(client.Run("EXISTS k other"), ":1\r\n");
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s COST 10"), "*5\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:0\r\n");
}

// A bucket that has filled up counts as none, but is forgotten, too.
TEST(RlResetTest, CountsOnlyWhatWasNotFull) {
  Conversation client;
  client.Run("RL.ALLOW k 10/s 1/h");
  client.server().clock.Advance(milliseconds{100});
  EXPECT_EQ(client.Run("DBSIZE"), ":2\r\n");
  EXPECT_EQ(client.Run("RL.RESET k"), ":1\r\n");
  EXPECT_EQ(client.Run("DBSIZE"), ":0\r\n");
}

TEST(RlResetTest, TheSameLimitTwiceIsOne) {
  Conversation client;
  client.Run("RL.ALLOW k 10/s");
  EXPECT_EQ(client.Run("RL.RESET k 10/s 10/s 10/1s"), ":1\r\n");
}

TEST(RlInspectTest, ShowsEveryBucketThatIsNotFull) {
  Conversation client;
  EXPECT_EQ(client.Run("RL.INSPECT k"), "*0\r\n");
  client.Run("RL.ALLOW k 1000/24h,name=daily,cost=2");
  client.Run("RL.ALLOW k 10/s,burst=20 COST 20");
  EXPECT_EQ(client.Show("RL.INSPECT k"),
            "1) 1) \"1000/d\"\n   2) (integer) 998\n   3) (integer) 172800\n"
            "2) 1) \"10/s,burst=20\"\n   2) (integer) 0\n   3) (integer) 2000");
  client.server().clock.Advance(Nanos{1'999'999'999});
  EXPECT_EQ(client.Show("RL.INSPECT k"),
            "1) 1) \"1000/d\"\n   2) (integer) 998\n   3) (integer) 170801\n"
            "2) 1) \"10/s,burst=20\"\n   2) (integer) 19\n   3) (integer) 1");
  client.server().clock.Advance(Nanos{1});
  EXPECT_EQ(client.Show("RL.INSPECT k"),
            "1) 1) \"1000/d\"\n   2) (integer) 998\n   3) (integer) 170800");
}

TEST(RlHelpTest, ListsTheCommandsWithTheirSyntax) {
  Conversation client;
  const RespValue help = client.Ask("RL.HELP");
  std::size_t commands = 0;
  for (const CommandSpec& spec : CommandTable()) commands += spec.name.starts_with("RL.") ? 1 : 0;
  ASSERT_EQ(help.elements.size(), 2 * commands);
  EXPECT_EQ(help.elements[0].text,
            "RL.ALLOW key limit [limit ...] [COST cost] [AND key limit [limit ...] [COST cost] "
            "...] [WITHLIMITS]"
            " [AT unix-time-ns]");
  EXPECT_THAT(help.elements[1].text, testing::StartsWith("    Takes tokens"));
  EXPECT_THAT(client.Show("RL.HELP"), testing::HasSubstr("\"RL.RESET key [limit ...]\""));
}

}  // namespace
}  // namespace weir
