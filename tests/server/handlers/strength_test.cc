// Goal: a primary without the replicas that it must have admits nothing and charges nothing, and
// answers all else as ever; replies to changes wait for the replicas that must have them, and WAIT
// counts those. Method: conversations with a fake replication.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/conversation.h"
#include "tests/support/fake_replication.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kNoReplicas = "-NOREPLICAS Not enough good replicas to write.\r\n";

class StrengthTest : public testing::Test {
 protected:
  FakeClock& clock() { return client_.server().clock; }

  Conversation client_;
  FakeReplication replication_{client_.server().services};
};

TEST_F(StrengthTest, WithoutALeaseNothingIsAdmittedAndNothingCharged) {
  client_.Run("RL.POLICY SET p 10/s");
  client_.Run("RL.ALLOW k 10/h COST 4");
  client_.Run("RL.RESERVE k 10/h HOLD a TTL 60000 COST 1");
  const std::string before = client_.Show("RL.PEEK k 10/h");
  replication_.AdmitUntil(clock().Now());
  for (const char* change :
       {"RL.ALLOW k 10/h", "RL.TAKE k 10/h UPTO 3", "RL.CHARGE k 10/h", "RL.REFUND k 10/h",
        "RL.WAIT k 10/h TIMEOUT 0", "RL.WAIT k 10/h COST 6 TIMEOUT 60000", "RL.RESET k",
        "RL.RESERVE k 10/h HOLD b TTL 1000", "RL.COMMIT k HOLD a", "RL.CANCEL k HOLD a",
        "RL.ALLOW k none OR k 10/h", "RL.RESERVE k none OR k 10/h HOLD b TTL 1000",
        "RL.SLICE k 10/h NEED 1 UNIT 1 UPTO 1 HOLD c TTL 1000", "CL.THROTTLE new 1 2 3",
        "RL.THROTTLE new 1 2 3", "RL.POLICY SET p 5/s", "RL.POLICY OVERRIDE p k 1/s", "DEL k",
        "FLUSHALL"}) {
    EXPECT_EQ(client_.Run(change), kNoReplicas) << change;
  }
  EXPECT_EQ(client_.Show("RL.PEEK k 10/h"), before);
  EXPECT_EQ(client_.Show("RL.POLICY LIST"), "[\"p\"]");
  replication_.AdmitUntil(kInstantMax);
  EXPECT_EQ(client_.Show("RL.ALLOW k 10/h"), before);
}

TEST_F(StrengthTest, DenialsAndLooksAreAnswered) {
  client_.Run("RL.ALLOW k 10/h COST 10");
  replication_.AdmitUntil(Instant{});
  for (const char* asked :
       {"RL.ALLOW k 10/h", "RL.WAIT k 10/h TIMEOUT 0", "RL.PEEK k 10/h",
        "RL.RESERVE k 10/h HOLD a TTL 1000", "RL.TAKE k 10/h UPTO 3", "RL.ALLOW k 10/h OR k none",
        "RL.PEEK k 10/h OR l 10/h", "RL.INSPECT k", "EXISTS k", "PING", "ROLE"}) {
    EXPECT_THAT(client_.Run(asked), Not(HasSubstr("NOREPLICAS"))) << asked;
  }
  EXPECT_EQ(client_.Show("RL.ALLOW k 10/h"), "0 0 360000 3600000 0");
}

TEST_F(StrengthTest, ALeaseEndsAtItsTime) {
  replication_.AdmitUntil(clock().Now() + milliseconds{2});
  EXPECT_EQ(client_.Show("RL.ALLOW k 10/h"), "1 9 0 360000 0");
  clock().Advance(milliseconds{2} - Nanos{1});
  EXPECT_EQ(client_.Show("RL.ALLOW k 10/h")[0], '1');
  clock().Advance(Nanos{1});
  EXPECT_EQ(client_.Run("RL.ALLOW k 10/h"), kNoReplicas);
}

// The execution time of a turn is that of its beginning, and the lease may end in the middle.
TEST_F(StrengthTest, AWaitIsNotServedWithoutALease) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  replication_.AdmitUntil(clock().Now() + milliseconds{50});
  EXPECT_EQ(client_.Send("RL.WAIT k 10/s TIMEOUT 1000\r\n"), "");
  clock().Advance(milliseconds{100});
  EXPECT_EQ(client_.Receive(), kNoReplicas);
  replication_.AdmitUntil(kInstantMax);
  EXPECT_EQ(client_.Show("RL.ALLOW k 10/s")[0], '1') << "its token is back";
}

TEST_F(StrengthTest, APausedRequestIsAskedAgain) {
  replication_.AdmitUntil(clock().Now() + milliseconds{50});
  client_.Run("CLIENT PAUSE 100 WRITE");
  EXPECT_EQ(client_.Send("RL.ALLOW k 10/s\r\n"), "");
  clock().Advance(milliseconds{100});
  client_.WakeUp();
  EXPECT_EQ(client_.Receive(), kNoReplicas);
}

TEST_F(StrengthTest, AnExecRefusesOneByOne) {
  replication_.AdmitUntil(Instant{});
  client_.Run("MULTI");
  client_.Run("RL.ALLOW k 10/h");
  client_.Run("RL.PEEK k 10/h");
  const std::string reply = client_.Run("EXEC");
  EXPECT_THAT(reply, HasSubstr("NOREPLICAS"));
  EXPECT_THAT(reply, HasSubstr("*5\r\n:1\r\n:9\r\n:0\r\n")) << "the look, of a full bucket";
}

// --- ack-replicas and WAIT -----------------------------------------------------------------------

class AcksTest : public StrengthTest {
 protected:
  AcksTest() { replication_.AdmitUntil(clock().Now() + std::chrono::hours{1}); }

  // The number of replicas that the replies to a line must wait for.
  std::size_t AcksOf(const char* line) {
    client_.Run(line);
    return client_.turn().awaited.acks;
  }
  void Tick(std::uint64_t offset) {
    replication_.acks().BeginTick();
    replication_.acks().EndTick(offset);
  }
  void Judge(std::vector<std::uint64_t> acked) { replication_.acks().Judge(acked); }
};

TEST_F(AcksTest, ChangesWaitAndAllElseDoesNot) {
  EXPECT_EQ(AcksOf("RL.ALLOW k 10/h"), 0U) << "by default";
  client_.Run("CONFIG SET ack-replicas 2");
  for (const char* change :
       {"RL.ALLOW k 10/h", "RL.TAKE k 10/h UPTO 3", "RL.CHARGE k 10/h", "RL.REFUND k 10/h",
        "RL.RESERVE k 10/h HOLD a TTL 1000", "RL.COMMIT k HOLD a", "RL.WAIT k 10/h TIMEOUT 0",
        "RL.RESET k", "RL.THROTTLE t 1 2 3", "RL.POLICY SET p 5/s", "RL.POLICY DEL p", "DEL k",
        "FLUSHALL"}) {
    EXPECT_EQ(AcksOf(change), 2U) << change;
  }
  client_.Run("RL.ALLOW k 10/h COST 10");
  for (const char* other : {"RL.ALLOW k 10/h", "RL.PEEK k 10/h", "RL.WAIT k 10/h TIMEOUT 1",
                            "RL.INSPECT k", "PING", "RL.ALLOW", "CONFIG GET ack-replicas"}) {
    EXPECT_EQ(AcksOf(other), 0U) << other;
  }
  replication_.BecomeReplica();
  EXPECT_EQ(AcksOf("RL.ALLOW k 10/h"), 0U);
}

TEST_F(AcksTest, WaitCountsTheReplicasThatHaveTheLastChange) {
  EXPECT_EQ(client_.Run("WAIT 1 0"), "") << "it has no replica";
  Judge({0});
  client_.WakeUp();
  EXPECT_EQ(client_.Receive(), ":1\r\n") << "nothing was changed: each replica has all";
  client_.Run("RL.ALLOW k 10/h");
  EXPECT_EQ(client_.Run("WAIT 2 50"), "");
  Tick(100);
  Judge({100, 99});
  clock().Jump(-std::chrono::hours{1});  // of no meaning for a timeout
  clock().Advance(milliseconds{49});
  EXPECT_EQ(client_.Receive(), "");
  clock().Advance(milliseconds{1});
  EXPECT_EQ(client_.Receive(), ":1\r\n") << "after the timeout";
  Judge({100, 100, 99});
  EXPECT_EQ(client_.Run("WAIT 2 0"), ":2\r\n") << "of the same change, at once";
  EXPECT_EQ(client_.Run("WAIT 0 0"), ":2\r\n");
  EXPECT_EQ(client_.Run("WAIT -1 10"), ":2\r\n");
}

TEST_F(AcksTest, WaitDoesNotWaitInATransaction) {
  client_.Run("RL.ALLOW k 10/h");
  client_.Run("MULTI");
  client_.Run("WAIT 1 0");
  EXPECT_EQ(client_.Run("EXEC"), "*1\r\n:0\r\n");
}

TEST_F(AcksTest, AWaitEndsByUnblockOrWithThePrimary) {
  client_.Run("RL.ALLOW k 10/h");
  EXPECT_EQ(client_.Run("WAIT 1 0"), "");
  EXPECT_EQ(client_.server().services.waiters.load(), 1U);
  Conversation other(client_.server());
  EXPECT_EQ(other.Run(absl::StrCat("CLIENT UNBLOCK ", client_.record().id)), ":1\r\n");
  client_.WakeUp();
  EXPECT_EQ(client_.Receive(), ":0\r\n");
  EXPECT_EQ(client_.Run("WAIT 1 0"), "");
  client_.EndWait(ClientSession::WaitEnd::kDemoted);
  EXPECT_EQ(client_.Receive(), "-UNBLOCKED this server is a replica now\r\n");
  EXPECT_EQ(client_.server().services.waiters.load(), 0U);
}

// The texts are those of Redis 7.0.15.
TEST_F(AcksTest, WaitRefusesMistakes) {
  constexpr std::string_view kNumber = "-ERR value is not an integer or out of range\r\n";
  constexpr std::string_view kTimeout = "-ERR timeout is not an integer or out of range\r\n";
  EXPECT_EQ(client_.Run("WAIT"), "-ERR wrong number of arguments for 'wait' command\r\n");
  EXPECT_EQ(client_.Run("WAIT a 1"), kNumber);
  EXPECT_EQ(client_.Run("WAIT 99999999999999999999 1"), kNumber);
  EXPECT_EQ(client_.Run("WAIT 1 a"), kTimeout);
  EXPECT_EQ(client_.Run("WAIT 1 1.5"), kTimeout);
  EXPECT_EQ(client_.Run("WAIT 1 -1"), "-ERR timeout is negative\r\n");
  EXPECT_EQ(client_.Run("WAIT 1 9223372036854775807"), "");
  client_.EndWait();
  EXPECT_THAT(client_.Receive(), HasSubstr("UNBLOCKED"));
  replication_.BecomeReplica();
  EXPECT_THAT(client_.Run("WAIT 0 0"), HasSubstr("-ERR WAIT cannot be used on a replica"));
}

TEST_F(AcksTest, InfoShowsThem) {
  EXPECT_THAT(client_.Run("INFO replication"), Not(HasSubstr("acks_waiting")));
  client_.Run("CONFIG SET ack-replicas 1");
  EXPECT_THAT(client_.Run("INFO replication"),
              HasSubstr("\r\nack_replicas:1\r\nacks_waiting:0\r\n"));
}

TEST_F(StrengthTest, InfoShowsTheLease) {
  EXPECT_THAT(client_.Run("INFO replication"), Not(HasSubstr("lease_ms")));
  client_.Run("CONFIG SET min-replicas-to-write 1");
  replication_.shown.good_replicas = 2;
  replication_.AdmitUntil(clock().Now() + seconds{1});
  EXPECT_THAT(client_.Run("INFO replication"), HasSubstr("\r\nmin_slaves_good_slaves:2\r\n"));
  EXPECT_THAT(client_.Run("INFO replication"), HasSubstr("\r\nlease_ms:1000\r\n"));
  clock().Advance(seconds{2});
  EXPECT_THAT(client_.Run("INFO replication"), HasSubstr("\r\nlease_ms:0\r\n"));
}

}  // namespace
}  // namespace weir
