// Goal: MULTI queues, EXEC runs all of it or nothing, and the errors are Redis's. Method:
// conversations; the clock stands still unless moved. What RL commands answer between them, on
// every host, is in tests/commands/transaction_test.cc.
#include <algorithm>
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/conversation.h"

namespace weir {
namespace {

constexpr std::string_view kOk = "+OK\r\n";
constexpr std::string_view kQueued = "+QUEUED\r\n";
constexpr std::string_view kAborted =
    "-EXECABORT Transaction discarded because of previous errors.\r\n";

class CmdTransactionTest : public testing::Test {
 protected:
  void Queue(std::string_view line) { EXPECT_EQ(client_.Run(line), kQueued) << line; }
  void Multi() { EXPECT_EQ(client_.Run("MULTI"), kOk); }
  std::string Exec() { return client_.Run("EXEC"); }

  Conversation client_;
  Conversation other_{client_.server()};
};

TEST_F(CmdTransactionTest, AnEmptyOneIsAnEmptyArray) {
  Multi();
  EXPECT_EQ(Exec(), "*0\r\n");
}

// What fails when it is queued aborts all; what fails when it runs is an element.
TEST_F(CmdTransactionTest, ErrorsWhileQueueingAbort) {
  for (const char* bad : {"FOO", "RL.ALLOW k", "CLIENT FOO", "SAVE", "RL.POLICY RELOAD", "MULTI x",
                          "CLIENT REPLY OFF"}) {
    Multi();
    Queue("RL.ALLOW k 1/h");
    EXPECT_THAT(client_.Run(bad), testing::StartsWith("-ERR ")) << bad;
    EXPECT_EQ(Exec(), kAborted) << bad;
    EXPECT_EQ(client_.Run("EXISTS k"), ":0\r\n");
  }
  Multi();
  Queue("SELECT 7");
  Queue("RL.ALLOW k ill");
  Queue("PING");
  const std::string replies = Exec();
  EXPECT_THAT(replies, testing::StartsWith("*3\r\n-ERR DB index is out of range\r\n-ERR invalid"));
  EXPECT_THAT(replies, testing::EndsWith("+PONG\r\n"));
}

TEST_F(CmdTransactionTest, NestingAndWatchingInsideAreErrorsThatDoNotAbort) {
  Multi();
  EXPECT_EQ(client_.Run("MULTI"), "-ERR MULTI calls can not be nested\r\n");
  EXPECT_EQ(client_.Run("WATCH k"), "-ERR WATCH inside MULTI is not allowed\r\n");
  Queue("PING");
  EXPECT_EQ(Exec(), "*1\r\n+PONG\r\n");
}

TEST_F(CmdTransactionTest, ATooLargeOneAborts) {
  Multi();
  std::string many;
  for (int i = 0; i < 4097; ++i) many += "PING\r\n";
  EXPECT_THAT(client_.Send(many), testing::HasSubstr("-ERR transaction is too large"));
  EXPECT_EQ(Exec(), kAborted);
}

// However long the replies would be: what was done is told in the place of what is too long.
TEST_F(CmdTransactionTest, RepliesAreBounded) {
  Multi();
  for (int i = 0; i < 60; ++i) Queue("COMMAND DOCS");
  Queue("RL.ALLOW k 1/h");
  const std::string replies = Exec();
  EXPECT_LT(replies.size(), 600U * 1024);
  const auto values = ReadRespValues(replies);
  ASSERT_TRUE(values.has_value());
  EXPECT_EQ(values->front().elements.size(), 61U);
  const auto left_out = std::ranges::count(values->front().elements, '-', &RespValue::type);
  EXPECT_GT(left_out, 0);
  EXPECT_EQ(values->front().elements.back().type, '*') << "a short one has its place";
  EXPECT_EQ(other_.Run("EXISTS k"), ":1\r\n") << "it was done";
}

TEST_F(CmdTransactionTest, AKeyIsWatchedOnce) {
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(client_.Run("WATCH k"), kOk);
}

TEST_F(CmdTransactionTest, AWatchedKeyThatFillsUpHasNotChanged) {
  client_.Run("RL.ALLOW k 10/s");
  client_.Run("WATCH k");
  client_.server().clock.Advance(std::chrono::seconds{5});
  Multi();
  Queue("PING");
  EXPECT_EQ(Exec(), "*1\r\n+PONG\r\n");
}

TEST_F(CmdTransactionTest, CommandsAboutAllKeysAreTransactionsToo) {
  Multi();
  Queue("RL.ALLOW a 1/h");
  Queue("FLUSHALL");
  Queue("DBSIZE");
  Queue("RL.POLICY SET p 5/h");
  Queue("RL.ALLOW a @p");
  Queue("INFO keyspace");
  Queue("RL.POLICY DEL p");
  Queue("DBSIZE");
  const std::string replies = Exec();
  EXPECT_THAT(replies, testing::StartsWith("*8\r\n" + Five("1 0 0 3600000 0") + "+OK\r\n:0\r\n"));
  EXPECT_THAT(replies, testing::EndsWith(":0\r\n"));
}

TEST_F(CmdTransactionTest, QuitAndResetAreNotQueued) {
  Multi();
  EXPECT_EQ(client_.Run("RESET"), "+RESET\r\n");
  EXPECT_EQ(Exec(), "-ERR EXEC without MULTI\r\n");
  Multi();
  EXPECT_EQ(client_.Run("QUIT"), kOk);
  EXPECT_TRUE(client_.closed());
}

TEST_F(CmdTransactionTest, ARefusedExecIsNoTransactionAnyMore) {
  Multi();
  EXPECT_THAT(client_.Run("EXEC x"), testing::StartsWith("-EXECABORT"));
  EXPECT_THAT(other_.Run("CLIENT LIST ID 1"), testing::HasSubstr(" flags=N "));
}

TEST_F(CmdTransactionTest, ClientInfoShowsHowManyAreQueued) {
  Multi();
  Queue("PING");
  Queue("PING");
  EXPECT_THAT(other_.Run("CLIENT LIST ID 1"), testing::HasSubstr(" flags=x "));
  EXPECT_THAT(other_.Run("CLIENT LIST ID 1"), testing::HasSubstr(" multi=2 "));
  Exec();
  EXPECT_THAT(other_.Run("CLIENT LIST ID 1"), testing::HasSubstr(" multi=-1 "));
}

}  // namespace
}  // namespace weir
