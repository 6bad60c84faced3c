// Goal: a waiting client in the rest of the server: its turns, its end and its counters. Method:
// conversations. The answers of RL.WAIT, on every host, are tested in tests/commands/wait_test.cc.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "core/words/limit_grammar.h"
#include "server/session/waiter.h"
#include "tests/support/conversation.h"
#include "tests/support/reply_text.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

// A connection may execute its session too early; nothing is consumed then, and nothing runs.
TEST(CmdWaitTest, AnEarlyTurnWaitsOn) {
  Conversation client;
  client.Run("RL.ALLOW k 10/s COST 10");
  client.Run("RL.WAIT k 10/s TIMEOUT 1000");
  std::string out;
  const Session::Turn turn = client.session().Execute("PING\r\n", out);
  EXPECT_EQ(turn.next, Session::Next::kWait);
  EXPECT_EQ(turn.wake, FakeClock::kHostStart + milliseconds{100});
  EXPECT_EQ(turn.consumed, 0U);
  EXPECT_EQ(out, "");
}

TEST(CmdWaitTest, AnEndedWaitIsAnErrorAndTheConversationGoesOn) {
  Conversation client;
  client.Run("RL.ALLOW k 10/s COST 10");
  client.Send("RL.WAIT k 10/s TIMEOUT 1000\r\nPING\r\n");
  const std::uint64_t errors = client.server().worker.counters["total_error_replies"].value();
  client.EndWait();
  EXPECT_EQ(client.Receive(), "-UNBLOCKED the server is shutting down\r\n+PONG\r\n");
  EXPECT_EQ(client.server().worker.counters["total_error_replies"].value(), errors + 1);
  client.EndWait();  // does nothing after the wait
  EXPECT_EQ(client.Run("PING"), "+PONG\r\n");
}

// A wait may become ready after the tokens of all waits were returned and before its client is
// answered.
TEST(CmdWaitTest, AWaitWhoseTokensWereReturnedIsNotServed) {
  Conversation client;
  OpenWaits& open_waits = client.server().services.open_waits;
  client.Run("RL.ALLOW k 10/s COST 10");
  client.Send("RL.WAIT k 10/s TIMEOUT 1000\r\nPING\r\n");
  open_waits.GiveBackAll();
  client.server().clock.Advance(milliseconds{100});
  EXPECT_EQ(client.Receive(), "-UNBLOCKED the server is shutting down\r\n+PONG\r\n");
  EXPECT_EQ(client.Run("RL.PEEK k 10/s"), Five("1 0 0 1000 0"));
  EXPECT_EQ(client.server().worker.request_counters.allowed.value(), 1U);
}

TEST(CmdWaitTest, AServerThatStopsLetsNobodyWait) {
  Conversation client;
  client.Run("RL.ALLOW k 10/s COST 10");
  client.server().services.open_waits.Refuse();
  EXPECT_EQ(client.Run("RL.WAIT k 10/s TIMEOUT 1000"), Five("0 0 100 1000 0"));
}

// A waiting client holds the memory that its answer needs, which counts towards
// --max-clients-memory.
TEST(CmdWaitTest, AWaitHoldsMemoryUntilItIsOver) {
  Conversation client;
  std::string line = "RL.WAIT k 1/s";
  for (int i = 100; i < 160; ++i) {
    line += " " + std::to_string(i) + "/h,name=" + std::string(kLabelBytesMax, 'x');
  }
  client.Run("RL.ALLOW k 1/s");
  EXPECT_EQ(client.session().held_bytes(), 0U);
  client.Run("RL.WAIT k 1/s TIMEOUT 1000");
  const std::size_t least = client.session().held_bytes();
  EXPECT_GE(least, sizeof(ServerWaiter));
  client.server().clock.Advance(std::chrono::seconds{1});
  EXPECT_NE(client.Receive(), "");
  EXPECT_EQ(client.session().held_bytes(), 0U);
  client.Run(line + " WITHLIMITS TIMEOUT 1000");
  const std::size_t parts_and_names = 60 * (sizeof(Reservation::Part) + 2 * kLabelBytesMax);
  EXPECT_GT(client.session().held_bytes(), least + parts_and_names);
  client.EndWait();
  EXPECT_EQ(client.session().held_bytes(), 0U);
}

}  // namespace
}  // namespace weir
