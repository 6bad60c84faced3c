// Goal: a monitor sees each command when it is executed, as long as it monitors; other clients see
// none. Method: two clients of a server without sockets. The test executes the monitor's session
// again, as its connection does when it is woken up. Which commands a monitor sees, and in which
// form, is tested in tests/e2e/differential_sessions.py.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string LineOf(const std::string& words) {
  return "+1767225600.000000 [0 127.0.0.1:50000] " + words + "\r\n";
}

class MonitorTest : public testing::Test {
 protected:
  MonitorTest() { EXPECT_EQ(monitor_.Run("MONITOR"), "+OK\r\n"); }

  TestServer server_;
  Conversation monitor_{server_};
  Conversation client_{server_};
};

TEST_F(MonitorTest, SeesWhatIsExecuted) {
  EXPECT_FALSE(monitor_.session().has_news());
  client_.Run("PING");
  client_.Run("RL.ALLOW \"user 42\" 10/s");
  client_.Run("CLIENT ID");
  EXPECT_TRUE(monitor_.session().has_news());
  EXPECT_EQ(monitor_.Receive(), LineOf("\"PING\"") + LineOf("\"RL.ALLOW\" \"user 42\" \"10/s\"") +
                                    LineOf("\"CLIENT\" \"ID\""));
  EXPECT_FALSE(monitor_.session().has_news());
  EXPECT_EQ(client_.Receive(), "");
}

TEST_F(MonitorTest, SeesEachCommandOnceThoughAskedTwice) {
  EXPECT_EQ(monitor_.Run("MONITOR"), "+OK\r\n");
  client_.Run("PING");
  EXPECT_EQ(monitor_.Receive(), LineOf("\"PING\""));
}

TEST_F(MonitorTest, SeesWhatOperatorsDoToBuckets) {
  client_.Run("RL.RESET k");
  EXPECT_EQ(monitor_.Receive(), LineOf("\"RL.RESET\" \"k\""));
}

TEST_F(MonitorTest, EndsWithResetOrTheClient) {
  EXPECT_THAT(client_.Run("CLIENT LIST"), HasSubstr(" flags=O "));
  monitor_.Run("RESET");
  monitor_.Receive();
  client_.Run("PING");
  EXPECT_EQ(monitor_.Receive(), "");
  EXPECT_FALSE(server_.services.observers.monitors.any());
  EXPECT_THAT(client_.Run("CLIENT LIST"), Not(HasSubstr(" flags=O ")));
  {
    Conversation another(server_);
    another.Run("MONITOR");
    EXPECT_TRUE(server_.services.observers.monitors.any());
  }
  EXPECT_FALSE(server_.services.observers.monitors.any());
}

// A monitor sees the commands of all users, so a monitor that logs in as another user needs that
// user's permission.
TEST_F(MonitorTest, EndsWhenTheClientBecomesAUserWhoMayNot) {
  const TemporaryDirectory directory;
  const std::string users = directory.Write("users",
                                            "user default on nopass ~* +@all\n"
                                            "user ops on >b ~* +@all\n"
                                            "user app on >a ~* +@limit\n");
  ASSERT_TRUE(server_.services.access.Configure("", users).ok());
  EXPECT_THAT(monitor_.Run("AUTH ops b"), HasSubstr("+OK\r\n"));
  EXPECT_FALSE(monitor_.closed());
  EXPECT_TRUE(server_.services.observers.monitors.any());
  EXPECT_THAT(monitor_.Run("AUTH app a"), HasSubstr("+OK\r\n"));
  EXPECT_TRUE(monitor_.closed());
  EXPECT_FALSE(server_.services.observers.monitors.any());
}

// The monitor's connection may stay a while, until the client has read the last reply.
TEST_F(MonitorTest, EndsWithQuitAndWithABrokenRequest) {
  Conversation another(server_);
  another.Run("MONITOR");
  EXPECT_EQ(monitor_.Run("QUIT"), "+OK\r\n");
  EXPECT_FALSE(monitor_.record().monitors);
  EXPECT_THAT(another.Send("*x\r\n"), HasSubstr("-ERR Protocol error"));
  EXPECT_FALSE(server_.services.observers.monitors.any());
}

TEST_F(MonitorTest, SeesNothingWhileItWantsNoReplies) {
  monitor_.Run("CLIENT REPLY OFF");
  client_.Run("PING");
  EXPECT_EQ(monitor_.Receive(), "");
  EXPECT_FALSE(monitor_.session().has_news());
  EXPECT_EQ(monitor_.Run("CLIENT REPLY ON"), "+OK\r\n");
  client_.Run("ECHO x");
  EXPECT_THAT(monitor_.Receive(), testing::EndsWith(LineOf("\"ECHO\" \"x\"")));
}

// A monitor that waits for tokens sees the commands of others during its wait.
TEST_F(MonitorTest, SeesCommandsWhileItWaits) {
  monitor_.Run("RL.ALLOW k 1/h");
  monitor_.Receive();
  EXPECT_EQ(monitor_.Run("RL.WAIT k 1/h TIMEOUT 0"),
            "*5\r\n:0\r\n:0\r\n:3600000\r\n:3600000\r\n:0\r\n");
  monitor_.Run("RL.ALLOW j 1/s");
  EXPECT_THAT(monitor_.Run("RL.WAIT j 1/s TIMEOUT 5000"), HasSubstr("\"RL.ALLOW\" \"j\""));
  client_.Run("PING");
  monitor_.WakeUp();
  EXPECT_THAT(monitor_.Receive(), HasSubstr("\"PING\"\r\n"));
  EXPECT_TRUE(monitor_.wake().has_value());
}

}  // namespace
}  // namespace weir
