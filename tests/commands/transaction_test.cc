// Goal: between MULTI and EXEC commands answer as they do alone, but all at once; a watched key
// counts as changed exactly if its buckets have changed. Method: two clients of a host, at one
// instant.
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"
#include "tests/support/transaction_fixture.h"

namespace weir {
namespace {

constexpr std::string_view kOkReply = "+OK\r\n";

class RlTransactionTest : public TransactionFixture<Client> {
 protected:
  Client other_{client_.host()};
};

TEST_F(RlTransactionTest, ExecRunsWhatWasQueuedInItsOrder) {
  Multi();
  Queue("RL.ALLOW k 2/h");
  Queue("RL.ALLOW k 2/h");
  Queue("RL.ALLOW k 2/h");
  Queue("PING x");
  EXPECT_EQ(other_.Run("RL.PEEK k 2/h COST 0"), Five("1 2 0 0 0")) << "nothing has run yet";
  EXPECT_EQ(Exec(), "*4\r\n" + Five("1 1 0 1800000 0") + Five("1 0 0 3600000 0") +
                        Five("0 0 1800000 3600000 0") + "$1\r\nx\r\n");
  EXPECT_EQ(Exec(), "-ERR EXEC without MULTI\r\n");
}

// A failure when queueing aborts the transaction; a failure when running is one element of the
// reply.
TEST_F(RlTransactionTest, ErrorsWhileQueueingAbort) {
  for (const char* bad : {"RL.FOO", "RL.ALLOW k", "RL.POLICY FOO", "RL.POLICY SET p"}) {
    Multi();
    Queue("RL.ALLOW k 1/h");
    EXPECT_THAT(client_.Run(bad), testing::StartsWith("-ERR ")) << bad;
    EXPECT_EQ(Exec(), "-EXECABORT Transaction discarded because of previous errors.\r\n") << bad;
    EXPECT_EQ(client_.Run("EXISTS k"), ":0\r\n");
  }
  Multi();
  Queue("RL.ALLOW k ill");
  Queue("RL.ALLOW k @nosuch");
  Queue("RL.ALLOW k 1/h");
  EXPECT_EQ(Exec(),
            "*3\r\n-ERR invalid limit 'ill': expected count/period, as in 10/s\r\n"
            "-ERR unknown policy 'nosuch': RL.POLICY SET makes one\r\n" +
                Five("1 0 0 3600000 0"));
}

TEST_F(RlTransactionTest, NothingHappensIfAWatchedKeyHasChanged) {
  EXPECT_EQ(client_.Run("WATCH k other"), kOkReply);
  other_.Run("RL.ALLOW k 10/h");
  Multi();
  Queue("RL.ALLOW k 10/h");
  EXPECT_EQ(Exec(), "*-1\r\n");
  EXPECT_EQ(client_.Run("RL.PEEK k 10/h COST 0"), Five("1 9 0 360000 0"));
  Multi();
  Queue("PING");
  EXPECT_EQ(Exec(), "*1\r\n+PONG\r\n") << "watched once";
  client_.Run("HELLO 3");
  client_.Run("WATCH k");
  other_.Run("DEL k");
  Multi();
  EXPECT_EQ(Exec(), "_\r\n");
}

TEST_F(RlTransactionTest, UnwatchDiscardExecAndResetForgetWatchedKeys) {
  for (const char* forget : {"UNWATCH", "MULTI\r\nDISCARD", "MULTI\r\nEXEC", "RESET"}) {
    EXPECT_EQ(client_.Run("WATCH k"), kOkReply);
    client_.Send(std::string(forget) + "\r\n");
    other_.Run("RL.ALLOW k 10/h");
    Multi();
    Queue("PING");
    EXPECT_EQ(Exec(), "*1\r\n+PONG\r\n") << forget;
  }
}

// Looks and denials change nothing.
TEST_F(RlTransactionTest, AWatchedKeyThatIsOnlyLookedAtHasNotChanged) {
  client_.Run("RL.ALLOW k 1/h");
  client_.Run("WATCH k");
  for (const char* line : {"RL.PEEK k 1/h", "RL.ALLOW k 1/h", "RL.ALLOW k 9/h COST 0",
                           "RL.INSPECT k", "RL.RESET k 9/h", "RL.REFUND k 9/h"}) {
    other_.Run(line);
  }
  Multi();
  Queue("PING");
  EXPECT_EQ(Exec(), "*1\r\n+PONG\r\n");
}

// A policy's change is in force with the next command.
TEST_F(RlTransactionTest, PoliciesChangeInItsMidst) {
  Multi();
  Queue("RL.POLICY SET p 5/h");
  Queue("RL.ALLOW a @p");
  Queue("RL.POLICY DEL p");
  Queue("RL.INSPECT a");
  EXPECT_EQ(Exec(), "*4\r\n+OK\r\n" + Five("1 4 0 720000 0") + "+OK\r\n*0\r\n");
}

TEST_F(RlTransactionTest, AWaitDoesNotWait) {
  Multi();
  Queue("RL.WAIT k 1/h TIMEOUT 60000");
  Queue("RL.WAIT k 1/h TIMEOUT 60000");
  Queue("RL.WAIT l 2/h AND k 1/h TIMEOUT 60000");
  Queue("EXISTS l");
  EXPECT_EQ(Exec(), "*4\r\n" + Five("1 0 0 3600000 0") + Five("0 0 3600000 3600000 0") +
                        Five("0 0 3600000 3600000 1") + ":0\r\n");
}

}  // namespace
}  // namespace weir
