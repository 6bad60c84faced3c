// Goal: a wrong password costs time, a reloaded users file applies to each client's next request,
// and ACL reports weir's additions. Method: conversations with a server that has users. Rules are
// tested in user_test.cc, Redis's answers in tests/e2e/differential_commands.py, and permissions in
// tests/e2e/access_test.py.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/session/client_state.h"
#include "tests/server/exchanges.h"
#include "tests/support/conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

constexpr std::string_view kWrongPassword =
    "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kNotLoggedIn = "-NOAUTH Authentication required.\r\n";

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

TEST_F(CmdAccessTest, AWrongPasswordHoldsTheClientUp) {
  EXPECT_EQ(client_->Send("AUTH app wrong\r\nPING\r\nAUTH app secret\r\nPING\r\n"), kWrongPassword);
  EXPECT_EQ(client_->wake(), server_->clock.HostNow() + kLoginDelay);
  server_->clock.Advance(kLoginDelay - Nanos{1});
  EXPECT_EQ(client_->Receive(), "");
  server_->clock.Advance(Nanos{1});
  EXPECT_EQ(client_->Receive(), std::string(kNotLoggedIn) + "+OK\r\n+PONG\r\n");
}

// The monitor gets no more lines, although it sends nothing itself.
TEST_F(CmdAccessTest, AMonitorWithoutPermissionIsClosed) {
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

TEST_F(CmdAccessTest, ACommandForbiddenSinceItWasQueuedIsAnErrorOfExec) {
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

TEST_F(CmdAccessTest, AClientWhosePasswordWasRemovedMustLogInAgain) {
  EXPECT_EQ(Run("AUTH admin root"), kOk);
  directory_.Write("users", "user admin on >root >other ~* +@all\n");
  EXPECT_EQ(Run("ACL LOAD"), kOk);
  EXPECT_EQ(Run("PING"), "+PONG\r\n");
  directory_.Write("users", "user admin on >other ~* +@all\n");
  EXPECT_EQ(Run("ACL LOAD"), kOk);
  EXPECT_EQ(Run("PING"), kNotLoggedIn);
  EXPECT_EQ(Run("AUTH admin other"), kOk);
}

// Method: the file is read when the test says so.
TEST_F(CmdAccessTest, OthersAreServedWhileTheFileIsRead) {
  std::function<void()> task;
  std::function<void()> done;
  server_->services.run_aside = [&](std::function<void()> given, std::function<void()> then) {
    if (task) return absl::UnavailableError("busy");
    task = std::move(given);
    done = std::move(then);
    return absl::OkStatus();
  };
  Conversation admin(*server_);
  Conversation other(*server_);
  EXPECT_EQ(admin.Run("AUTH admin root"), kOk);
  EXPECT_EQ(other.Run("AUTH admin root"), kOk);
  directory_.Write("users", "user admin on >root >new ~* +@all\n");
  EXPECT_EQ(admin.Send("ACL LOAD\r\nPING\r\n"), "");
  EXPECT_EQ(server_->services.waiters.load(), 1U);
  EXPECT_EQ(other.Run("PING"), "+PONG\r\n");
  EXPECT_EQ(other.Run("ACL LOAD"), "-ERR busy\r\n");
  EXPECT_EQ(client_->Run("AUTH admin new"), kWrongPassword) << "it is not read yet";
  PassDelay();
  task();
  done();
  admin.WakeUp();
  EXPECT_EQ(admin.Receive(), std::string(kOk) + "+PONG\r\n");
  EXPECT_EQ(server_->services.waiters.load(), 0U);
  EXPECT_EQ(client_->Run("AUTH admin new"), kOk);
  task = nullptr;
  directory_.Write("users", "user admin on >root >new ~* +@all\nuser broken on +@nothing\n");
  EXPECT_EQ(admin.Run("ACL LOAD"), "");
  task();
  done();
  admin.WakeUp();
  EXPECT_THAT(admin.Receive(), HasSubstr("unknown category"));
  EXPECT_EQ(admin.Run("MULTI"), kOk);
  EXPECT_EQ(admin.Run("ACL LOAD"), "-ERR Command not allowed inside a transaction\r\n");
}

TEST_F(CmdAccessTest, AClientWithoutPasswordMustLogInOnceOneIsRequired) {
  auto server = std::make_unique<TestServer>();
  const std::string path = directory_.Write("open", "user default on nopass ~* +@all\n");
  ASSERT_TRUE(server->services.access.Configure("", path).ok());
  Conversation client(*server);
  EXPECT_EQ(client.Run("PING"), "+PONG\r\n");
  directory_.Write("open", "user default on >secret ~* +@all\n");
  EXPECT_EQ(client.Run("ACL LOAD"), kOk);
  EXPECT_EQ(client.Run("PING"), kNotLoggedIn);
  EXPECT_EQ(client.Run("AUTH secret"), kOk);
}

TEST_F(CmdAccessTest, AclShowsUsersAndPermissions) {
  Run("AUTH admin root");
  EXPECT_EQ(client_->Show("ACL USERS"), "\"admin\" \"app\" \"default\" \"off\"");
  EXPECT_THAT(Run("ACL LIST"), HasSubstr(" ~app:* -@all +@limit\r\n"));
  EXPECT_THAT(Run("ACL GETUSER app"), HasSubstr("$13\r\n-@all +@limit\r\n"));
  EXPECT_THAT(Run("ACL CAT transaction"), StartsWith("*5\r\n$7\r\ndiscard\r\n"));
}

// The rows of ACL LOG without the client: "count reason context object username age".
std::vector<std::string> Refusals(Conversation& admin) {
  std::vector<std::string> rows;
  for (const RespValue& entry : admin.Ask("ACL LOG").elements) {
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
  Conversation admin(*server_);
  admin.Run("AUTH admin root");
  EXPECT_THAT(
      Refusals(admin),
      ElementsAre("1 auth toplevel auth app 0.1", "1 command multi flushall app 0.1",
                  "1 command toplevel client|list app 0.1", "1 key toplevel other app 1.6"));
}

TEST_F(CmdAccessTest, RefusalsShowTheClientAsItWas) {
  Run("AUTH app secret");
  Run("CLIENT SETNAME me");
  Run("RL.RESET app:1");
  Run("CLIENT SETNAME other");
  Conversation admin(*server_);
  admin.Run("HELLO 3 AUTH admin root");
  const RespValue entry = admin.Ask("ACL LOG").elements.at(0);
  EXPECT_THAT(entry.elements.at(13).text, HasSubstr(" name=me "));
  EXPECT_THAT(entry.elements.at(13).text, HasSubstr(" cmd=rl.reset user=app "));
}

// A command that was allowed when it was queued may be refused by EXEC.
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

TEST_F(CmdAccessTest, GenPassMakesOtherPasswordsEachTime) {
  Run("AUTH admin root");
  const std::string one = Run("ACL GENPASS");
  EXPECT_NE(Run("ACL GENPASS"), one);
}

}  // namespace
}  // namespace weir
