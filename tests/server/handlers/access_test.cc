// Goal: who has not logged in may log in and nothing else; a user may do what the rules say, at
// every request; a wrong password costs time. Method: conversations with a server that has users;
// what the rules mean is user_test.cc's.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/handlers/login.h"
#include "tests/server/exchanges.h"
#include "tests/support/conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kNoAuth = "-NOAUTH Authentication required.\r\n";

class CmdAccessTest : public testing::Test {
 protected:
  CmdAccessTest() {
    const std::string path = directory_.Write("users",
                                              "user app on >secret ~app:* +@limit\n"
                                              "user off off >secret ~* +@all\n"
                                              "user admin on >root ~* +@all\n");
    EXPECT_TRUE(server_->services.access.Configure("", path).ok());
    client_ = std::make_unique<Conversation>(*server_);
  }
  std::string Run(std::string_view line) { return client_->Run(line); }
  void PassDelay() { server_->clock.Advance(kLoginDelay); }

  TemporaryDirectory directory_;
  std::unique_ptr<TestServer> server_ = std::make_unique<TestServer>();
  std::unique_ptr<Conversation> client_;
};

TEST_F(CmdAccessTest, BeforeLoggingInOneMayLogInAndNothingElse) {
  for (const char* line : {"PING", "ECHO x", "RL.ALLOW app:1 1/s", "CLIENT ID", "MULTI", "INFO",
                           "SELECT 0", "COMMAND", "CLIENT SETNAME me"}) {
    EXPECT_EQ(Run(line), kNoAuth) << line;
  }
  EXPECT_THAT(Run("HELLO 3"), StartsWith("-NOAUTH HELLO must be called with the client already"));
  EXPECT_THAT(Run("FOO"), StartsWith("-ERR unknown command 'FOO'"));
  EXPECT_EQ(Run("EXEC"),
            "-EXECABORT Transaction discarded because of: NOAUTH Authentication required.\r\n");
  EXPECT_EQ(Run("RESET"), "+RESET\r\n");
  EXPECT_EQ(Run("QUIT"), kOk);
}

TEST_F(CmdAccessTest, BeforeLoggingInRequestsAreSmall) {
  EXPECT_EQ(client_->Send("*11\r\n"), "-ERR Protocol error: unauthenticated multibulk length\r\n");
  Conversation other(*server_);
  EXPECT_EQ(other.Send("*1\r\n$16385\r\n"), "-ERR Protocol error: unauthenticated bulk length\r\n");
  Conversation in(*server_);
  EXPECT_EQ(in.Run("AUTH app secret"), kOk);
  EXPECT_EQ(in.Send("*11\r\n$4\r\nECHO\r\n"), "");
}

TEST_F(CmdAccessTest, AUserMayWhatTheRulesSay) {
  EXPECT_EQ(Run("AUTH app secret"), kOk);
  EXPECT_EQ(Run("ACL WHOAMI"), "$3\r\napp\r\n");
  EXPECT_EQ(Run("RL.ALLOW app:1 10/h"), Five("1 9 0 360000 0"));
  EXPECT_EQ(Run("FLUSHALL"),
            "-NOPERM this user has no permissions to run the 'flushall' command\r\n");
  EXPECT_EQ(Run("CLIENT LIST"),
            "-NOPERM this user has no permissions to run the 'client|list' command\r\n");
}

TEST_F(CmdAccessTest, KeysOfOthersAreNotTouchedEvenAmongOnesOwn) {
  EXPECT_EQ(Run("AUTH app secret"), kOk);
  constexpr std::string_view kNoKey =
      "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n";
  EXPECT_EQ(Run("RL.ALLOW other 10/h"), kNoKey);
  EXPECT_EQ(Run("RL.ALLOW app:1 10/h AND other 10/h"), kNoKey);
  EXPECT_EQ(Run("RL.INSPECT other"), kNoKey);
  EXPECT_EQ(Run("WATCH app:1 other"), kNoKey);
  EXPECT_EQ(Run("RL.ALLOW app:1 10/h"), Five("1 9 0 360000 0")) << "nothing was charged";
  EXPECT_EQ(Run("MULTI"), kOk);
  EXPECT_EQ(Run("RL.ALLOW other 10/h"), kNoKey);
  EXPECT_EQ(Run("EXEC"), "-EXECABORT Transaction discarded because of previous errors.\r\n");
}

TEST_F(CmdAccessTest, HelloLogsInToo) {
  EXPECT_THAT(Run("HELLO 3 AUTH app secret SETNAME me"), StartsWith("%7\r\n"));
  EXPECT_EQ(Run("CLIENT GETNAME"), "$2\r\nme\r\n");
  EXPECT_EQ(Run("RESET"), "+RESET\r\n");
  EXPECT_EQ(Run("PING"), kNoAuth);
}

TEST_F(CmdAccessTest, AHelloThatIsWrongLogsNobodyIn) {
  EXPECT_THAT(Run("HELLO 3 AUTH app secret FOO"), StartsWith("-ERR Syntax error in HELLO option"));
  EXPECT_EQ(Run("PING"), kNoAuth);
}

TEST_F(CmdAccessTest, WrongPasswordsLeaveOneWhoOneWas) {
  for (const char* line : {"AUTH app wrong", "AUTH nobody secret", "AUTH off secret", "AUTH secret",
                           "HELLO 3 AUTH app wrong", "AUTH APP secret"}) {
    EXPECT_EQ(Run(line), kWrongPassword) << line;
    PassDelay();
    EXPECT_EQ(Run("PING"), kNoAuth);
  }
  EXPECT_EQ(Run("AUTH app secret"), kOk);
  EXPECT_EQ(Run("AUTH admin wrong"), kWrongPassword);
  PassDelay();
  EXPECT_EQ(Run("ACL WHOAMI"), "$3\r\napp\r\n");
}

TEST_F(CmdAccessTest, AWrongPasswordHoldsTheClientUp) {
  EXPECT_EQ(client_->Send("AUTH app wrong\r\nPING\r\nAUTH app secret\r\nPING\r\n"), kWrongPassword);
  EXPECT_EQ(client_->wake(), server_->clock.Now() + kLoginDelay);
  server_->clock.Advance(kLoginDelay - Nanos{1});
  EXPECT_EQ(client_->Receive(), "");
  server_->clock.Advance(Nanos{1});
  EXPECT_EQ(client_->Receive(), std::string(kNoAuth) + "+OK\r\n+PONG\r\n");
}

TEST_F(CmdAccessTest, WhoIsGoneAfterALoadIsNobody) {
  Conversation admin(*server_);
  EXPECT_EQ(admin.Run("AUTH admin root"), kOk);
  EXPECT_EQ(Run("AUTH app secret"), kOk);
  directory_.Write("users", "user admin on >root ~* +@all\nuser app on +ill\n");
  EXPECT_THAT(admin.Run("ACL LOAD"), HasSubstr("line 2: user 'app': rule 2: '+ill': unknown"));
  EXPECT_EQ(Run("PING"), "+PONG\r\n");
  directory_.Write("users", "user admin on >root ~* +@all\nuser app on >secret +ping\n");
  EXPECT_EQ(admin.Run("ACL LOAD"), kOk);
  EXPECT_EQ(Run("PING"), "+PONG\r\n");
  EXPECT_THAT(Run("INFO"), StartsWith("-NOPERM"));
  directory_.Write("users", "user admin on >root ~* +@all\nuser app off >secret +ping\n");
  EXPECT_EQ(admin.Run("ACL LOAD"), kOk);
  EXPECT_EQ(Run("PING"), kNoAuth);
}

// It sees nothing more, though it says nothing itself.
TEST_F(CmdAccessTest, WhoMayNotMonitorAnyMoreIsClosed) {
  Conversation admin(*server_);
  EXPECT_EQ(admin.Run("AUTH admin root"), kOk);
  for (const char* rules : {"", "user eye off >see ~* +@all\n", "user eye on >see ~* +ping\n"}) {
    directory_.Write("users", "user admin on >root ~* +@all\nuser eye on >see ~* +@all\n");
    EXPECT_EQ(admin.Run("ACL LOAD"), kOk);
    Conversation eye(*server_);
    EXPECT_EQ(eye.Run("AUTH eye see"), kOk);
    EXPECT_EQ(eye.Run("MONITOR"), kOk);
    EXPECT_EQ(admin.Run("ACL LOAD"), kOk);
    admin.Run("PING seen");
    EXPECT_THAT(eye.Receive(), HasSubstr("seen"));
    directory_.Write("users", std::string("user admin on >root ~* +@all\n") + rules);
    EXPECT_EQ(admin.Run("ACL LOAD"), kOk);
    admin.Run("PING unseen");
    EXPECT_EQ(eye.Receive(), "");
    EXPECT_TRUE(eye.closed());
    EXPECT_FALSE(server_->services.observers.monitors.any());
  }
}

TEST_F(CmdAccessTest, WhatIsNotAllowedAnyMoreIsAnErrorOfExec) {
  Conversation admin(*server_);
  EXPECT_EQ(admin.Run("AUTH admin root"), kOk);
  EXPECT_EQ(Run("AUTH app secret"), kOk);
  EXPECT_EQ(client_->Send("MULTI\r\nRL.ALLOW app:1 10/h\r\nPING\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
  directory_.Write("users", "user admin on >root ~* +@all\nuser app on >secret +@limit\n");
  EXPECT_EQ(admin.Run("ACL LOAD"), kOk);
  EXPECT_EQ(Run("EXEC"),
            "*2\r\n-NOPERM this user has no permissions to access one of the keys used as "
            "arguments\r\n+PONG\r\n");
}

TEST_F(CmdAccessTest, WhosePasswordIsNoneAnyMoreHasToLogInAgain) {
  EXPECT_EQ(Run("AUTH admin root"), kOk);
  directory_.Write("users", "user admin on >root >other ~* +@all\n");
  EXPECT_EQ(Run("ACL LOAD"), kOk);
  EXPECT_EQ(Run("PING"), "+PONG\r\n");
  directory_.Write("users", "user admin on >other ~* +@all\n");
  EXPECT_EQ(Run("ACL LOAD"), kOk);
  EXPECT_EQ(Run("PING"), kNoAuth);
  EXPECT_EQ(Run("AUTH admin other"), kOk);
}

// Else a transaction would try thousands of passwords without the delay.
TEST_F(CmdAccessTest, NobodyLogsInInsideATransaction) {
  EXPECT_EQ(Run("AUTH app secret"), kOk);
  for (const char* line : {"AUTH admin root", "HELLO 3 AUTH admin root"}) {
    EXPECT_EQ(Run("MULTI"), kOk);
    EXPECT_EQ(Run(line), "-ERR Command not allowed inside a transaction\r\n");
    EXPECT_THAT(Run("EXEC"), StartsWith("-EXECABORT"));
  }
  EXPECT_EQ(Run("ACL WHOAMI"), "$3\r\napp\r\n");
}

TEST_F(CmdAccessTest, WhoGaveNoPasswordHasToWhenOneIsAskedFor) {
  auto server = std::make_unique<TestServer>();
  const std::string path = directory_.Write("open", "user default on nopass ~* +@all\n");
  ASSERT_TRUE(server->services.access.Configure("", path).ok());
  Conversation client(*server);
  EXPECT_EQ(client.Run("PING"), "+PONG\r\n");
  directory_.Write("open", "user default on >secret ~* +@all\n");
  EXPECT_EQ(client.Run("ACL LOAD"), kOk);
  EXPECT_EQ(client.Run("PING"), kNoAuth);
  EXPECT_EQ(client.Run("AUTH secret"), kOk);
}

TEST_F(CmdAccessTest, AclSaysWhoThereIsAndWhatTheyMay) {
  Run("AUTH admin root");
  EXPECT_EQ(client_->Show("ACL USERS"), "1) \"admin\"\n2) \"app\"\n3) \"default\"\n4) \"off\"");
  EXPECT_THAT(Run("ACL LIST"), HasSubstr(" ~app:* -@all +@limit\r\n"));
  EXPECT_THAT(Run("ACL GETUSER app"), HasSubstr("$13\r\n-@all +@limit\r\n"));
  EXPECT_EQ(Run("ACL GETUSER nobody"), "$-1\r\n");
  EXPECT_EQ(Run("ACL DRYRUN app RL.ALLOW app:1 1/s"), kOk);
  EXPECT_EQ(client_->Show("ACL DRYRUN app RL.ALLOW x 1/s"),
            "\"This user has no permissions to access the 'x' key\"");
  EXPECT_EQ(client_->Show("ACL DRYRUN app FLUSHALL"),
            "\"This user has no permissions to run the 'flushall' command\"");
  EXPECT_THAT(Run("ACL CAT transaction"), StartsWith("*5\r\n$7\r\ndiscard\r\n"));
  EXPECT_EQ(Run("ACL CAT foo"), "-ERR Unknown category 'foo'\r\n");
  EXPECT_THAT(Run("ACL SETUSER app on"), StartsWith("-ERR unknown subcommand 'SETUSER'"));
}

// The rows of ACL LOG but for the client: "count reason context object username age".
std::vector<std::string> Refusals(Conversation& admin, const std::string& arguments = "") {
  std::vector<std::string> rows;
  for (const RespValue& entry : admin.Ask("ACL LOG" + arguments).elements) {
    std::string row = std::to_string(entry.elements.at(1).number);
    for (const std::size_t field : {3, 5, 7, 9, 11}) row += " " + entry.elements.at(field).text;
    rows.push_back(row);
  }
  return rows;
}

TEST_F(CmdAccessTest, RefusalsAreKept) {
  Run("AUTH app secret");
  Run("RL.ALLOW app:1 10/h AND other 10/h AND another 10/h");
  server_->clock.Advance(std::chrono::milliseconds{1500});
  Run("CLIENT LIST");
  Run("MULTI");
  Run("FLUSHALL");
  Run("EXEC");
  Run("auth app wrong");
  PassDelay();
  Run("NOSUCH");
  Run("RL.ALLOW other");
  Conversation admin(*server_);
  admin.Run("AUTH admin root");
  EXPECT_THAT(
      Refusals(admin),
      ElementsAre("1 auth toplevel auth app 0.1", "1 command multi flushall app 0.1",
                  "1 command toplevel client|list app 0.1", "1 key toplevel other app 1.6"));
  EXPECT_THAT(Refusals(admin, " 1"), ElementsAre("1 auth toplevel auth app 0.1"));
  EXPECT_THAT(Refusals(admin, " -1"), IsEmpty());
  EXPECT_EQ(admin.Run("ACL LOG reset"), kOk);
  EXPECT_EQ(admin.Run("ACL LOG"), "*0\r\n");
  EXPECT_EQ(admin.Run("ACL LOG x"), "-ERR value is not an integer or out of range\r\n");
}

TEST_F(CmdAccessTest, RefusalsShowTheClientAsItWas) {
  Run("AUTH app secret");
  Run("CLIENT SETNAME me");
  Run("RL.RESET app:1");
  Run("CLIENT SETNAME other");
  Conversation admin(*server_);
  admin.Run("HELLO 3 AUTH admin root");
  const RespValue entry = admin.Ask("ACL LOG").elements.at(0);
  EXPECT_EQ(entry.type, '%');
  EXPECT_EQ(entry.elements.at(11).type, ',');
  EXPECT_THAT(entry.elements.at(13).text, HasSubstr(" name=me "));
  EXPECT_THAT(entry.elements.at(13).text, HasSubstr(" cmd=rl.reset user=app "));
}

// What is refused by EXEC alone, since it was allowed when it was queued.
TEST_F(CmdAccessTest, RefusalsOfExecAreOfATransaction) {
  Conversation admin(*server_);
  admin.Run("AUTH admin root");
  Run("AUTH app secret");
  client_->Send("MULTI\r\nRL.ALLOW app:1 10/h\r\n");
  directory_.Write("users", "user admin on >root ~* +@all\nuser app on >secret +@limit\n");
  admin.Run("ACL LOAD");
  Run("EXEC");
  EXPECT_THAT(Refusals(admin), ElementsAre("1 key multi app:1 app 0"));
}

TEST_F(CmdAccessTest, NoPasswordIsAmongTheRefusals) {
  Conversation admin(*server_);
  admin.Run("AUTH admin root");
  for (const char* line :
       {"AUTH app hunter2", "AUTH hunter2", "AUTH hunter2 hunter2", "HELLO 3 AUTH hunter2 app",
        "AUTH app hunter2 more", "hunter2 x", "HELLO 3 AUTH hunter2"}) {
    Run(line);
    PassDelay();
  }
  EXPECT_THAT(
      Refusals(admin),
      ElementsAre("1 auth toplevel HELLO (unknown) 0.4", "1 auth toplevel AUTH (unknown) 0.5",
                  "1 auth toplevel AUTH default 0.6", "1 auth toplevel AUTH app 0.7"));
  EXPECT_THAT(admin.Run("ACL LOG"), Not(HasSubstr("hunter2")));
}

TEST_F(CmdAccessTest, GenPassMakesOtherPasswordsEachTime) {
  Run("AUTH admin root");
  const std::string one = Run("ACL GENPASS");
  EXPECT_THAT(one, testing::MatchesRegex("\\$64\r\n[0-9a-f]+\r\n"));
  EXPECT_NE(Run("ACL GENPASS"), one);
  EXPECT_THAT(Run("ACL GENPASS 5"), StartsWith("$2\r\n"));
  EXPECT_THAT(Run("ACL GENPASS 4097"), StartsWith("-ERR ACL GENPASS argument must be the number"));
}

TEST_F(CmdAccessTest, TheDefaultUsersPasswordNeedsNoName) {
  auto server = std::make_unique<TestServer>();
  ASSERT_TRUE(server->services.access.Configure("secret", "").ok());
  Conversation client(*server);
  EXPECT_EQ(client.Run("PING"), kNoAuth);
  EXPECT_EQ(client.Run("AUTH secret"), kOk);
  EXPECT_EQ(client.Run("PING"), "+PONG\r\n");
  EXPECT_EQ(client.Run("AUTH default secret"), kOk);
}

}  // namespace
}  // namespace weir
