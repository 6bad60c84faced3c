// Goal: what clients send to open, name and close a connection is answered byte for byte as they
// expect it, in every form that they use. Method: each form, in both protocols; after a refusal
// nothing has changed.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/version.h"
#include "server/handlers/login.h"
#include "tests/server/exchanges.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

// The greeting of connection `id`.
std::string Greeting(int protocol, int id) {
  const std::string version =
      "$" + std::to_string(kRedisVersion.size()) + "\r\n" + std::string(kRedisVersion) + "\r\n";
  return std::string(protocol == 3 ? "%7" : "*14") +
         "\r\n$6\r\nserver\r\n$4\r\nweir\r\n$7\r\nversion\r\n" + version +
         "$5\r\nproto\r\n:" + std::to_string(protocol) + "\r\n$2\r\nid\r\n:" + std::to_string(id) +
         "\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*"
         "0\r\n";
}

// "$-1" in RESP2, "_" in RESP3: the name shows the protocol in use.
std::string NameOf(Conversation& client) { return client.Run("CLIENT GETNAME"); }

TEST(HelloTest, GreetsInTheProtocolAskedFor) {
  Conversation client;
  EXPECT_EQ(client.Run("HELLO"), Greeting(2, 1));
  EXPECT_EQ(client.Run("HELLO 2"), Greeting(2, 1));
  EXPECT_EQ(NameOf(client), "$-1\r\n");
  EXPECT_EQ(client.Run("hello 3"), Greeting(3, 1));
  EXPECT_EQ(NameOf(client), "_\r\n");
  EXPECT_EQ(client.Run("HELLO"), Greeting(3, 1));  // alone it keeps the protocol
  EXPECT_EQ(client.Run("HELLO 2"), Greeting(2, 1));
  EXPECT_EQ(NameOf(client), "$-1\r\n");
}

// It applies from its own reply on, within one chunk.
TEST(HelloTest, SwitchesInTheMiddleOfAPipeline) {
  Conversation client;
  EXPECT_EQ(
      client.Send("CLIENT GETNAME\r\nHELLO 3\r\nCLIENT GETNAME\r\nHELLO 2\r\nCLIENT GETNAME\r\n"),
      "$-1\r\n" + Greeting(3, 1) + "_\r\n" + Greeting(2, 1) + "$-1\r\n");
}

TEST(HelloTest, TheProtocolIsTheConnections) {
  Conversation one;
  Conversation two(one.server());
  EXPECT_EQ(one.Run("HELLO 3"), Greeting(3, 1));
  EXPECT_EQ(two.Run("HELLO"), Greeting(2, 2));
  EXPECT_EQ(NameOf(two), "$-1\r\n");
  EXPECT_EQ(NameOf(one), "_\r\n");
}

TEST(HelloTest, TakesCredentialsAndANameInAnyOrder) {
  for (const char* line :
       {"HELLO 3 AUTH default any SETNAME me", "HELLO 3 SETNAME me AUTH default \"\"",
        "hello 3 auth default x setname other SetName me"}) {
    Conversation client;
    EXPECT_EQ(client.Run(line), Greeting(3, 1)) << line;
    EXPECT_EQ(NameOf(client), "$2\r\nme\r\n");
  }
}

TEST(HelloTest, WhatIsRefusedChangesNothing) {
  const std::pair<const char*, std::string_view> refused[] = {
      {"HELLO 1", "-NOPROTO unsupported protocol version\r\n"},
      {"HELLO 4", "-NOPROTO unsupported protocol version\r\n"},
      {"HELLO -3", "-NOPROTO unsupported protocol version\r\n"},
      {"HELLO 03", "-ERR Protocol version is not an integer or out of range\r\n"},
      {"HELLO three", "-ERR Protocol version is not an integer or out of range\r\n"},
      {"HELLO \"\"", "-ERR Protocol version is not an integer or out of range\r\n"},
      {"HELLO 99999999999999999999", "-ERR Protocol version is not an integer or out of range\r\n"},
      {"HELLO AUTH default x", "-ERR Protocol version is not an integer or out of range\r\n"},
      {"HELLO 3 FOO", "-ERR Syntax error in HELLO option 'FOO'\r\n"},
      {"HELLO 3 SETNAME new FOO", "-ERR Syntax error in HELLO option 'FOO'\r\n"},
      {"HELLO 3 AUTH", "-ERR Syntax error in HELLO option 'AUTH'\r\n"},
      {"HELLO 3 AUTH default", "-ERR Syntax error in HELLO option 'AUTH'\r\n"},
      {"HELLO 3 SETNAME", "-ERR Syntax error in HELLO option 'SETNAME'\r\n"},
      {"HELLO 3 SETNAME new AUTH other x", kWrongPassword},
      {"HELLO 3 AUTH Default x SETNAME new", kWrongPassword},
      {"HELLO 3 SETNAME \"a b\"", kBadName},
      {"HELLO 3 SETNAME \"a\\n\" AUTH other x", kBadName},
  };
  Conversation client;
  client.Run("CLIENT SETNAME old");
  for (const auto& [line, error] : refused) {
    EXPECT_EQ(client.Run(line), error) << line;
    client.server().clock.Advance(kLoginDelay);
    EXPECT_EQ(NameOf(client), "$3\r\nold\r\n") << line;
    EXPECT_EQ(client.Run("COMMAND INFO nosuch"), "*1\r\n$-1\r\n") << line;  // RESP2 still
  }
}

// A refusal has a reply of its own also where it is not the first of a batch.
TEST(HelloTest, EveryRequestOfABatchHasItsReply) {
  Conversation client;
  std::string replies =
      client.Send("PING\r\nAUTH nobody x\r\nHELLO 3 AUTH nobody x\r\nHELLO 9\r\nPING\r\n");
  for (int wrong = 0; wrong < 2; ++wrong) {
    client.server().clock.Advance(kLoginDelay);
    replies += client.Receive();
  }
  EXPECT_EQ(replies, "+PONG\r\n" + std::string(kWrongPassword) + std::string(kWrongPassword) +
                         "-NOPROTO unsupported protocol version\r\n+PONG\r\n");
}

TEST(AuthTest, TheDefaultUserNeedsNoPassword) {
  Conversation client;
  EXPECT_EQ(client.Run("AUTH default anything"), "+OK\r\n");
  EXPECT_EQ(client.Run("AUTH default \"\""), "+OK\r\n");
  EXPECT_EQ(client.Run("AUTH nobody anything"), kWrongPassword);
  client.server().clock.Advance(kLoginDelay);
  EXPECT_EQ(client.Run("AUTH DEFAULT anything"), kWrongPassword);  // names have a case
  client.server().clock.Advance(kLoginDelay);
  EXPECT_EQ(client.Run("AUTH anything"),
            "-ERR AUTH <password> called without any password configured for the default user. Are "
            "you sure your "
            "configuration is correct?\r\n");
  EXPECT_EQ(client.Run("AUTH"), "-ERR wrong number of arguments for 'auth' command\r\n");
  EXPECT_EQ(client.Run("AUTH a b c"), "-ERR syntax error\r\n");
  EXPECT_EQ(client.Run("PING"), "+PONG\r\n");
}

TEST(SelectTest, ThereIsOneDatabase) {
  Conversation client;
  EXPECT_EQ(client.Run("SELECT 0"), "+OK\r\n");
  for (const char* index : {"1", "-1", "16", "9223372036854775807"}) {
    EXPECT_EQ(client.Run(std::string("SELECT ") + index), "-ERR DB index is out of range\r\n");
  }
  for (const char* index : {"x", "00", "\"\"", "9223372036854775808"}) {
    EXPECT_EQ(client.Run(std::string("SELECT ") + index),
              "-ERR value is not an integer or out of range\r\n");
  }
}

TEST(PingTest, AnswersPongOrTheMessage) {
  Conversation client;
  EXPECT_EQ(client.Run("PING"), "+PONG\r\n");
  EXPECT_EQ(client.Run("PING \"\""), "$0\r\n\r\n");
  EXPECT_EQ(client.Run("PING \"a\\r\\nb\\x00\""), std::string("$5\r\na\r\nb\0\r\n", 11));
  client.Run("HELLO 3");
  EXPECT_EQ(client.Run("PING"), "+PONG\r\n");
  EXPECT_EQ(client.Run("PING x"), "$1\r\nx\r\n");
}

TEST(EchoTest, ReturnsAnyBytes) {
  Conversation client;
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  EXPECT_EQ(client.Call({"ECHO", bytes}), "$256\r\n" + bytes + "\r\n");
  EXPECT_EQ(client.Call({"ECHO", ""}), "$0\r\n\r\n");
  const std::string longest(65'536, 'x');
  EXPECT_EQ(client.Call({"ECHO", longest}), "$65536\r\n" + longest + "\r\n");
}

TEST(QuitTest, AnswersAndCloses) {
  for (const char* line : {"QUIT", "quit", "QUIT now please"}) {
    Conversation client;
    EXPECT_EQ(client.Run(line), "+OK\r\n");
    EXPECT_TRUE(client.closed());
    EXPECT_EQ(client.Run("PING"), "");
  }
}

}  // namespace
}  // namespace weir
