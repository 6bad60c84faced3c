// Goal: a server that Sentinel watches takes hellos and promotions from those who may give them,
// and tells its state by PING. Method: conversations with a fake replication. Real Sentinels are in
// tests/e2e/replication/sentinel_test.py.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/conversation.h"
#include "tests/support/fake_replication.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Options WatchedOptions() {
  Options options = DefaultOptions();
  options.sentinel = "weir";
  return options;
}

class SentinelTest : public testing::Test {
 protected:
  TestServer server_{WatchedOptions()};
  FakeReplication replication_{server_.services};
  Conversation client_{server_};
};

TEST_F(SentinelTest, HellosAreTaken) {
  EXPECT_EQ(client_.Run("PUBLISH __sentinel__:hello text"), ":0\r\n");
  EXPECT_EQ(client_.Run("PUBLISH other text"), ":0\r\n");
  EXPECT_THAT(replication_.hellos, ElementsAre("text"));
}

TEST_F(SentinelTest, HellosOfUsersWhoMayNotChangeTheRoleSayNothing) {
  const TemporaryDirectory directory;
  const std::string users = directory.Write("users",
                                            "user default on nopass &* -@all +publish\n"
                                            "user sentinel on >s &* -@all +publish +slaveof\n");
  ASSERT_TRUE(server_.services.access.Configure("", users).ok());
  EXPECT_EQ(client_.Run("PUBLISH __sentinel__:hello a"), ":0\r\n");
  EXPECT_THAT(replication_.hellos, IsEmpty());
  client_.Run("AUTH sentinel s");
  EXPECT_EQ(client_.Run("PUBLISH __sentinel__:hello b"), ":0\r\n");
  EXPECT_THAT(replication_.hellos, ElementsAre("b"));
}

TEST_F(SentinelTest, OnlyASentinelsPromotionIsATakeover) {
  replication_.BecomeReplica();
  EXPECT_EQ(client_.Run("SLAVEOF NO ONE"), "+OK\r\n");
  EXPECT_EQ(replication_.promotions_by_sentinel, 0);
  EXPECT_EQ(replication_.wishes.size(), 1U);
  client_.Run("CLIENT SETNAME sentinel-0123abcd-cmd");
  for (const char* words : {"MULTI", "SLAVEOF NO ONE", "CONFIG REWRITE", "CLIENT KILL TYPE normal",
                            "CLIENT KILL TYPE pubsub"}) {
    EXPECT_THAT(client_.Run(words), Not(StartsWith("-"))) << words;
  }
  EXPECT_THAT(client_.Run("EXEC"), StartsWith("*4\r\n+OK\r\n"));
  EXPECT_EQ(replication_.promotions_by_sentinel, 1);
  EXPECT_EQ(replication_.wishes.size(), 1U);
}

TEST(SentinelOptionTest, WithoutTheOptionSentinelIsAnyClient) {
  Conversation client;
  FakeReplication replication(client.server().services);
  replication.BecomeReplica();
  client.Run("CLIENT SETNAME sentinel-0123abcd-cmd");
  client.Run("SLAVEOF NO ONE");
  client.Run("PUBLISH __sentinel__:hello text");
  EXPECT_EQ(replication.promotions_by_sentinel, 0);
  EXPECT_THAT(replication.hellos, IsEmpty());
}

TEST_F(SentinelTest, AtTheGateOnlyOperatorsAndSentinelsAreAnswered) {
  replication_.Gate();
  for (const char* words : {"PING", "RL.ALLOW k 1/s", "RL.PEEK k 1/s", "RL.INSPECT k", "DBSIZE"}) {
    EXPECT_THAT(client_.Run(words), StartsWith("-LOADING weir waits for Sentinel")) << words;
  }
  for (const char* words : {"INFO", "ROLE", "CLIENT ID", "CONFIG GET port", "SUBSCRIBE c",
                            "UNSUBSCRIBE c", "PUBLISH c m", "REPLICAOF NO ONE", "SCRIPT HELP"}) {
    EXPECT_THAT(client_.Run(words), Not(StartsWith("-"))) << words;
  }
}

TEST_F(SentinelTest, AServerAtTheGateThatHearsOfALaterTermIsDeposed) {
  replication_.Gate();
  replication_.Depose();
  EXPECT_THAT(client_.Run("PING"), StartsWith("-READONLY "));
  EXPECT_THAT(client_.Run("RL.ALLOW k 1/s"), StartsWith("-READONLY "));
}

TEST_F(SentinelTest, PingTellsSentinelToLookForAnotherPrimary) {
  replication_.Gate();
  replication_.RefusePing(PingRefusal::kRestarted);
  EXPECT_THAT(client_.Run("PING"), StartsWith("-RESTARTED "));
  EXPECT_THAT(client_.Run("RL.ALLOW k 1/s"), StartsWith("-LOADING "));
  replication_.BecomeReplica();
  replication_.RefusePing(PingRefusal::kHandedOver);
  EXPECT_EQ(client_.Run("PING"), "-HANDEDOVER to 10.0.0.1:7379\r\n");
  EXPECT_THAT(client_.Run("RL.ALLOW k 1/s"), StartsWith("-READONLY "));
  replication_.RefusePing(PingRefusal::kNone);
  EXPECT_EQ(client_.Run("PING"), "+PONG\r\n");
}

}  // namespace
}  // namespace weir
