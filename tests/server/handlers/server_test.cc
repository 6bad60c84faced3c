// Goal: commands about a server's time and shutdown are answered as in Redis. Method:
// conversations.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/conversation.h"

namespace weir {
namespace {

TEST(TimeTest, IsTheClocksInSecondsAndMicroseconds) {
  Conversation client;  // 2026-01-01 00:00:00 UTC
  EXPECT_EQ(client.Run("TIME"), "*2\r\n$10\r\n1767225600\r\n$1\r\n0\r\n");
  client.server().clock.Advance(Nanos{1'999'999'999});
  EXPECT_EQ(client.Run("TIME"), "*2\r\n$10\r\n1767225601\r\n$6\r\n999999\r\n");
}

class ShutdownTest : public testing::Test {
 protected:
  ShutdownTest() {
    client_.server().services.request_shutdown = [this](bool saves) {
      ++requests_;
      saves_ = saves;
    };
  }

  Conversation client_;
  int requests_ = 0;
  bool saves_ = true;
};

// As in Redis there is no reply: the connection ends. Earlier requests are answered, later ones are
// not.
TEST_F(ShutdownTest, AsksOnceAndSaysNothing) {
  EXPECT_EQ(client_.Send("PING\r\nSHUTDOWN\r\nPING\r\nSHUTDOWN\r\n"), "+PONG\r\n");
  EXPECT_TRUE(client_.closed());
  EXPECT_EQ(requests_, 1);
}

TEST_F(ShutdownTest, TakesTheOptionsOfRedis) {
  int asked = 0;
  for (const char* line : {"SHUTDOWN NOSAVE", "shutdown save", "SHUTDOWN NOW", "SHUTDOWN FORCE",
                           "SHUTDOWN NOSAVE NOW FORCE"}) {
    Conversation client(client_.server());
    EXPECT_EQ(client.Run(line), "") << line;
    EXPECT_TRUE(client.closed()) << line;
    EXPECT_EQ(requests_, ++asked) << line;
    EXPECT_EQ(saves_, std::string_view(line).find("NOSAVE") == std::string_view::npos) << line;
  }
}

}  // namespace
}  // namespace weir
