// Goal: a message reaches each subscriber of its channel and of each pattern that matches, once for
// each subscription, and no other client. Method: subscribers without a session; random
// subscriptions are compared with a plain list of them; threads for TSan.
#include "server/observe/channels.h"

#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/access/glob.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using enum SubscriptionKind;

// A client that hears.
class Client {
 public:
  Client(Outboxes& all, Channels& channels)
      : record_(std::make_shared<ClientRecord>(
            ClientArrival{1, "127.0.0.1:1", "own", 7, HostInstant{}, Face::kResp})),
        outbox_(all, record_),
        subscriber_(channels, outbox_) {}

  Subscriber* operator->() { return &subscriber_; }
  ClientRecord& record() { return *record_; }
  std::string Heard() {
    std::string heard = outbox_.Take();
    outbox_.OnSent();
    return heard;
  }

 private:
  std::shared_ptr<ClientRecord> record_;
  Outbox outbox_;
  Subscriber subscriber_;
};

class ChannelsTest : public testing::Test {
 protected:
  Client NewClient() { return {all_, channels_}; }

  FakeClock clock_;
  Outboxes all_{clock_};
  Channels channels_{{"weir:denied", "weir:used"}};
};

TEST_F(ChannelsTest, AMessageIsInTheProtocolOfEachClient) {
  Client old = NewClient();
  Client present = NewClient();
  present.record().protocol = 3;
  old->Subscribe(kChannel, "c");
  present->Subscribe(kPattern, "c*");
  EXPECT_EQ(channels_.Publish("c", "hello"), 2U);
  EXPECT_EQ(old.Heard(), "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nhello\r\n");
  EXPECT_EQ(present.Heard(), ">4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$1\r\nc\r\n$5\r\nhello\r\n");
}

// Its session ends the subscriptions a moment later, on a thread of its own.
TEST_F(ChannelsTest, AKilledClientIsNoReceiver) {
  Client killed = NewClient();
  Client present = NewClient();
  killed->Subscribe(kChannel, "c");
  present->Subscribe(kChannel, "c");
  killed.record().killed = true;
  EXPECT_EQ(channels_.Publish("c", "hello"), 1U);
  EXPECT_EQ(killed.Heard(), "");
}

TEST_F(ChannelsTest, ShowsTheSubscriptionsOfEachClientAndOfAll) {
  {
    Client client = NewClient();
    EXPECT_FALSE(client.record().is_subscribed());
    client->Subscribe(kChannel, "b");
    client->Subscribe(kChannel, "a");
    client->Subscribe(kChannel, "a");
    client->Subscribe(kPattern, "?");
    EXPECT_EQ(client->size(), 3U);
    EXPECT_GT(client->held_bytes(), 3U);
    EXPECT_EQ(client.record().channels, 2U);
    EXPECT_EQ(client.record().patterns, 1U);
    EXPECT_THAT(channels_.Matching("*"), testing::ElementsAre("a", "b"));
    EXPECT_THAT(channels_.Matching("B"), testing::ElementsAre());
    EXPECT_EQ(channels_.SubscribersOf("a"), 1U);
    EXPECT_EQ(channels_.SubscribersOf("c"), 0U) << "the pattern does not count";
    EXPECT_EQ(channels_.Count(kPattern), 1U);
    client->Unsubscribe(kChannel, "a");
    client->Unsubscribe(kChannel, "a");
    client->Unsubscribe(kPattern, "unknown");
    EXPECT_EQ(client->size(), 2U);
    EXPECT_EQ(channels_.SubscribersOf("a"), 0U);
  }
  EXPECT_EQ(channels_.Count(kChannel), 0U) << "a client that has gone is subscribed to nothing";
  EXPECT_EQ(channels_.Count(kPattern), 0U);
}

TEST_F(ChannelsTest, KnowsWhichOfTheServersChannelsAreHeard) {
  constexpr std::size_t kDenied = 0;
  constexpr std::size_t kUsed = 1;
  EXPECT_FALSE(channels_.IsHeard(kDenied));
  Client client = NewClient();
  client->Subscribe(kChannel, "weir:denied");
  client->Subscribe(kPattern, "weir:*");
  EXPECT_TRUE(channels_.IsHeard(kDenied));
  EXPECT_TRUE(channels_.IsHeard(kUsed));
  client->Unsubscribe(kPattern, "weir:*");
  EXPECT_TRUE(channels_.IsHeard(kDenied));
  EXPECT_FALSE(channels_.IsHeard(kUsed));
  client->Unsubscribe(kChannel, "weir:denied");
  EXPECT_FALSE(channels_.IsHeard(kDenied));
}

TEST_F(ChannelsTest, EachSubscriptionGetsEachMessageOnce) {
  const std::vector<std::string> channels = {"a", "b", "ab", "B", ""};
  const std::vector<std::string> patterns = {"a", "?", "*b", "[ab]*", "\\?"};
  std::mt19937 random(7);
  const auto below = [&random](std::size_t bound) { return random() % bound; };
  for (int run = 0; run < Scaled(200); ++run) {
    std::vector<std::unique_ptr<Client>> clients;
    std::vector<std::set<std::pair<SubscriptionKind, std::string>>> expected(3);
    for (int i = 0; i < 3; ++i) clients.push_back(std::make_unique<Client>(all_, channels_));
    for (int step = 0; step < 30; ++step) {
      const std::size_t who = below(clients.size());
      const SubscriptionKind kind = below(2) == 0 ? kChannel : kPattern;
      const std::string& name = (kind == kChannel ? channels : patterns)[below(5)];
      if (below(3) == 0) {
        (*clients[who])->Unsubscribe(kind, name);
        expected[who].erase({kind, name});
      } else {
        (*clients[who])->Subscribe(kind, name);
        expected[who].emplace(kind, name);
      }
      const std::string& channel = channels[below(5)];
      std::size_t receivers = 0;
      std::vector<std::size_t> of_client(clients.size());
      for (std::size_t i = 0; i < clients.size(); ++i) {
        for (const auto& [of, named] : expected[i]) {
          of_client[i] += of == kChannel ? named == channel : MatchesChannel(named, channel);
        }
        receivers += of_client[i];
      }
      ASSERT_EQ(channels_.Publish(channel, "m"), receivers);
      for (std::size_t i = 0; i < clients.size(); ++i) {
        const std::string heard = clients[i]->Heard();
        ASSERT_EQ(std::ranges::count(heard, '*') > 0, of_client[i] > 0);
        std::size_t messages = 0;
        for (std::size_t at = heard.find("message"); at != std::string::npos;
             at = heard.find("message", at + 1)) {
          ++messages;
        }
        ASSERT_EQ(messages, of_client[i]) << heard;
      }
    }
  }
}

TEST_F(ChannelsTest, SubscribersComeAndGoWhileOthersPublish) {
  std::thread publisher([this] {
    for (int i = 0; i < 2000; ++i) channels_.Publish("c", "m");
  });
  for (int i = 0; i < 200; ++i) {
    Client client = NewClient();
    client->Subscribe(kChannel, "c");
    client->Subscribe(kPattern, "*");
    client.Heard();
  }
  publisher.join();
  EXPECT_EQ(channels_.Publish("c", "m"), 0U);
}

}  // namespace
}  // namespace weir
