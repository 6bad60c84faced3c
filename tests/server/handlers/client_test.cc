// Goal: CLIENT knows and lists each connection by number and library; KILL, PAUSE and UNBLOCK take
// effect at the right time. Method: several conversations with one server, whose clock the test
// moves. Redis's own answers are tested in tests/e2e/differential_*.py.
#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/conversation.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ClientTest, LaterConnectionsHaveGreaterNumbers) {
  Conversation one;
  Conversation two(one.server());
  EXPECT_EQ(one.Run("CLIENT ID"), ":1\r\n");
  EXPECT_EQ(two.Run("client id"), ":2\r\n");
  Conversation three(one.server());
  EXPECT_EQ(three.Run("Client Id"), ":3\r\n");
}

TEST(ClientTest, LibrariesAreNoted) {
  Conversation client;
  EXPECT_EQ(client.Run("CLIENT SETINFO LIB-NAME redis-py(async)"), "+OK\r\n");
  EXPECT_EQ(client.Run("client setinfo lib-ver 5.2.1"), "+OK\r\n");
  EXPECT_THAT(client.Run("CLIENT INFO"), HasSubstr(" lib-name=redis-py(async) lib-ver=5.2.1\n"));
  EXPECT_EQ(client.Run("CLIENT SETINFO LIB-NAME \"a b\""),
            "-ERR lib-name cannot contain spaces, newlines or special characters.\r\n");
  EXPECT_EQ(client.Run("CLIENT SETINFO LIB-VER \"1\\n2\""),
            "-ERR lib-ver cannot contain spaces, newlines or special characters.\r\n");
  EXPECT_EQ(client.Run("CLIENT SETINFO FOO x"), "-ERR Unrecognized option 'FOO'\r\n");
  EXPECT_EQ(client.Run("CLIENT SETINFO LIB-NAME"),
            "-ERR wrong number of arguments for 'client|setinfo' command\r\n");
  EXPECT_THAT(client.Run("CLIENT INFO"), HasSubstr(" lib-name=redis-py(async) lib-ver=5.2.1\n"));
}

TEST(ClientTest, InfoIsTheConnectionsOwnLine) {
  Conversation other;
  Conversation client(other.server());
  client.Run("CLIENT SETNAME me");
  client.server().clock.Advance(std::chrono::seconds{90});
  const std::string line =
      "id=2 addr=127.0.0.1:50000 laddr=127.0.0.1:7379 fd=7 name=me age=90 idle=0 flags=N db=0 "
      "sub=0 psub=0 ssub=0 "
      "multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 "
      "events=r "
      "cmd=client|info user=default redir=-1 resp=2 lib-name= lib-ver=\n";
  EXPECT_EQ(client.Ask("CLIENT INFO").text, line);
}

class ClientListTest : public testing::Test {
 protected:
  ClientListTest() {
    one_.Run("CLIENT SETNAME one");
    two_->Run("CLIENT SETNAME two");
    three_.Run("CLIENT SETNAME three");
  }

  // The names in the reply of CLIENT LIST, in order.
  std::string Names(const std::string& line) {
    std::string names;
    const std::string text = one_.Ask(line).text;
    for (std::size_t at = text.find(" name="); at != std::string::npos;
         at = text.find(" name=", at + 1)) {
      names += text.substr(at + 6, text.find(' ', at + 1) - at - 6) + " ";
    }
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(text, '\n')),
              static_cast<std::size_t>(std::ranges::count(names, ' ')));
    return names;
  }

  Conversation one_;
  std::unique_ptr<Conversation> two_ = std::make_unique<Conversation>(one_.server());
  Conversation three_{one_.server()};
};

TEST_F(ClientListTest, ListsTheOpenConnectionsOldestFirst) {
  EXPECT_EQ(Names("CLIENT LIST"), "one two three ");
  EXPECT_EQ(Names("CLIENT LIST type NORMAL"), "one two three ");
  two_.reset();
  EXPECT_EQ(Names("client list"), "one three ");
}

TEST_F(ClientListTest, ShowsWhatEachDidLastAndWhen) {
  three_.Run("RL.PEEK k 10/s");
  one_.server().clock.Advance(std::chrono::seconds{7});
  const std::string line = one_.Ask("CLIENT LIST ID 3").text;
  EXPECT_THAT(line, HasSubstr(" age=7 idle=7 "));
  EXPECT_THAT(line, HasSubstr(" cmd=rl.peek "));
  Conversation fresh(one_.server());
  EXPECT_THAT(one_.Ask("CLIENT LIST ID 4").text, HasSubstr(" cmd=NULL "));
  EXPECT_THAT(one_.Run("CLIENT LIST ID 1"), Not(HasSubstr("three")));
}

TEST(ClientTest, HelpListsTheSubcommands) {
  Conversation client;
  const RespValue help = client.Ask("CLIENT HELP");
  ASSERT_EQ(help.elements.size(), 27U);
  EXPECT_EQ(help.elements[1].text, "GETNAME");
  EXPECT_EQ(help.elements[2].text, "    Returns the name of the connection, null if it has none.");
}

// --- Others' connections ------------------------------------------------------------------------

// A killed client's connection may linger; no other client is closed for the memory of the killed
// one.
TEST(ClientKillTest, AKilledClientHoldsNothing) {
  Conversation one;
  Conversation two(one.server());
  ClientMemory& memory = one.server().services.client_memory;
  memory.Set(two.record(), 5000);
  EXPECT_EQ(memory.held_bytes(), 5000U);
  EXPECT_EQ(one.Run("CLIENT KILL ID 2"), ":1\r\n");
  EXPECT_EQ(memory.held_bytes(), 0U);
  memory.Set(two.record(), 6000);
  EXPECT_EQ(memory.held_bytes(), 0U);
}

// The victim's tokens are of a key that the transaction has not isolated, so they come back after
// it.
TEST(ClientKillTest, InATransactionAWaitEndsBehindIt) {
  Conversation victim;
  Conversation other(victim.server());
  victim.Run("RL.ALLOW k 1/s");
  EXPECT_EQ(victim.Run("RL.WAIT k 1/s TIMEOUT 5000"), "");
  other.Send("MULTI\r\nRL.PEEK j 1/s\r\nCLIENT KILL ID 1\r\nCLIENT UNBLOCK 1\r\n");
  EXPECT_EQ(other.Run("EXEC"), "*3\r\n" + Five("1 0 0 1000 0") + ":1\r\n:0\r\n");
  EXPECT_EQ(other.Run("RL.PEEK k 1/s"), Five("0 0 1000 1000 0"));
  victim.WakeUp();
  EXPECT_EQ(victim.Receive(), "");
  EXPECT_TRUE(victim.closed());
}

TEST(ClientKillTest, InATransactionOfAllKeysAWaitEndsBehindIt) {
  Conversation victim;
  Conversation other(victim.server());
  victim.Run("RL.ALLOW k 1/s");
  EXPECT_EQ(victim.Run("RL.WAIT k 1/s TIMEOUT 5000"), "");
  other.Send("MULTI\r\nCLIENT KILL TYPE normal\r\nRL.PEEK k 1/s\r\nFLUSHALL\r\n");
  EXPECT_EQ(other.Run("EXEC"), "*3\r\n:1\r\n" + Five("0 0 2000 2000 0") + "+OK\r\n");
  EXPECT_EQ(other.Run("RL.PEEK k 1/s"), Five("1 0 0 1000 0"));
  victim.WakeUp();
  EXPECT_EQ(victim.Receive(), "");
  EXPECT_TRUE(victim.closed());
}

TEST(ClientUnblockTest, EndsAWaitAsADenialOrAnError) {
  Conversation waiter;
  Conversation other(waiter.server());
  waiter.Run("RL.ALLOW k 1/s");
  EXPECT_EQ(other.Run("CLIENT UNBLOCK 1"), ":0\r\n") << "it does not wait";
  EXPECT_EQ(waiter.Run("RL.WAIT k 1/s TIMEOUT 5000"), "");
  EXPECT_THAT(other.Run("CLIENT LIST ID 1"), HasSubstr(" flags=b "));
  EXPECT_EQ(other.Run("CLIENT UNBLOCK 1"), ":1\r\n");
  EXPECT_EQ(other.Run("CLIENT UNBLOCK 1"), ":0\r\n") << "once";
  waiter.WakeUp();
  EXPECT_EQ(waiter.Receive(), Five("0 0 1000 1000 0")) << "as it was before it waited";

  EXPECT_EQ(waiter.Run("RL.WAIT k 1/s TIMEOUT 5000"), "");
  EXPECT_EQ(other.Run("CLIENT UNBLOCK 1 ERROR"), ":1\r\n");
  waiter.WakeUp();
  EXPECT_EQ(waiter.Receive(), "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n");
  EXPECT_EQ(other.Run("RL.PEEK k 1/s"), Five("0 0 1000 1000 0")) << "given back";
}

TEST(ClientPauseTest, HoldsCommandsUpUntilItEnds) {
  Conversation client;
  Conversation operator_(client.server());
  EXPECT_EQ(operator_.Run("CLIENT PAUSE 300"), "+OK\r\n");
  EXPECT_EQ(client.Run("PING"), "");
  EXPECT_EQ(client.wake(), client.server().clock.HostNow() + std::chrono::milliseconds{300});
  client.server().clock.Advance(std::chrono::milliseconds{300});
  EXPECT_EQ(client.Receive(), "+PONG\r\n");
}

TEST(ClientPauseTest, PauseOfWritesDelaysOnlyWrites) {
  Conversation client;
  Conversation operator_(client.server());
  EXPECT_EQ(operator_.Run("CLIENT PAUSE 300 WRITE"), "+OK\r\n");
  EXPECT_EQ(client.Run("PING"), "+PONG\r\n");
  EXPECT_EQ(client.Run("RL.PEEK k 1/h COST 0"), Five("1 1 0 0 0"));
  EXPECT_EQ(client.Run("MULTI"), "+OK\r\n");
  EXPECT_EQ(client.Send("PING\r\nEXEC\r\nRL.ALLOW k 1/h\r\n"), "+QUEUED\r\n*1\r\n+PONG\r\n");
  EXPECT_EQ(operator_.Run("CLIENT UNPAUSE"), "+OK\r\n");
  client.WakeUp();
  EXPECT_EQ(client.Receive(), Five("1 0 0 3600000 0"));
}

TEST(ClientPauseTest, AJumpOfTheTimeOfDecisionsNeitherEndsNorProlongsIt) {
  for (const int jump : {-300, 300}) {
    Conversation client;
    Conversation operator_(client.server());
    FakeClock& clock = client.server().clock;
    operator_.Run("CLIENT PAUSE 1000");
    EXPECT_EQ(client.Run("PING"), "");
    clock.Jump(std::chrono::seconds{jump});
    client.WakeUp();
    EXPECT_EQ(client.Receive(), "");
    clock.Advance(std::chrono::seconds{1});
    EXPECT_EQ(client.Receive(), "+PONG\r\n");
    EXPECT_THAT(client.Run("CLIENT INFO"), HasSubstr(" age=1 idle=0 "));
  }
}

TEST(ClientPauseTest, OfTwoPausesTheStrongerLastsUntilTheLaterEnd) {
  Conversation client;
  Conversation operator_(client.server());
  operator_.Run("CLIENT PAUSE 100 ALL");
  operator_.Run("CLIENT PAUSE 300 WRITE");
  EXPECT_EQ(client.Run("PING"), "");
  EXPECT_EQ(client.wake(), client.server().clock.HostNow() + std::chrono::milliseconds{300});
}

// A switch of roles pauses what writes, whatever clients do.
TEST(ClientPauseTest, ASwitchHasAPauseOfItsOwn) {
  Conversation client;
  Conversation operator_(client.server());
  Pause& pause = client.server().services.pause;
  operator_.Run("CLIENT PAUSE 100 ALL");
  client.server().clock.Advance(std::chrono::milliseconds{100});
  const HostInstant now = client.server().clock.HostNow();
  pause.BeginSwitch(now, now + std::chrono::milliseconds{300});
  EXPECT_EQ(client.Run("PING"), "+PONG\r\n") << "the pause of all commands is over";
  EXPECT_EQ(client.Run("RL.ALLOW k 1/h"), "");
  EXPECT_EQ(operator_.Run("CLIENT UNPAUSE"), "+OK\r\n");
  client.WakeUp();
  EXPECT_EQ(client.Receive(), "");
  EXPECT_TRUE(pause.EndSwitch());
  EXPECT_FALSE(pause.EndSwitch());
  client.WakeUp();
  EXPECT_EQ(client.Receive(), Five("1 0 0 3600000 0"));
}

TEST(ClientPauseTest, WritesAreAlsoThoseOfSubcommands) {
  Conversation client;
  Conversation operator_(client.server());
  operator_.Run("CLIENT PAUSE 300 WRITE");
  EXPECT_EQ(client.Run("RL.POLICY SET p 1/s"), "");
}

TEST(ClientPauseTest, ItsEndIsAcceptedDuringIt) {
  Conversation client;
  client.Run("CLIENT PAUSE 300 ALL");
  EXPECT_EQ(client.Run("AUTH default x"), "+OK\r\n");
  EXPECT_EQ(client.Run("CLIENT ID"), ":1\r\n");
}

TEST(ClientPauseTest, RefusedCommandsDoNotWait) {
  Conversation operator_;
  EXPECT_TRUE(operator_.server().services.access.Configure("hush", "").ok());
  operator_.Run("AUTH hush");
  Conversation client(operator_.server());
  operator_.Run("CLIENT PAUSE 300 ALL");
  EXPECT_EQ(client.Run("PING"), "-NOAUTH Authentication required.\r\n");
  client.Run("AUTH hush");
  EXPECT_EQ(client.Run("NOSUCH"), "-ERR unknown command 'NOSUCH', with args beginning with: \r\n");
  EXPECT_EQ(client.Run("RL.ALLOW k"), "-ERR wrong number of arguments for 'rl.allow' command\r\n");
  EXPECT_EQ(client.Run("PING"), "");
}

TEST(ClientReplyTest, AWaitIsNotAnsweredWhileRepliesAreOff) {
  Conversation client;
  client.Run("RL.ALLOW k 1/s");
  EXPECT_EQ(client.Send("CLIENT REPLY SKIP\r\nRL.WAIT k 1/s TIMEOUT 5000\r\nPING\r\n"), "");
  client.server().clock.Advance(std::chrono::seconds{1});
  EXPECT_EQ(client.Receive(), "+PONG\r\n");
}

}  // namespace
}  // namespace weir
