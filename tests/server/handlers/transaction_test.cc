// Goal: a transaction is bounded, and no other client's command runs between its commands. Method:
// conversations; the clock is stopped unless moved. Redis's own answers are tested in
// tests/e2e/differential_sessions.py; the RL commands between MULTI and EXEC, on every host, in
// tests/commands/transaction_test.cc.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/exchanges.h"
#include "tests/support/conversation.h"
#include "tests/support/test_scale.h"
#include "tests/support/transaction_fixture.h"

namespace weir {
namespace {

constexpr std::string_view kQueued = "+QUEUED\r\n";
constexpr std::string_view kAborted =
    "-EXECABORT Transaction discarded because of previous errors.\r\n";

std::string SixtyFourLimits() {
  std::string limits;
  for (int i = 1; i <= 64; ++i) limits += absl::StrCat(" ", i, "G/9w");
  return limits;
}

class CmdTransactionTest : public TransactionFixture<Conversation> {
 protected:
  Conversation other_{client_.server()};
};

// Other commands that fail while they are queued: tests/commands/transaction_test.cc.
TEST_F(CmdTransactionTest, CommandsThatCannotBeQueuedAbort) {
  for (const char* bad : {"SAVE", "RL.POLICY RELOAD"}) {
    Multi();
    Queue("RL.ALLOW k 1/h");
    EXPECT_THAT(client_.Run(bad), testing::StartsWith("-ERR ")) << bad;
    EXPECT_EQ(Exec(), kAborted) << bad;
    EXPECT_EQ(client_.Run("EXISTS k"), ":0\r\n");
  }
}

TEST_F(CmdTransactionTest, ATooLargeOneAborts) {
  Multi();
  std::string many;
  for (int i = 0; i < 4097; ++i) many += "PING\r\n";
  EXPECT_THAT(client_.Send(many), testing::HasSubstr("-ERR transaction is too large"));
  EXPECT_EQ(Exec(), kAborted);
}

// However long the replies would be: a reply that is too long is replaced by an error that says
// what was done.
TEST_F(CmdTransactionTest, RepliesAreBounded) {
  std::string limits;
  for (int i = 100; i < 164; ++i) {
    absl::StrAppend(&limits, " ", i, "G/9w,name=", std::string(50, 'n'), i);
  }
  client_.Run("RL.POLICY SET p 1/s");
  for (int i = 0; i < 32; ++i) client_.Run(absl::StrCat("RL.POLICY OVERRIDE p k", i, limits));
  Multi();
  for (int i = 0; i < 60; ++i) Queue("RL.POLICY OVERRIDES p");
  Queue("RL.ALLOW k 1/h");
  const std::string replies = Exec();
  EXPECT_LT(replies.size(), (4096U + 60 * 70 / 1024) * 1024);
  const auto values = ReadRespValues(replies);
  ASSERT_TRUE(values.has_value());
  EXPECT_EQ(values->front().elements.size(), 61U);
  const auto left_out = std::ranges::count(values->front().elements, '-', &RespValue::type);
  EXPECT_GT(left_out, 0);
  EXPECT_EQ(values->front().elements.back().type, '*') << "a short one has its place";
  EXPECT_EQ(other_.Run("EXISTS k"), ":1\r\n") << "it was done";
}

// The most decisions that a queue can hold, each with the rows of every limit.
TEST_F(CmdTransactionTest, NoDecisionIsTooLongToBeTold) {
  const std::string limits = SixtyFourLimits();
  Multi();
  int queued = 0;
  while (client_.Run(absl::StrCat("RL.ALLOW k", queued, limits, " WITHLIMITS")) == kQueued) {
    ++queued;
  }
  EXPECT_EQ(queued, 256) << "67 words are 16 units";
  EXPECT_EQ(Exec(), kAborted);
  Multi();
  for (int i = 0; i < queued; ++i) Queue(absl::StrCat("RL.ALLOW k", i, limits, " WITHLIMITS"));
  EXPECT_THAT(Exec(), testing::Not(testing::HasSubstr("too long")));
}

// A command about several keys, or about all keys, is atomic to a transaction of another client,
// and a policy stays the same from a transaction's begin to its end.
TEST_F(CmdTransactionTest, NoOtherClientComesBetween) {
  TestServer& server = client_.server();
  Worker second(server.services);
  const std::vector<std::vector<std::string>> disturbances = {
      {"FLUSHALL"},
      {"DEL a b", "EXISTS a b"},
      {"RL.POLICY SET p 100/h", "RL.POLICY SET p 5/h"},
      {"RL.POLICY OVERRIDE p a 7/h", "RL.POLICY UNOVERRIDE p a"},
      {"RL.POLICY DEL p", "RL.POLICY SET p 5/h"},
  };
  client_.Run("RL.POLICY SET p 5/h");
  for (const std::vector<std::string>& lines : disturbances) {
    std::atomic<bool> done{false};
    std::thread disturber([&] {
      second.thread.TakeOver();
      Conversation disturber_client(server, second);
      while (!done) {
        for (const std::string& line : lines) {
          EXPECT_THAT(disturber_client.Run(line), testing::Not(testing::StartsWith("-"))) << line;
        }
      }
    });
    for (std::int64_t i = 0; i < Scaled(1000); ++i) {
      client_.Run("RL.ALLOW a 1M/h AND b 1M/h");
      Multi();
      for (const char* line : {"RL.PEEK a 1M/h", "RL.PEEK b 1M/h", "RL.PEEK a @p", "EXISTS a b",
                               "EXISTS a b", "RL.PEEK a @p"}) {
        Queue(line);
      }
      const auto replies = ReadRespValues(Exec());
      const std::vector<RespValue>& of = replies->front().elements;
      const auto remaining = [&](std::size_t peek) { return of.at(peek).elements.at(1).number; };
      EXPECT_EQ(remaining(0), remaining(1)) << lines[0];
      EXPECT_NE(of.at(3).number, 1) << lines[0];
      EXPECT_EQ(of.at(3).number, of.at(4).number) << lines[0];
      EXPECT_EQ(of.at(2).text, of.at(5).text) << lines[0];
      EXPECT_EQ(of.at(2).elements.size(), of.at(5).elements.size()) << lines[0];
      if (of.at(2).elements.empty()) continue;
      EXPECT_EQ(remaining(2), remaining(5)) << lines[0];
    }
    done = true;
    disturber.join();
  }
}

// The list of overrides contains keys that the transaction does not name.
TEST_F(CmdTransactionTest, NoOverrideComesBetweenTwoListsOfThem) {
  TestServer& server = client_.server();
  Worker second(server.services);
  client_.Run("RL.POLICY SET p 5/h");
  std::atomic<bool> done{false};
  std::thread disturber([&] {
    second.thread.TakeOver();
    Conversation disturber_client(server, second);
    while (!done) {
      for (int i = 0; i < 8; ++i) {
        const std::string key = " p k" + std::to_string(i);
        EXPECT_EQ(disturber_client.Run("RL.POLICY OVERRIDE" + key + " 7/h"), "+OK\r\n");
        EXPECT_EQ(disturber_client.Run("RL.POLICY UNOVERRIDE" + key), ":1\r\n");
      }
    }
  });
  for (std::int64_t i = 0; i < Scaled(1000); ++i) {
    Multi();
    Queue("RL.POLICY OVERRIDES p");
    for (int ping = 0; ping < 20; ++ping) Queue("PING");
    Queue("RL.POLICY OVERRIDES p");
    const auto replies = ReadRespValues(Exec());
    const std::vector<RespValue>& of = replies->front().elements;
    EXPECT_EQ(of.front().elements.size(), of.back().elements.size());
    if (of.front().elements.empty() || of.back().elements.empty()) continue;
    EXPECT_EQ(of.front().elements[0].text, of.back().elements[0].text);
  }
  done = true;
  disturber.join();
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

}  // namespace
}  // namespace weir
