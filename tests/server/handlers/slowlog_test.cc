// Goal: SLOWLOG has the slow commands, without the secrets in them. Method: a clock on which every
// command takes a time that the test sets.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/conversation.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

class SlowlogTest : public testing::Test {
 protected:
  // Runs a command that takes `lap`; other commands take no time.
  std::string RunSlowly(std::string_view line, Nanos lap = milliseconds{12}) {
    client_.server().clock.set_lap(lap);
    std::string reply = client_.Run(line);
    client_.server().clock.set_lap(Nanos{0});
    return reply;
  }

  Conversation client_;
};

TEST_F(SlowlogTest, HasCommandsThatTookTenMilliseconds) {
  RunSlowly("PING quick", milliseconds{10} - Nanos{1});
  RunSlowly("PING slow", milliseconds{10});
  client_.Run("CLIENT SETNAME me");
  client_.server().clock.Advance(std::chrono::seconds{5});
  RunSlowly("RL.ALLOW k 10/x");  // errors are slow, too
  EXPECT_EQ(client_.Show("SLOWLOG GET"),
            "[1 1767225605 12000\n"
            " [\"RL.ALLOW\" \"k\" \"10/x\"]\n"
            " \"127.0.0.1:50000\" \"me\"]\n"
            "[0 1767225600 10000\n"
            " [\"PING\" \"slow\"]\n"
            " \"127.0.0.1:50000\" \"\"]");
}

TEST_F(SlowlogTest, GivesTenOrTheGivenNumberOrAll) {
  for (int i = 0; i < 12; ++i) RunSlowly("PING");
  EXPECT_EQ(client_.Ask("SLOWLOG GET").elements.size(), 10U);
  EXPECT_EQ(client_.Ask("SLOWLOG GET 3").elements.size(), 3U);
  EXPECT_EQ(client_.Ask("SLOWLOG GET -1").elements.size(), 12U);
}

TEST_F(SlowlogTest, NoPasswordGetsIntoIt) {
  RunSlowly("AUTH default hush");
  RunSlowly("HELLO 3 AUTH default hush");
  RunSlowly("ACL DRYRUN default AUTH hush");
  RunSlowly("AUTH a hush b");
  const std::string log = client_.Run("SLOWLOG GET -1");
  EXPECT_EQ(client_.Run("SLOWLOG LEN"), ":4\r\n");
  EXPECT_THAT(log, Not(HasSubstr("hush")));
  EXPECT_THAT(log, HasSubstr("$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$10\r\n(redacted)\r\n"));
}

// A client that waits for tokens is not slow: only the time that reserving them takes counts.
TEST_F(SlowlogTest, WaitingIsNotSlow) {
  client_.Run("RL.ALLOW k 1/s");
  EXPECT_EQ(client_.Run("RL.WAIT k 1/s TIMEOUT 5000"), "");
  client_.server().clock.Advance(std::chrono::seconds{1});
  EXPECT_THAT(client_.Receive(), testing::StartsWith("*5\r\n:1\r\n"));
  EXPECT_EQ(client_.Run("SLOWLOG LEN"), ":0\r\n");
}

// For any number of entries, the reply has a size that a client accepts.
TEST(SlowlogOptionsTest, ALongLogIsAnsweredAsFarAsAReplyHasRoom) {
  Options options = DefaultOptions();
  options.slowlog_log_slower_than = 0;
  options.slowlog_max_len = 10'000;
  Conversation client(std::make_unique<TestServer>(options));
  std::string request = "EXISTS";
  for (int i = 0; i < 31; ++i) request += " " + std::string(128, 'k');
  request += "\r\n";
  for (int i = 0; i < 500; ++i) client.Send(request);
  const std::string reply = client.Run("SLOWLOG GET -1");
  EXPECT_LT(reply.size(), 520U * 1024);
  EXPECT_GT(reply.size(), 480U * 1024);
  EXPECT_TRUE(ReadRespValues(reply).has_value());
}

}  // namespace
}  // namespace weir
