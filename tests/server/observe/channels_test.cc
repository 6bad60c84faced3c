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
  absl::Status Subscribe(SubscriptionKind kind, std::string_view name,
                         Introducer user = kSoleIntroducer) {
    return subscriber_.Subscribe(kind, {{name}}, user).status();
  }
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
  ASSERT_TRUE(old.Subscribe(kChannel, "c").ok());
  ASSERT_TRUE(present.Subscribe(kPattern, "c*").ok());
  EXPECT_EQ(channels_.Publish("c", "hello"), 2U);
  EXPECT_EQ(old.Heard(), "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nhello\r\n");
  EXPECT_EQ(present.Heard(), ">4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$1\r\nc\r\n$5\r\nhello\r\n");
}

// Its session ends the subscriptions a moment later, on a thread of its own.
TEST_F(ChannelsTest, AKilledClientIsNoReceiver) {
  Client killed = NewClient();
  Client present = NewClient();
  ASSERT_TRUE(killed.Subscribe(kChannel, "c").ok());
  ASSERT_TRUE(present.Subscribe(kChannel, "c").ok());
  killed.record().killed = true;
  EXPECT_EQ(channels_.Publish("c", "hello"), 1U);
  EXPECT_EQ(killed.Heard(), "");
}

TEST_F(ChannelsTest, ShowsTheSubscriptionsOfEachClientAndOfAll) {
  {
    Client client = NewClient();
    EXPECT_FALSE(client.record().is_subscribed());
    ASSERT_TRUE(client.Subscribe(kChannel, "b").ok());
    ASSERT_TRUE(client.Subscribe(kChannel, "a").ok());
    ASSERT_TRUE(client.Subscribe(kChannel, "a").ok());
    ASSERT_TRUE(client.Subscribe(kPattern, "?").ok());
    EXPECT_EQ(client->size(), 3U);
    EXPECT_GT(client->held_bytes(), 3U);
    EXPECT_EQ(client.record().channels, 2U);
    EXPECT_EQ(client.record().patterns, 1U);
    EXPECT_THAT(*channels_.Matching("*"), testing::ElementsAre("a", "b"));
    EXPECT_THAT(*channels_.Matching("B"), testing::ElementsAre());
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
  ASSERT_TRUE(client.Subscribe(kChannel, "weir:denied").ok());
  ASSERT_TRUE(client.Subscribe(kPattern, "weir:*").ok());
  EXPECT_TRUE(channels_.IsHeard(kDenied));
  EXPECT_TRUE(channels_.IsHeard(kUsed));
  client->Unsubscribe(kPattern, "weir:*");
  EXPECT_TRUE(channels_.IsHeard(kDenied));
  EXPECT_FALSE(channels_.IsHeard(kUsed));
  client->Unsubscribe(kChannel, "weir:denied");
  EXPECT_FALSE(channels_.IsHeard(kDenied));
}

TEST_F(ChannelsTest, AnOwnMessageReachesEachSubscriptionThatHearsItOnce) {
  Client direct = NewClient();
  Client by_patterns = NewClient();
  ASSERT_TRUE(direct.Subscribe(kChannel, "weir:used").ok());
  ASSERT_TRUE(by_patterns.Subscribe(kPattern, "weir:*").ok());
  ASSERT_TRUE(by_patterns.Subscribe(kPattern, "*used").ok());
  ASSERT_TRUE(by_patterns.Subscribe(kPattern, "*denied").ok());
  EXPECT_EQ(channels_.PublishOwn(1, "m").receivers, 3U);
  EXPECT_EQ(direct.Heard(), "*3\r\n$7\r\nmessage\r\n$9\r\nweir:used\r\n$1\r\nm\r\n");
  EXPECT_THAT(by_patterns.Heard(), testing::Not(testing::HasSubstr("denied")));
  by_patterns->Unsubscribe(kPattern, "*used");
  EXPECT_EQ(channels_.PublishOwn(1, "m").receivers, 2U);
}

TEST_F(ChannelsTest, AFloodOfOwnMessagesClosesNoSubscriber) {
  Client slow = NewClient();
  Client fast = NewClient();
  Client by_pattern = NewClient();
  ASSERT_TRUE(slow.Subscribe(kChannel, "weir:denied").ok());
  ASSERT_TRUE(fast.Subscribe(kChannel, "weir:denied").ok());
  ASSERT_TRUE(by_pattern.Subscribe(kPattern, "weir:*").ok());
  constexpr std::size_t kMessages = 20'000;
  std::size_t dropped = 0;
  std::size_t heard = 0;
  for (std::size_t i = 0; i < kMessages; ++i) {
    dropped += channels_.PublishOwn(0, std::to_string(i)).dropped;
    heard += static_cast<std::size_t>(std::ranges::count(fast.Heard(), '*'));
  }
  EXPECT_FALSE(slow.record().killed);
  EXPECT_FALSE(by_pattern.record().killed);
  EXPECT_EQ(heard, kMessages) << "the fast one has all";
  const auto of_slow = static_cast<std::size_t>(std::ranges::count(slow.Heard(), '*'));
  const std::string patterns = by_pattern.Heard();  // "weir:*" in each message, too
  const auto of_pattern = static_cast<std::size_t>(std::ranges::count(patterns, '*')) / 2;
  EXPECT_GT(dropped, kMessages / 2);
  EXPECT_EQ(dropped, 2 * kMessages - of_slow - of_pattern);
  for (int i = 0; i < 20'000; ++i) channels_.Publish("weir:denied", std::string(100, 'x'));
  EXPECT_TRUE(slow.record().killed) << "a message of another client is not dropped";
}

// Returns one of the longest names. Names differ only in their last characters, so a match fails
// only at the end.
std::string Worst(std::size_t bytes, std::size_t i, std::string_view front) {
  std::string name(front);
  name.resize(bytes - 3, 'a');
  return name + std::to_string(100 + i);
}

TEST_F(ChannelsTest, NoSetOfPatternsTakesMoreStepsThanTheBound) {
  Client client = NewClient();
  std::size_t patterns = 0;
  while (client.Subscribe(kPattern, Worst(kGlobPatternBytesMax, patterns, "*")).ok()) ++patterns;
  EXPECT_EQ(patterns, kPatternsMax);
  const std::string channel(kChannelBytesMax, 'a');
  EXPECT_EQ(channels_.StepsToPublish(channel), kMatchStepsMax);
  EXPECT_EQ(channels_.Publish(channel, "m"), 0U);
  client->Unsubscribe(kPattern, Worst(kGlobPatternBytesMax, 7, "*"));
  EXPECT_LT(channels_.StepsToPublish(channel), kMatchStepsMax);
  EXPECT_TRUE(client.Subscribe(kPattern, "another").ok());
}

TEST_F(ChannelsTest, OneUserLeavesPatternsToTheOthers) {
  const Introducer app = IntroducerNamed("app");
  Client first = NewClient();
  Client second = NewClient();
  for (std::size_t i = 0; i < kPatternsOfUserMax; ++i) {
    Client& client = i % 2 == 0 ? first : second;
    ASSERT_TRUE(client.Subscribe(kPattern, std::to_string(i), app).ok());
  }
  EXPECT_EQ(first.Subscribe(kPattern, "one more", app).message(),
            "the clients of one user have at most 64 patterns");
  EXPECT_TRUE(first.Subscribe(kPattern, "1", app).ok()) << "the other client of the user has it";
  EXPECT_TRUE(second.Subscribe(kPattern, "one more", IntroducerNamed("other")).ok());
  EXPECT_FALSE(first.Subscribe(kPattern, "one more", app).ok()) << "though another user has it";
  second->Unsubscribe(kPattern, "1");
  EXPECT_FALSE(first.Subscribe(kPattern, "one more", app).ok()) << "the first client has it, too";
  second->Unsubscribe(kPattern, "3");
  EXPECT_TRUE(first.Subscribe(kPattern, "one more", app).ok());
}

TEST_F(ChannelsTest, TooManyPatternsAreNone) {
  Client client = NewClient();
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= kPatternsMax; ++i) names.push_back(std::to_string(i));
  const std::vector<std::string_view> words(names.begin(), names.end());
  EXPECT_EQ(client->Subscribe(kPattern, words).status().message(),
            "all clients together have at most 256 patterns");
  EXPECT_EQ(client->size(), 0U);
  EXPECT_EQ(channels_.Count(kPattern), 0U);
  const std::vector<std::string_view> twice(kPatternsMax + 1, "one");
  EXPECT_THAT(*client->Subscribe(kPattern, twice), testing::Each(1U));
}

TEST_F(ChannelsTest, NoSearchTakesMoreStepsThanTheBound) {
  const std::string pattern = Worst(kGlobPatternBytesMax, 0, "*");
  Client client = NewClient();
  std::size_t channels = 0;
  while (channels_.Matching(pattern).ok()) {
    ASSERT_TRUE(client.Subscribe(kChannel, Worst(kChannelBytesMax, channels++, "a")).ok());
    ASSERT_LE(channels, kMatchStepsMax / kStepsPerChannel);
  }
  EXPECT_GT(channels_.StepsToSearch(pattern), kMatchStepsMax);
  EXPECT_GT(channels, 200U);
  EXPECT_TRUE(channels_.Matching("a*").ok());
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
        ASSERT_TRUE(clients[who]->Subscribe(kind, name).ok());
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
    ASSERT_TRUE(client.Subscribe(kChannel, "c").ok());
    ASSERT_TRUE(client.Subscribe(kPattern, "*").ok());
    client.Heard();
  }
  publisher.join();
  EXPECT_EQ(channels_.Publish("c", "m"), 0U);
}

}  // namespace
}  // namespace weir
