// Goal: RL.ALLOW and related commands in the rest of the server: its registry of limits, its keys,
// its errors. Method: conversations at one instant. Their answers, on every host, are tested in
// tests/commands/.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/resp_writer.h"
#include "tests/support/conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

std::string At(Instant instant) {
  return " AT " + std::to_string(instant.time_since_epoch().count());
}

// Goal: one user's flood of limits does not keep other users, policies and CL.THROTTLE from new
// limits. Method: a registry of 100 limits, and users who have only their own keys.
TEST(RlAllowTest, AFloodOfLimitsByOneUserRefusesNoOther) {
  const TemporaryDirectory directory;
  const std::string users = directory.Write("users",
                                            "user default on nopass ~* +@all\n"
                                            "user app on >a ~app:* +@limit\n"
                                            "user other on >b ~other:* +@limit\n");
  auto server = std::make_unique<TestServer>(
      DefaultOptions(), LimiterOptions{.secret = TestServer::kSecret, .limits_max = 100});
  EXPECT_TRUE(server->services.access.Configure("", users).ok());
  Conversation operating(std::move(server));
  Conversation app(operating.server());
  Conversation other(operating.server());
  EXPECT_EQ(app.Run("AUTH app a"), "+OK\r\n");
  EXPECT_EQ(other.Run("AUTH other b"), "+OK\r\n");
  const auto ask = [](Conversation& client, const std::string& key, int i) {
    return client.Run("RL.ALLOW " + key + " " + std::to_string(i) + "/d");
  };
  for (int i = 1; i <= 10; ++i) EXPECT_EQ(ask(app, "app:x", i).substr(0, 4), "*5\r\n") << i;
  EXPECT_EQ(ask(app, "app:x", 11),
            "-ERR too many distinct limits (10 introduced by this user are in use)\r\n");
  EXPECT_EQ(ask(other, "other:1", 77).substr(0, 4), "*5\r\n");
  EXPECT_EQ(ask(operating, "k", 78).substr(0, 4), "*5\r\n");
  EXPECT_EQ(ask(app, "app:x", 77).substr(0, 4), "*5\r\n") << "it is there";
  EXPECT_EQ(app.Run("CL.THROTTLE app:x 4 5 60").substr(0, 4), "*5\r\n");
  EXPECT_EQ(operating.Run("RL.POLICY SET p 10/s 20/m"), "+OK\r\n");
  EXPECT_EQ(app.Run("RL.ALLOW app:x @p").substr(0, 4), "*5\r\n");
  EXPECT_EQ(operating.Run("RL.RESET app:x 1/d"), ":1\r\n");
  EXPECT_EQ(ask(app, "app:x", 11).substr(0, 4), "*5\r\n") << "an idle limit is taken back at once";
}

// Commands that look at keys use the latest time that a request supplied; before the first one, the
// clock.
TEST(ExplicitTimeTest, KeysGoByTheLatestTime) {
  Conversation client(TestServer::WithExplicitTime());
  const Instant start = client.server().clock.Now();
  client.Run("RL.ALLOW k 10/s COST 10");
  EXPECT_EQ(client.Run("PTTL k"), ":1000\r\n");
  client.Run("RL.PEEK other 1/s" + At(start + milliseconds{300}));
  EXPECT_EQ(client.Run("PTTL k"), ":700\r\n");
  EXPECT_EQ(client.Run("TTL k"), ":1\r\n");
  EXPECT_EQ(client.Run("RL.INSPECT k"), "*1\r\n*5\r\n$4\r\n10/s\r\n:3\r\n:700\r\n:7\r\n:0\r\n");
  EXPECT_EQ(client.Run("DBSIZE"), ":1\r\n");
  EXPECT_EQ(client.Run("EXISTS k"), ":1\r\n");
  EXPECT_EQ(client.Run("TYPE k"), "+bucket\r\n");
  client.Run("RL.ALLOW other 1/s COST 0" + At(start + milliseconds{1000}));
  EXPECT_EQ(client.Run("PTTL k"), ":-2\r\n");
  EXPECT_EQ(client.Run("RL.INSPECT k"), "*0\r\n");
  EXPECT_EQ(client.Run("DBSIZE"), ":0\r\n");
  EXPECT_EQ(client.Run("EXISTS k"), ":0\r\n");
  EXPECT_EQ(client.Run("TYPE k"), "+none\r\n");
  EXPECT_EQ(client.Run("DEL k"), ":0\r\n");
}

// For any input, an error is a line that fits a terminal and a log.
TEST(ErrorsTest, AreBounded) {
  Conversation client;
  const std::string huge(60'000, 'x');
  const std::vector<std::vector<std::string>> requests = {{huge, huge, huge},
                                                          {"CLIENT", huge},
                                                          {"COMMAND", "LIST", huge},
                                                          {"SELECT", huge},
                                                          {"HELLO", "3", huge}};
  for (const std::vector<std::string>& request : requests) {
    const std::string reply = client.Call(request);
    EXPECT_TRUE(reply.starts_with("-ERR ")) << reply.substr(0, 100);
    EXPECT_LE(reply.size(), kErrorBytesMax + 3);
    EXPECT_EQ(reply.find(std::string(129, 'x')), std::string::npos);
  }
}

}  // namespace
}  // namespace weir
