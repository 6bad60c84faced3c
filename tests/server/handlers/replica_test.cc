// Goal: a replica refuses what would change something and answers looks, and tells a client why.
// Method: every command of the table in each state of a replica; conversations with a fake
// replication.
#include <chrono>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/command_table.h"
#include "tests/support/conversation.h"
#include "tests/support/fake_replication.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kReadOnly = "-READONLY You can't write against a read only replica.\r\n";
constexpr std::string_view kSyncing = "-LOADING weir is loading its state from its primary\r\n";
constexpr std::string_view kMasterDown =
    "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n";

class ReplicaTest : public testing::Test {
 protected:
  Conversation client_;
  FakeReplication replication_{client_.server().services};
};

// A primary that has heard of a later one.
TEST_F(ReplicaTest, ADeposedPrimaryChangesNothingAndAnswersLooks) {
  client_.Run("RL.ALLOW k 10/h COST 4");
  replication_.Depose();
  constexpr std::string_view kDeposed =
      "-READONLY another server has become the primary in a later term\r\n";
  for (const char* change : {"RL.ALLOW k 10/h", "RL.ALLOW k none OR k 10/h", "RL.RESET k",
                             "RL.POLICY SET p 1/s", "FLUSHALL", "PING"}) {
    EXPECT_EQ(client_.Run(change), kDeposed) << change;
  }
  EXPECT_EQ(client_.Show("RL.PEEK k 10/h"), "1 5 0 1800000 0");
  for (const char* look : {"RL.INSPECT k", "DBSIZE", "INFO", "ROLE", "CONFIG GET bind", "HELLO",
                           "CLIENT ID", "RL.STATS", "REPLICAOF NO ONE"}) {
    EXPECT_THAT(client_.Run(look), Not(StartsWith("-"))) << look;
  }
  EXPECT_EQ(client_.Run("MULTI"), "+OK\r\n");
  EXPECT_EQ(client_.Run("RL.ALLOW k 10/h"), kDeposed);
  EXPECT_THAT(client_.Run("EXEC"), StartsWith("-EXECABORT"));
}

TEST_F(ReplicaTest, ChangesNothingAndAnswersLooks) {
  client_.Run("RL.POLICY SET p 10/s");
  client_.Run("RL.ALLOW k 10/h COST 4");
  replication_.BecomeReplica();
  for (const char* change : {"RL.ALLOW k 10/h",
                             "RL.ALLOW k 10/h COST 0",
                             "RL.ALLOW k 1/h COST 2 OR l 10/h",
                             "RL.TAKE k 10/h UPTO 3",
                             "RL.CHARGE k 10/h",
                             "RL.REFUND k 10/h",
                             "RL.WAIT k 10/h TIMEOUT 1000",
                             "RL.RESET k",
                             "RL.RESERVE k 10/h HOLD a TTL 1000",
                             "RL.SLICE k 10/h NEED 1 UNIT 1 UPTO 1 HOLD a TTL 1000",
                             "RL.COMMIT k HOLD a",
                             "RL.CANCEL k HOLD a",
                             "CL.THROTTLE k 1 2 3",
                             "RL.THROTTLE k 1 2 3",
                             "RL.POLICY SET p 5/s",
                             "RL.POLICY DEL p",
                             "RL.POLICY RELOAD",
                             "RL.POLICY OVERRIDE p k 1/s",
                             "RL.POLICY UNOVERRIDE p k",
                             "DEL k",
                             "UNLINK k",
                             "FLUSHALL",
                             "FLUSHDB"}) {
    EXPECT_EQ(client_.Run(change), kReadOnly) << change;
  }
  EXPECT_EQ(client_.Show("RL.PEEK k 10/h"), "1 5 0 1800000 0");
  EXPECT_EQ(client_.Show("EXISTS k"), "1");
  EXPECT_EQ(client_.Show("DBSIZE"), "1");
  EXPECT_EQ(client_.Show("TTL k"), "1440");
  for (const char* look : {"RL.INSPECT k", "RL.POLICY GET p", "RL.POLICY LIST", "TYPE k", "PTTL k",
                           "RL.POLICY OVERRIDES p", "RL.STATS", "RL.TOP", "MEMORY USAGE k"}) {
    EXPECT_THAT(client_.Run(look), Not(StartsWith("-"))) << look;
  }
  EXPECT_EQ(client_.Run("PING"), "+PONG\r\n");
  replication_.BecomePrimary();
  EXPECT_EQ(client_.Show("RL.ALLOW k 10/h"), "1 5 0 1800000 0");
}

// The flags of a row decide, for all commands.
TEST_F(ReplicaTest, EachCommandIsAnsweredByItsFlags) {
  const auto error_of = [&services = client_.server().services](const CommandSpec& spec) {
    return std::string(services.admission().StateError(spec.flags).message());
  };
  for (const CommandSpec& spec : CommandTable()) {
    EXPECT_EQ(error_of(spec), "") << spec.name;
  }
  replication_.BecomeReplica();
  for (const CommandSpec& spec : CommandTable()) {
    EXPECT_EQ(error_of(spec), spec.Is(kWrite) ? kReadOnlyError : "") << spec.name;
    EXPECT_TRUE(!spec.Is(kAlwaysChanges) || spec.Is(kWrite)) << spec.name;
  }
  replication_.BecomeReplica(false);
  for (const CommandSpec& spec : CommandTable()) {
    EXPECT_EQ(error_of(spec), spec.Is(kLoading) ? "" : kSyncingError) << spec.name;
  }
}

TEST_F(ReplicaTest, WithoutAWholeStateItIsLoading) {
  replication_.BecomeReplica(false);
  for (const char* line : {"RL.ALLOW k 10/h", "RL.PEEK k 10/h", "DBSIZE", "FLUSHALL", "PING"}) {
    EXPECT_EQ(client_.Run(line), kSyncing) << line;
  }
  EXPECT_THAT(client_.Run("INFO persistence"), HasSubstr("\r\nloading:1\r\n"));
  EXPECT_EQ(client_.Show("REPLICAOF NO ONE"), "OK");
  replication_.BecomeReplica();
  EXPECT_THAT(client_.Run("INFO persistence"), HasSubstr("\r\nloading:0\r\n"));
}

TEST_F(ReplicaTest, WithoutItsPrimaryItMayRefuseLooks) {
  replication_.BecomeReplica(true, false);
  EXPECT_EQ(client_.Show("EXISTS k"), "0");
  EXPECT_EQ(client_.Show("CONFIG SET replica-serve-stale-data no"), "OK");
  for (const char* look : {"EXISTS k", "RL.PEEK k 10/h", "RL.INSPECT k", "DBSIZE", "RL.STATS"}) {
    EXPECT_EQ(client_.Run(look), kMasterDown) << look;
  }
  EXPECT_EQ(client_.Run("RL.ALLOW k 10/h"), kReadOnly);
  EXPECT_EQ(client_.Run("PING"), "+PONG\r\n");
  EXPECT_THAT(client_.Run("INFO"), Not(StartsWith("-")));
  replication_.BecomeReplica();
  EXPECT_EQ(client_.Show("EXISTS k"), "0");
}

// --- Transactions --------------------------------------------------------------------------------

TEST_F(ReplicaTest, AChangeIsRefusedWhenItIsQueued) {
  replication_.BecomeReplica();
  client_.Run("MULTI");
  EXPECT_EQ(client_.Show("RL.PEEK k 10/h"), "QUEUED");
  EXPECT_EQ(client_.Run("RL.ALLOW k 10/h"), kReadOnly);
  EXPECT_EQ(client_.Run("EXEC"),
            "-EXECABORT Transaction discarded because of previous errors.\r\n");
  client_.Run("MULTI");
  client_.Run("RL.PEEK k 10/h");
  EXPECT_EQ(client_.Show("EXEC"), "[[1 9 0 360000 0]]");
}

TEST_F(ReplicaTest, ATransactionThatWouldChangeSomethingIsRefusedAsAWhole) {
  client_.Run("MULTI");
  EXPECT_EQ(client_.Show("PING"), "QUEUED");
  EXPECT_EQ(client_.Show("RL.ALLOW k 10/h"), "QUEUED");
  replication_.BecomeReplica();
  EXPECT_EQ(client_.Run("EXEC"),
            "-EXECABORT Transaction discarded because of: READONLY You can't write against a read "
            "only replica.\r\n");
  EXPECT_EQ(client_.Show("EXISTS k"), "0");
  EXPECT_EQ(client_.Run("EXEC"), "-ERR EXEC without MULTI\r\n");
  client_.Run("MULTI");
  client_.Run("PING");
  replication_.BecomeReplica(false);
  EXPECT_THAT(client_.Run("EXEC"),
              StartsWith("-EXECABORT Transaction discarded because of: LOADING"));
}

// The transaction in which Sentinel demotes a server.
TEST_F(ReplicaTest, RunsSentinelsTransaction) {
  client_.Run("MULTI");
  for (const char* line : {"SLAVEOF 10.0.0.1 7379", "CONFIG REWRITE", "CLIENT KILL TYPE normal"}) {
    EXPECT_EQ(client_.Show(line), "QUEUED") << line;
  }
  EXPECT_THAT(client_.Run("EXEC"), StartsWith("*3\r\n+OK\r\n"));
  EXPECT_EQ(replication_.wishes.size(), 1U);
}

// --- Waiters -------------------------------------------------------------------------------------

TEST_F(ReplicaTest, AWaitEndsAtADemotionAndGivesBackItsTokens) {
  client_.Run("RL.ALLOW k 10/m COST 10");
  EXPECT_EQ(client_.Send("RL.WAIT k 10/m TIMEOUT 60000\r\nPING\r\n"), "");
  replication_.BecomeReplica();
  client_.EndWait(ClientSession::WaitEnd::kDemoted);
  EXPECT_EQ(client_.Receive(), "-UNBLOCKED this server is a replica now\r\n+PONG\r\n");
  replication_.BecomePrimary();
  EXPECT_EQ(client_.Show("RL.PEEK k 10/m"), "0 0 6000 60000 0");  // as before the wait
  client_.EndWait(ClientSession::WaitEnd::kDemoted);              // does nothing after it
  EXPECT_EQ(client_.Run("PING"), "+PONG\r\n");
}

// A paused client stays paused, unlike at the end of the server.
TEST_F(ReplicaTest, ADemotionEndsNoPause) {
  client_.Run("CLIENT PAUSE 1000 ALL");
  EXPECT_EQ(client_.Send("PING\r\n"), "");
  client_.EndWait(ClientSession::WaitEnd::kDemoted);
  EXPECT_EQ(client_.Receive(), "");
  client_.server().clock.Advance(std::chrono::seconds{1});
  EXPECT_EQ(client_.Receive(), "+PONG\r\n");
}

}  // namespace
}  // namespace weir
