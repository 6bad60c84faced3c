// Goal: a subscriber gets the messages that its user may have, in their place among its replies, as
// long as it is subscribed. Method: clients of a server without sockets. Replies and messages as
// Redis has them are compared in tests/e2e/differential_pubsub.py.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/observe/channels.h"
#include "tests/support/conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class PubSubTest : public testing::Test {
 protected:
  void LoadUsers(const std::string& lines) {
    const std::string users = directory_.Write("users", lines);
    ASSERT_TRUE(server_.services.access.Configure("", users).ok());
  }

  TestServer server_;
  TemporaryDirectory directory_;
  Conversation subscriber_{server_};
  Conversation publisher_{server_};
};

TEST_F(PubSubTest, AMessageComesWithoutBeingAskedFor) {
  subscriber_.Run("SUBSCRIBE c");
  EXPECT_FALSE(subscriber_.session().has_news());
  EXPECT_EQ(publisher_.Run("PUBLISH c m"), ":1\r\n");
  EXPECT_TRUE(subscriber_.session().has_news());
  EXPECT_EQ(subscriber_.Receive(), "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n");
  EXPECT_FALSE(subscriber_.session().has_news());
}

TEST_F(PubSubTest, AMessageToItsPublisherComesAfterTheReply) {
  subscriber_.Run("HELLO 3");
  subscriber_.Run("SUBSCRIBE c");
  const std::string message = ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n";
  EXPECT_EQ(subscriber_.Send("PUBLISH c m\r\nPING\r\n"), ":1\r\n" + message + "+PONG\r\n");
  subscriber_.Run("MULTI");
  subscriber_.Run("PUBLISH c m");
  subscriber_.Run("PING");
  EXPECT_EQ(subscriber_.Run("EXEC"), "*2\r\n:1\r\n+PONG\r\n");
  EXPECT_EQ(subscriber_.Receive(), message);
}

TEST_F(PubSubTest, AMessageOnItsWayComesBeforeTheEndOfItsSubscription) {
  subscriber_.Run("SUBSCRIBE c");
  publisher_.Run("PUBLISH c m");
  EXPECT_THAT(subscriber_.Run("UNSUBSCRIBE c"), StartsWith("*3\r\n$7\r\nmessage\r\n"));
  publisher_.Run("PUBLISH c m");
  EXPECT_EQ(subscriber_.Receive(), "");
}

TEST_F(PubSubTest, SubscriptionsAreNoPartOfATransaction) {
  subscriber_.Run("MULTI");
  EXPECT_EQ(subscriber_.Run("SUBSCRIBE c"), "-ERR Command not allowed inside a transaction\r\n");
  EXPECT_THAT(subscriber_.Run("EXEC"), StartsWith("-EXECABORT"));
}

TEST_F(PubSubTest, AUserHasTheChannelsOfItsRules) {
  LoadUsers(
      "user default on nopass ~* &* +@all\n"
      "user app on >a ~* &app:* &one +@pubsub\n");
  EXPECT_EQ(subscriber_.Run("AUTH app a"), "+OK\r\n");
  EXPECT_THAT(subscriber_.Run("SUBSCRIBE app:1 one"), HasSubstr("app:1"));
  const std::string denied =
      "-NOPERM this user has no permissions to access one of the channels used as arguments\r\n";
  EXPECT_EQ(subscriber_.Run("SUBSCRIBE app:1 two"), denied);
  EXPECT_EQ(subscriber_.Run("PSUBSCRIBE app:1*"), denied) << "only a rule itself may be a pattern";
  EXPECT_THAT(subscriber_.Run("PSUBSCRIBE app:*"), HasSubstr("app:*"));
  EXPECT_THAT(subscriber_.Run("UNSUBSCRIBE two"), HasSubstr("two"));
  EXPECT_EQ(publisher_.Run("AUTH app a"), "+OK\r\n");
  EXPECT_EQ(publisher_.Run("PUBLISH two m"), denied);
  EXPECT_EQ(publisher_.Run("PUBLISH one m"), ":1\r\n");
  EXPECT_EQ(server_.services.access_log.Latest(1).at(0).object, "two");
  Conversation other(server_);
  EXPECT_THAT(other.Run("ACL LOG 1"), HasSubstr("channel"));
  EXPECT_THAT(other.Run("ACL LIST"), HasSubstr(" ~* &app:* &one -@all +@pubsub"));
  EXPECT_THAT(other.Run("ACL DRYRUN app PUBLISH two m"),
              HasSubstr("This user has no permissions to access the 'two' channel"));
}

TEST_F(PubSubTest, AClientThatMayNoLongerHearAChannelIsClosed) {
  LoadUsers("user default on nopass ~* &* +@all\n");
  subscriber_.Run("SUBSCRIBE c");
  Conversation stays(server_);
  stays.Run("SUBSCRIBE d");
  LoadUsers("user default on nopass ~* &d +@all\n");
  publisher_.Run("PUBLISH d m");
  EXPECT_THAT(stays.Receive(), HasSubstr("message"));
  EXPECT_FALSE(stays.closed());
  server_.services.channels.Publish("c", "secret");
  EXPECT_EQ(subscriber_.Receive(), "");
  EXPECT_TRUE(subscriber_.closed());
}

TEST_F(PubSubTest, SubscriptionsCountAsTheClientsMemory) {
  const std::size_t before = subscriber_.session().held_bytes();
  subscriber_.Run("SUBSCRIBE " + std::string(kChannelBytesMax, 'c'));
  EXPECT_GE(subscriber_.session().held_bytes(), before + kChannelBytesMax);
  subscriber_.Run("UNSUBSCRIBE");
  EXPECT_EQ(subscriber_.session().held_bytes(), before);
}

// They would not fit into what may wait for a client that does not read.
TEST_F(PubSubTest, AllSubscriptionsAreConfirmedAtOnce) {
  constexpr int kMany = kChannelsOfClientMax;
  std::string requests;
  for (int i = 0; i < kMany; ++i) requests += "SUBSCRIBE channel:" + std::to_string(i) + "\r\n";
  subscriber_.Send(requests);
  const std::string confirmed = subscriber_.Run("UNSUBSCRIBE");
  EXPECT_EQ(std::ranges::count(confirmed, '*'), kMany);
  EXPECT_FALSE(subscriber_.closed());
}

TEST_F(PubSubTest, AMessageIsInTheProtocolOfItsPlace) {
  subscriber_.Run("HELLO 3");
  subscriber_.Run("SUBSCRIBE c");
  publisher_.Run("PUBLISH c m");
  const std::string replies = subscriber_.Run("HELLO 2");
  EXPECT_THAT(replies, StartsWith(">3\r\n$7\r\nmessage\r\n"));
  EXPECT_THAT(replies, HasSubstr("*14\r\n$6\r\nserver"));
  publisher_.Run("PUBLISH c m");
  EXPECT_THAT(subscriber_.Receive(), StartsWith("*3\r\n$7\r\nmessage"));
}

TEST_F(PubSubTest, NamesAreBounded) {
  const std::string name(kChannelBytesMax + 1, 'c');
  const std::string error = "-ERR a channel has at most 512 bytes\r\n";
  EXPECT_EQ(subscriber_.Run("SUBSCRIBE c " + name), error);
  EXPECT_EQ(subscriber_.Run("PUBLISH " + name + " m"), error);
  const std::string pattern(kGlobPatternBytesMax + 1, 'c');
  const std::string pattern_error = "-ERR a pattern has at most 64 bytes\r\n";
  EXPECT_EQ(subscriber_.Run("PSUBSCRIBE c " + pattern), pattern_error);
  EXPECT_EQ(subscriber_.Run("PUBSUB CHANNELS " + pattern), pattern_error);
  EXPECT_EQ(publisher_.Run("PUBLISH c m"), ":0\r\n") << "none of the names was subscribed to";
}

TEST_F(PubSubTest, PatternsAreBoundedForEachUser) {
  LoadUsers(
      "user default on nopass ~* &* +@all\n"
      "user app on >a ~* &* +@pubsub\n");
  subscriber_.Run("AUTH app a");
  for (std::size_t i = 0; i < kPatternsOfUserMax; ++i) {
    ASSERT_THAT(subscriber_.Run("PSUBSCRIBE p" + std::to_string(i)), StartsWith("*3"));
  }
  EXPECT_EQ(subscriber_.Run("PSUBSCRIBE a b"),
            "-ERR the clients of one user have at most 64 patterns\r\n");
  EXPECT_THAT(publisher_.Run("PSUBSCRIBE a b"), StartsWith("*3"));
}

// They end in one go, so their number bounds the time for which other clients wait.
TEST_F(PubSubTest, AClientHasABoundedNumberOfChannels) {
  for (std::size_t i = 1; i < kChannelsOfClientMax; ++i) {
    EXPECT_THAT(subscriber_.Run("SUBSCRIBE c" + std::to_string(i)), StartsWith("*3"));
  }
  const std::string error = "-ERR a client has at most 4096 channels\r\n";
  EXPECT_EQ(subscriber_.Run("SUBSCRIBE a b"), error);
  EXPECT_EQ(publisher_.Run("PUBSUB NUMSUB a"), "*2\r\n$1\r\na\r\n:0\r\n");
  EXPECT_THAT(subscriber_.Run("SUBSCRIBE a c1 a c2"), StartsWith("*3"));  // one is new
  EXPECT_EQ(subscriber_.Run("SUBSCRIBE b"), error);
  EXPECT_THAT(subscriber_.Run("SUBSCRIBE a"), StartsWith("*3"));
  EXPECT_THAT(subscriber_.Run("UNSUBSCRIBE a"), StartsWith("*3"));
  EXPECT_THAT(subscriber_.Run("SUBSCRIBE b"), StartsWith("*3"));
}

class WorstPatternsTest : public PubSubTest {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < kPatternsMax; ++i) {
      std::string pattern = "*" + std::string(kGlobPatternBytesMax - 4, 'a');
      ASSERT_THAT(subscriber_.Run("PSUBSCRIBE " + pattern + std::to_string(100 + i)),
                  StartsWith("*3"));
    }
  }
  int TurnsOf(const std::string& requests) {
    const int before = publisher_.turns();
    publisher_.Send(requests);
    return publisher_.turns() - before;
  }

  const std::string channel_ = std::string(kChannelBytesMax, 'a');
};

TEST_F(WorstPatternsTest, APublisherPaysForThePatternsOfAll) {
  EXPECT_EQ(TurnsOf("PUBLISH " + channel_ + " m\r\nPING\r\n"),
            TurnsOf("PUBLISH short m\r\nPING\r\n") + 1);
}

TEST_F(WorstPatternsTest, AFirstDenialPaysForNone) {
  Conversation listener(server_);
  listener.Run("SUBSCRIBE weir:denied");
  EXPECT_EQ(TurnsOf("RL.ALLOW " + channel_ + " none\r\nPING\r\n"), TurnsOf("PING\r\nPING\r\n"));
  EXPECT_THAT(listener.Receive(), HasSubstr("none -1 aaa"));
}

TEST_F(WorstPatternsTest, ATransactionMatchesAsMuchAsACommand) {
  publisher_.Run("MULTI");
  for (int i = 0; i < 10; ++i) publisher_.Run("PUBLISH " + channel_ + " m");
  publisher_.Run("PUBLISH s m");
  const std::string replies = publisher_.Run("EXEC");
  EXPECT_THAT(replies, StartsWith("*11\r\n:0\r\n-ERR the transaction compares too many patterns"));
  EXPECT_THAT(replies, testing::EndsWith("\r\n:0\r\n"));
}

TEST_F(PubSubTest, TooManyChannelsAreNotListed) {
  constexpr std::size_t kMost = kMatchStepsMax / kStepsPerChannel;
  Conversation second(server_);
  for (std::size_t i = 0; i < kMost; ++i) {
    (i < kMost / 2 ? subscriber_ : second).Run("SUBSCRIBE " + std::to_string(i));
  }
  EXPECT_EQ(publisher_.Run("PUBSUB CHANNELS"),
            "-ERR there are too many channels to search (8192): PUBSUB NUMSUB takes the name of "
            "one\r\n");
  subscriber_.Run("UNSUBSCRIBE");
  second.Run("UNSUBSCRIBE");
  EXPECT_EQ(publisher_.Run("PUBSUB CHANNELS"), "*0\r\n");
}

TEST_F(PubSubTest, ServesWhileTheStateIsLoaded) {
  for (const char* name : {"SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "PUBLISH"}) {
    EXPECT_THAT(publisher_.Run(std::string("COMMAND INFO ") + name), HasSubstr("+loading")) << name;
  }
}

TEST_F(PubSubTest, InfoCountsChannelsAndPatterns) {
  subscriber_.Run("SUBSCRIBE c d");
  subscriber_.Run("PSUBSCRIBE p*");
  EXPECT_THAT(publisher_.Run("INFO stats"),
              HasSubstr("pubsub_channels:2\r\npubsub_patterns:1\r\n"));
  EXPECT_THAT(publisher_.Run("INFO clients"), HasSubstr("pubsub_clients:1\r\n"));
}

}  // namespace
}  // namespace weir
