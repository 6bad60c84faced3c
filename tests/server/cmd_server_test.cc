// Goal: what tools ask about a server's settings, time and end is answered as Redis answers it.
// Method: conversations.
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/options.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

TEST(ConfigGetTest, WhatEveryToolAsksFor) {
  Options options = DefaultOptions();
  options.port = 1234;
  options.max_clients = 77;
  Conversation client(std::make_unique<TestServer>(options));
  const std::vector<std::pair<std::string, std::string>> settings = {
      {"save", ""},          {"appendonly", "no"},         {"maxmemory", "0"}, {"databases", "1"},
      {"timeout", "0"},      {"replica-read-only", "yes"}, {"port", "1234"},   {"maxclients", "77"},
      {"max-clients", "77"}, {"bind", "127.0.0.1"},
  };
  for (const auto& [name, value] : settings) {
    EXPECT_EQ(client.Run("CONFIG GET " + name), RespRequest(std::vector<std::string>{name, value}));
  }
}

// A number of seconds, as Redis has it, and 0 is never.
TEST(ConfigGetTest, TheTimeoutIsInSeconds) {
  for (const auto& [timeout, seconds] : {std::pair(300'000, "300"), std::pair(1, "1")}) {
    Options options = DefaultOptions();
    options.timeout = std::chrono::milliseconds{timeout};
    Conversation client(std::make_unique<TestServer>(options));
    EXPECT_EQ(client.Run("CONFIG GET timeout"),
              RespRequest(std::vector<std::string>{"timeout", seconds}));
  }
}

// Not the 0 that asked for any free one.
TEST(ConfigGetTest, ThePortIsTheOneInUse) {
  Options options = DefaultOptions();
  options.port = 0;
  Conversation client(std::make_unique<TestServer>(options));
  client.server().services.port = 40123;
  EXPECT_EQ(client.Run("CONFIG GET port"), "*2\r\n$4\r\nport\r\n$5\r\n40123\r\n");
}

TEST(ConfigGetTest, AMapInResp3) {
  Conversation client;
  client.Run("HELLO 3");
  EXPECT_EQ(client.Run("config get appendonly"), "%1\r\n$10\r\nappendonly\r\n$2\r\nno\r\n");
  EXPECT_EQ(client.Run("CONFIG GET nosuch"), "%0\r\n");
}

TEST(ConfigGetTest, UnknownPatternsAreEmpty) {
  Conversation client;
  EXPECT_EQ(client.Run("CONFIG GET nosuch"), "*0\r\n");
  EXPECT_EQ(client.Run("CONFIG GET \"\" ? nosuch*"), "*0\r\n");
}

std::vector<std::string> NamesOf(const RespValue& settings) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < settings.elements.size(); i += 2)
    names.push_back(settings.elements[i].text);
  return names;
}

TEST(ConfigGetTest, PatternsMatchInAnyCaseAndEachSettingOnce) {
  Conversation client;
  const std::vector<std::string> all = NamesOf(client.Ask("CONFIG GET *"));
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  for (const OptionSpec& spec : OptionTable())
    EXPECT_THAT(all, testing::Contains(std::string(spec.name)));
  EXPECT_EQ(NamesOf(client.Ask("CONFIG GET * save P*")), all);
  EXPECT_THAT(NamesOf(client.Ask("CONFIG GET SAVE max?lients save")),
              testing::UnorderedElementsAre("save", "maxclients"));
}

// A 64 KiB pattern that is all stars and sets is not even tried.
TEST(ConfigGetTest, NoPatternIsTooMuch) {
  Conversation client;
  std::string stars;
  while (stars.size() < 65'000) stars += "*[a-z]";
  EXPECT_EQ(client.Call({"CONFIG", "GET", stars}), "*0\r\n");
}

TEST(ConfigTest, NothingElseIsThereYet) {
  Conversation client;
  EXPECT_EQ(client.Run("CONFIG SET dir /tmp"),
            "-ERR unknown subcommand 'SET'. Try CONFIG HELP.\r\n");
  EXPECT_EQ(client.Run("CONFIG"), "-ERR wrong number of arguments for 'config' command\r\n");
}

TEST(TimeTest, IsTheClocksInSecondsAndMicroseconds) {
  Conversation client;  // 2026-01-01 00:00:00 UTC
  EXPECT_EQ(client.Run("TIME"), "*2\r\n$10\r\n1767225600\r\n$1\r\n0\r\n");
  client.server().clock.Advance(Nanos{1'999'999'999});
  EXPECT_EQ(client.Run("TIME"), "*2\r\n$10\r\n1767225601\r\n$6\r\n999999\r\n");
}

class ShutdownTest : public testing::Test {
 protected:
  ShutdownTest() {
    client_.server().services.request_shutdown = [this] { ++requests_; };
  }

  Conversation client_;
  int requests_ = 0;
};

// As with Redis there is no reply: the connection ends. What was asked before is answered, what
// comes after is not.
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
  }
}

TEST_F(ShutdownTest, WhatIsRefusedEndsNothing) {
  EXPECT_EQ(client_.Run("SHUTDOWN ABORT"), "-ERR No shutdown in progress.\r\n");
  EXPECT_EQ(client_.Run("SHUTDOWN NOW PLEASE"), "-ERR syntax error\r\n");
  EXPECT_EQ(client_.Run("PING"), "+PONG\r\n");
  EXPECT_EQ(requests_, 0);
}

}  // namespace
}  // namespace weir
