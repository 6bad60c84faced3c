// Goal: RL.POLICY in the rest of the server: all threads, the keys, the turns of a session, and a
// policy file. Method: conversations at one instant, on servers of one worker or two. Its answers,
// on every host, are tested in tests/commands/policy_test.cc.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limiter/policy_trim.h"
#include "tests/server/exchanges.h"
#include "tests/support/conversation.h"
#include "tests/support/http_conversation.h"
#include "tests/support/policy_changes.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CmdPolicyTest : public testing::Test {
 protected:
  std::string Run(std::string_view line) { return client_.Run(line); }
  // Runs "RL.POLICY <line>", which must succeed.
  void Policy(const std::string& line) { EXPECT_EQ(Run("RL.POLICY " + line), kOk) << line; }

  Conversation client_;
};

// PTTL and EXISTS use the present numbers, as RL.INSPECT does.
TEST_F(CmdPolicyTest, ALoweredPolicyIsFullWhenItsNewNumbersSaySo) {
  Policy("SET p 1000/h 100/h");
  Run("RL.ALLOW k @p COST 100");
  Policy("SET p 1/s");
  EXPECT_EQ(Run("PTTL k"),
            ":360000\r\n");  // what it owes is not forgiven; 1 h is of a limit that is gone
  EXPECT_EQ(Run("EXISTS k"), ":1\r\n");
  Policy("SET p 1/s,shadow");
  EXPECT_EQ(Run("PTTL k"), ":-2\r\n");
  EXPECT_EQ(Run("EXISTS k"), ":0\r\n");
}

// A key lasts as long as the buckets that RL.INSPECT shows.
TEST_F(CmdPolicyTest, AKeyLastsAsLongAsItsPresentLimitsSay) {
  Policy("SET p 10/s 5/m,fixed");
  Run("RL.ALLOW k @p 10/s");
  EXPECT_EQ(Run("PTTL k"), ":60000\r\n");
  Policy("OVERRIDE p k 1/s,burst=3");
  EXPECT_EQ(Run("PTTL k"), ":100\r\n");
}

// A position that has no buckets now, or another algorithm's, shows none of its old ones.
TEST_F(CmdPolicyTest, DelCountsTheKeysThatExist) {
  for (const char* now : {"unlimited", "5/h,fixed"}) {
    Policy("SET p 5/h");
    Run("RL.ALLOW k @p AND l @p AND l 7/h");
    EXPECT_EQ(Run("EXISTS k l"), ":2\r\n");
    Policy(std::string("SET p ") + now);
    EXPECT_EQ(Run("EXISTS k l"), ":1\r\n") << now;
    EXPECT_EQ(Run("DEL k l"), ":1\r\n") << now;
    Policy("DEL p");
  }
}

TEST_F(CmdPolicyTest, AChangeIsInForceForTheNextRequestOfEveryWorker) {
  Worker second(client_.server().services);
  Conversation other(client_.server(), second);
  ExpectChangesAreInForce(client_, other);
}

// A command that visits many slots counts as much work of a turn.
TEST_F(CmdPolicyTest, LongCommandsAreMoreWork) {
  for (int i = 0; i < 500; ++i) Policy("SET p" + std::to_string(i) + " 10/s");
  const auto turns_of = [this](const std::string& requests) {
    const int before = client_.turns();
    client_.Send(requests);
    return client_.turns() - before;
  };
  EXPECT_EQ(turns_of("RL.POLICY LIST\r\nRL.POLICY LIST\r\nRL.POLICY LIST\r\nPING\r\n"), 2);
  std::string deletions;
  for (int i = 0; i < 17; ++i) deletions += "RL.POLICY DEL p" + std::to_string(i) + "\r\n";
  EXPECT_EQ(turns_of(deletions), 2);
}

// Work that a server's side thread would do, when the test says so.
class Aside {
 public:
  explicit Aside(TestServer& server) {
    server.services.run_aside = [this](std::function<void()> task, std::function<void()> done) {
      if (is_full) return absl::UnavailableError("busy");
      tasks_.emplace_back(std::move(task), std::move(done));
      return absl::OkStatus();
    };
  }
  // Returns the number of tasks.
  std::size_t Run() {
    const auto tasks = std::exchange(tasks_, {});
    for (const auto& [task, done] : tasks) {
      task();
      done();
    }
    return tasks.size();
  }

  bool is_full = false;

 private:
  std::vector<std::pair<std::function<void()>, std::function<void()>>> tasks_;
};

TEST_F(CmdPolicyTest, OthersAreServedWhileADeletedPolicyIsForgotten) {
  Aside aside(client_.server());
  Conversation other(client_.server());
  Policy("SET p 10/h");
  client_.Run("RL.RESERVE k @p HOLD h TTL 1000");
  EXPECT_EQ(client_.Send("RL.POLICY DEL p\r\nPING\r\n"), "");
  EXPECT_EQ(other.Show("DBSIZE"), "1") << "still to be dropped";
  EXPECT_THAT(other.Run("RL.ALLOW k @p"), HasSubstr("unknown policy"));
  EXPECT_EQ(other.Run("RL.POLICY SET p 10/h"), kOk) << "another one";
  EXPECT_EQ(other.Run("RL.ALLOW l @p"), Five("1 9 0 360000 0"));
  other.Run("CLIENT PAUSE 1000 WRITE");
  EXPECT_EQ(aside.Run(), 1U);
  client_.WakeUp();
  EXPECT_EQ(client_.Send(""), "") << "a change waits for the end of a pause";
  client_.server().clock.Advance(std::chrono::milliseconds{1000});
  EXPECT_EQ(client_.Send(""), std::string(kOk) + "+PONG\r\n");
  EXPECT_EQ(other.Show("DBSIZE"), "1") << "that of the other policy";
  EXPECT_EQ(client_.server().services.upkeep.counts().open_holds, 0U);
}

TEST_F(CmdPolicyTest, WhoMayNotWaitIsAnsweredBeforeADeletedPolicyIsForgotten) {
  Aside aside(client_.server());
  Policy("SET p 10/h");
  client_.Run("RL.ALLOW k @p");
  EXPECT_EQ(client_.Send("MULTI\r\nRL.POLICY DEL p\r\nEXISTS k\r\nEXEC\r\n"),
            "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:0\r\n");
  EXPECT_EQ(client_.Show("DBSIZE"), "1");
  EXPECT_EQ(aside.Run(), 1U);
  EXPECT_EQ(client_.Show("DBSIZE"), "0");
}

TEST_F(CmdPolicyTest, ADeletedPolicyIsForgottenAlsoIfTheSideThreadIsBusy) {
  Aside aside(client_.server());
  aside.is_full = true;
  for (const char* const commands :
       {"RL.POLICY DEL p\r\n", "MULTI\r\nRL.POLICY DEL p\r\nEXEC\r\n"}) {
    Policy("SET p 10/h");
    client_.Run("RL.ALLOW k @p");
    EXPECT_THAT(client_.Send(commands), testing::EndsWith(kOk)) << commands;
    EXPECT_EQ(client_.Show("DBSIZE"), "0") << commands;
  }
}

// --- The file -----------------------------------------------------------------------------------

TEST(PolicyFileTest, OthersAreServedWhileItIsRead) {
  const TemporaryDirectory directory;
  Options options = DefaultOptions();
  options.policies = directory.Write("p.toml", "[policies]\na = \"10/s\"\n");
  HttpTestServer server(options);
  Aside aside(server);
  Conversation client(server);
  Conversation other(server);
  EXPECT_EQ(client.Send("RL.POLICY RELOAD\r\nPING\r\n"), "");
  EXPECT_EQ(other.Show("RL.POLICY LIST"), "[]") << "it is not read yet";
  EXPECT_EQ(aside.Run(), 1U);
  client.WakeUp();
  EXPECT_EQ(client.Send(""), std::string(kOk) + "+PONG\r\n");
  EXPECT_EQ(other.Show("RL.POLICY LIST"), "[\"a\"]");

  EXPECT_EQ(client.Send("RL.POLICY RELOAD\r\n"), "");
  EXPECT_EQ(aside.Run(), 1U);
  directory.Write("p.toml", "[policies]\na = \"10/s\"\nlater = \"1/s\"\n");
  EXPECT_TRUE(server.services.ReloadPolicies().ok()) << "as SIGHUP does";
  client.WakeUp();
  EXPECT_EQ(client.Send(""), kOk);
  EXPECT_EQ(other.Show("RL.POLICY LIST"), "\"a\" \"later\"") << "the file that was read last";

  directory.Write("p.toml", "[policies]\na = \"10/x\"\n");
  EXPECT_EQ(client.Send("RL.POLICY RELOAD\r\n"), "");
  EXPECT_EQ(aside.Run(), 1U);
  client.WakeUp();
  EXPECT_THAT(client.Send(""), HasSubstr("unknown unit"));
  aside.is_full = true;
  EXPECT_EQ(client.Run("RL.POLICY RELOAD"), "-ERR busy\r\n");
  HttpConversation http(server);
  EXPECT_THAT(http.Post("/v1/command", R"(["RL.POLICY","RELOAD"])"), HasSubstr("answered later"));
}

TEST(PolicyFileTest, ReloadReadsItAgain) {
  const TemporaryDirectory directory;
  Options options = DefaultOptions();
  options.policies = directory.Write("p.toml", "[policies]\na = \"10/s\"\nb = \"10/s\"\n");
  Conversation client(std::make_unique<TestServer>(options));
  EXPECT_EQ(client.Run("RL.POLICY RELOAD"), kOk);
  client.Run("RL.ALLOW k @a @b COST 10");
  client.Run("RL.POLICY SET own 5/s");
  const std::string is_files =
      "-ERR policy 'a' belongs to the policy file: change it there, then run RL.POLICY RELOAD\r\n";
  EXPECT_EQ(client.Run("RL.POLICY SET a 5/s"), is_files);
  EXPECT_EQ(client.Run("RL.POLICY DEL a"), is_files);
  EXPECT_EQ(client.Run("RL.POLICY OVERRIDE a l none"), kOk);

  directory.Write("p.toml", "[policies]\na = \"100/s,burst=200\"\nc = \"1/x\"\n");
  EXPECT_EQ(client.Run("RL.POLICY RELOAD"),
            "-ERR " + options.policies +
                ":3: policy 'c': invalid limit '1/x': unknown unit 'x' (us, ms, s, m, h, d, w, or "
                "day, week, month, year)\r\n");
  EXPECT_EQ(client.Run("RL.PEEK k @a @b COST 0"), Five("1 0 0 1000 0"));

  directory.Write("p.toml", "[policies]\na = \"100/s,burst=200\"\nown = \"1/s\"\n");
  EXPECT_EQ(client.Run("RL.POLICY RELOAD"), kOk);
  EXPECT_EQ(client.Show("RL.POLICY LIST"), "\"a\" \"b\" \"own\"");
  EXPECT_EQ(client.Run("RL.PEEK k @a COST 0"), Five("1 100 0 1000 0"));
  EXPECT_EQ(client.Run("RL.ALLOW l @a"), Five("0 0 -1 0 0"));
  EXPECT_EQ(client.Show("RL.INSPECT k"), "[\"@a#0\" 100 1000 100 0]\n[\"@b#0\" 0 1000 10 0]");
}

TEST(PolicyFileTest, PoliciesMissingFromTheFileAreRetired) {
  const TemporaryDirectory directory;
  Options options = DefaultOptions();
  const std::string both = "[policies]\nfree = \"10/h\"\npaid = \"100/h\"\n";
  options.policies = directory.Write("p.toml", both);
  Conversation client(std::make_unique<TestServer>(options));
  EXPECT_EQ(client.Run("RL.POLICY RELOAD"), kOk);
  EXPECT_EQ(client.Run("RL.POLICY OVERRIDE free user:13 none"), kOk);
  client.Run("RL.ALLOW user:1 @free COST 10");

  directory.Write("p.toml", "");
  EXPECT_EQ(client.Run("RL.POLICY RELOAD"), "-ERR " + options.policies + ": it has no policy\r\n");
  EXPECT_EQ(client.Run("RL.ALLOW user:2 @free"), Five("1 9 0 360000 0")) << "nothing has changed";

  directory.Write("p.toml", "[policies]\npaid = \"100/h\"\n");
  EXPECT_EQ(client.Run("RL.POLICY RELOAD"), kOk);
  EXPECT_EQ(client.Run("RL.ALLOW user:2 @free"),
            "-ERR policy 'free' is retired: the policy file does not have it\r\n");
  EXPECT_EQ(client.Show("RL.POLICY OVERRIDES free"), "[[\"user:13\" \"none\"]]");

  directory.Write("p.toml", both);
  EXPECT_EQ(client.Run("RL.POLICY RELOAD"), kOk);
  EXPECT_EQ(client.Run("RL.ALLOW user:13 @free"), Five("0 0 -1 0 0")) << "still banned";
  EXPECT_EQ(client.Run("RL.ALLOW user:1 @free"), Five("0 0 360000 3600000 0"));
}

TEST(PolicyFileTest, ABadFileChangesNothing) {
  const TemporaryDirectory directory;
  Options options = DefaultOptions();
  options.policies = directory.Write("p.toml", "[policies]\na = \"10/s\"\nb = \"5/s\"\n");
  TestServer server(options);
  EXPECT_TRUE(server.services.ReloadPolicies().ok());
  Conversation client(server);
  client.Run("RL.ALLOW k @a");
  const std::uint64_t version = server.services.policies.version();
  for (const char* text : {"[policies]\nc = \"1/s\"\nd = \"1/x\"\n", "[policies", "c = 1"}) {
    directory.Write("p.toml", text);
    EXPECT_FALSE(server.services.ReloadPolicies().ok());
    EXPECT_EQ(server.services.policies.version(), version);
    EXPECT_EQ(client.Show("RL.POLICY LIST"), "\"a\" \"b\"");
  }
  std::filesystem::remove(options.policies);
  EXPECT_EQ(server.services.ReloadPolicies().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(client.Show("RL.INSPECT k"), "[[\"@a#0\" 9 100 1 0]]");
}

// A replica that is promoted serves clients before it has looked at its rules.
TEST(PolicyFileTest, NamesOfRulesAreNoClientsBeforeTheRulesAreInForce) {
  Options options = DefaultOptions();
  options.rls_config = "rules.yaml";
  Conversation client(std::make_unique<TestServer>(options));
  EXPECT_EQ(
      client.Run("RL.POLICY SET rls:shop.user 5/s"),
      "-ERR policy 'rls:shop.user' belongs to the rules of rls-config: change them there\r\n");
  EXPECT_EQ(client.Run("RL.POLICY SET shop 5/s"), kOk);
  EXPECT_EQ(Conversation().Run("RL.POLICY SET rls:shop.user 5/s"), kOk) << "without rls-config";
}

TEST(PolicyFileTest, NoFileIsNoReload) {
  TestServer server;
  const absl::Status reloaded = server.services.ReloadPolicies();
  EXPECT_EQ(reloaded.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(reloaded.message(), "there is no policy file: start with --policies FILE");
}

// --- SET with TRIM, whose parts are turns -------------------------------------------------------

class CmdPolicyTrimTest : public testing::Test {
 protected:
  CmdPolicyTrimTest() {
    EXPECT_EQ(client_.Run("RL.POLICY SET p 1000/d"), kOk);
    client_.Run("RL.ALLOW k @p COST 1000");
    EXPECT_EQ(Turn("RL.POLICY SET p 100/m TRIM\r\n"), "");
    EXPECT_EQ(waiters(), 1U);
  }

  // One turn of the client.
  std::string Turn(std::string_view bytes = "") {
    std::string replies;
    static_cast<void>(client_.session().Execute(bytes, replies));
    return replies;
  }
  std::uint64_t waiters() { return client_.server().services.waiters.load(); }

  Conversation client_;
  Conversation other_{client_.server()};
};

TEST_F(CmdPolicyTrimTest, ItStopsWhenThePolicyIsSetAgain) {
  EXPECT_EQ(Turn(), "");
  EXPECT_EQ(other_.Run("RL.POLICY SET p 1000/d"), kOk);
  EXPECT_EQ(Turn(), "-" + std::string(kOutdatedTrim) + "\r\n");
  EXPECT_EQ(other_.Show("RL.ALLOW k @p"), "0 0 86400 86400000 0") << "not cut to 100/m";
  EXPECT_EQ(waiters(), 0U);
}

TEST_F(CmdPolicyTrimTest, UnblockEndsItBeforeItsLastPart) {
  EXPECT_EQ(other_.Run("CLIENT UNBLOCK 1"), ":1\r\n");
  EXPECT_EQ(Turn(), "-ERR stopped before all buckets were cut\r\n");
  EXPECT_EQ(other_.Show("RL.ALLOW k @p"), "0 0 86340600 86400000 0");
}

TEST_F(CmdPolicyTrimTest, UnblockInItsLastPartComesTooLate) {
  EXPECT_EQ(Turn(), "");
  EXPECT_EQ(other_.Run("CLIENT UNBLOCK 1"), ":1\r\n");
  EXPECT_EQ(Turn(), kOk);
  EXPECT_EQ(other_.Show("RL.ALLOW k @p"), "0 0 600 60000 0");
  EXPECT_EQ(waiters(), 0U);
}

}  // namespace
}  // namespace weir
