// Goal: a subscriber of the server's own channels hears of each key that is denied, once an
// interval, and of each window that fills up; no event is collected while no client may hear it.
// Method: clients of a server without sockets, whose clock is stopped.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/commands/percents.h"
#include "tests/random/property.h"
#include "tests/support/conversation.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class EventsTest : public testing::Test {
 protected:
  void SetUp() override { subscriber_.Run("SUBSCRIBE weir:denied weir:used"); }

  // The messages since the last call, each with the name of its channel behind "weir:".
  std::vector<std::string> Heard() {
    std::vector<std::string> heard;
    const auto messages = ReadRespValues(subscriber_.Receive());
    if (!messages) return {"not RESP"};
    for (const RespValue& message : *messages) {
      EXPECT_EQ(message.elements.at(0).text, "message");
      heard.push_back(message.elements.at(1).text.substr(5) + " " + message.elements.at(2).text);
    }
    return heard;
  }
  void RunTimes(int times, const std::string& line) {
    for (int i = 0; i < times; ++i) client_.Run(line);
  }

  const std::unique_ptr<TestServer> server_ = TestServer::WithExplicitTime();
  Conversation subscriber_{*server_};
  Conversation client_{*server_};
};

TEST_F(EventsTest, ADenialIsToldOnceAnInterval) {
  RunTimes(3, "RL.ALLOW \"a b\" 1/h");
  EXPECT_THAT(Heard(), ElementsAre("denied 1/h 3600000 a b"));
  server_->clock.Advance(seconds{60} - milliseconds{1});
  client_.Run("RL.ALLOW \"a b\" 1/h");
  EXPECT_THAT(Heard(), IsEmpty());
  server_->clock.Advance(milliseconds{1});
  RunTimes(2, "RL.ALLOW \"a b\" 1/h");
  EXPECT_THAT(Heard(), ElementsAre("denied 1/h 3540000 a b"));
}

TEST_F(EventsTest, EachKeyAndEachLimitIsToldByItself) {
  RunTimes(2, "RL.ALLOW a 1/h 1/m");
  EXPECT_THAT(Heard(), ElementsAre("denied 1/h 3600000 a", "denied 1/m 60000 a"));
  RunTimes(2, "RL.ALLOW b 1/h AND c 5/h");
  EXPECT_THAT(Heard(), ElementsAre("denied 1/h 3600000 b"));
  client_.Run("RL.ALLOW d none");
  EXPECT_THAT(Heard(), ElementsAre("denied none -1 d"));
}

TEST_F(EventsTest, ALimitHasItsNameOfTheStatistics) {
  client_.Run("RL.POLICY SET free 2/h 1/d,fixed,name=daily");
  RunTimes(2, "RL.ALLOW a @free");
  RunTimes(2, "RL.ALLOW b 1/h,name=hourly");
  EXPECT_THAT(Heard(), ElementsAre("used 100 @free#1 86400000 a", "denied @free#1 86400000 a",
                                   "denied hourly 3600000 b"));
}

TEST_F(EventsTest, TheIntervalIsOfTheWallAndLive) {
  EXPECT_EQ(client_.Run("CONFIG SET notify-interval 1s"), "+OK\r\n");
  RunTimes(2, "RL.ALLOW a 1/h AT 1000000000000000000");
  EXPECT_THAT(Heard(), testing::SizeIs(1));
  client_.Run("RL.ALLOW a 1/h AT 1000000002000000000");
  EXPECT_THAT(Heard(), IsEmpty());
  server_->clock.Advance(seconds{1});
  client_.Run("RL.ALLOW a 1/h AT 1000000002000000000");
  EXPECT_THAT(Heard(), ElementsAre("denied 1/h 3598000 a"));
  EXPECT_EQ(client_.Run("CONFIG SET notify-interval 0"), "+OK\r\n");
  RunTimes(2, "RL.ALLOW a 1/h AT 1000000002000000000");
  EXPECT_THAT(Heard(), testing::SizeIs(2));
}

TEST_F(EventsTest, AWindowIsToldWhenItFillsUp) {
  RunTimes(7, "RL.ALLOW a 10/h,fixed");
  EXPECT_THAT(Heard(), IsEmpty());
  RunTimes(3, "RL.ALLOW a 10/h,fixed");
  EXPECT_THAT(Heard(), ElementsAre("used 80 10/h,fixed 3600000 a", "used 100 10/h,fixed 3600000 a"))
      << "the tenth crosses 95 %, too, but the greatest is the event";
  client_.Run("RL.REFUND a 10/h,fixed COST 3");
  client_.Run("RL.ALLOW a 10/h,fixed COST 1");
  EXPECT_THAT(Heard(), ElementsAre("used 80 10/h,fixed 3600000 a"));
}

TEST_F(EventsTest, ThePercentagesAreLive) {
  EXPECT_EQ(client_.Run("CONFIG SET notify-at 50"), "+OK\r\n");
  RunTimes(10, "RL.ALLOW a 10/h,fixed");
  EXPECT_THAT(Heard(), ElementsAre("used 50 10/h,fixed 3600000 a"));
  EXPECT_EQ(client_.Run("CONFIG SET notify-at \"\""), "+OK\r\n");
  RunTimes(10, "RL.ALLOW b 10/h,fixed");
  EXPECT_THAT(Heard(), IsEmpty());
}

TEST_F(EventsTest, ATokenBucketIsNotToldToFillUp) {
  RunTimes(10, "RL.ALLOW a 10/h");
  EXPECT_THAT(Heard(), IsEmpty());
}

TEST_F(EventsTest, EveryCommandThatTakesTokensIsHeard) {
  client_.Run("RL.TAKE take 10/h,fixed,cost=3 UPTO 9");
  client_.Run("RL.TAKE take 10/h,fixed,cost=3 UPTO 9");
  EXPECT_THAT(Heard(),
              ElementsAre("used 80 10/h,fixed 3600000 take", "denied 10/h,fixed 3600000 take"));
  client_.Run("RL.RESERVE hold 1,held HOLD 1 TTL 5000");
  client_.Run("RL.RESERVE hold 1,held HOLD 1 TTL 5000");
  client_.Run("RL.RESERVE hold 1,held HOLD 2 TTL 5000");
  EXPECT_THAT(Heard(), ElementsAre(testing::MatchesRegex("used 100 1,held [0-9]+ hold"),
                                   "denied 1,held 5000 hold"));
  client_.Run("RL.TAKE hold2 10,held UPTO 20 HOLD 1 TTL 5000");
  EXPECT_THAT(Heard(), ElementsAre(testing::MatchesRegex("used 100 10,held [0-9]+ hold2")));
  RunTimes(2, "RL.WAIT wait 1/h TIMEOUT 0");
  EXPECT_THAT(Heard(), ElementsAre("denied 1/h 3600000 wait"));
  RunTimes(2, "CL.THROTTLE throttle 0 1 3600");
  EXPECT_THAT(Heard(), ElementsAre("denied cl.throttle 3600000 throttle"));
}

TEST_F(EventsTest, AChargeIsToldAsItIsCounted) {
  client_.Run("RL.CHARGE a 10/h,fixed COST 9");
  EXPECT_THAT(Heard(), ElementsAre("used 80 10/h,fixed 3600000 a"));
  client_.Run("RL.CHARGE a 10/h,fixed COST 5");
  EXPECT_THAT(Heard(), ElementsAre("denied 10/h,fixed 3600000 a", "used 100 10/h,fixed 3600000 a"));
  client_.Run("RL.CHARGE a 10/h,fixed COST 5");
  EXPECT_THAT(Heard(), IsEmpty()) << "it was used up already";
  client_.Run("RL.CHARGE b 5/h,fixed AND b 10/h,fixed COST 12 AND c 10/h,fixed COST 8");
  EXPECT_THAT(Heard(), ElementsAre("denied 10/h,fixed 3600000 b", "used 100 10/h,fixed 3600000 b",
                                   "used 80 10/h,fixed 3600000 c"));
}

TEST_F(EventsTest, ChecksOfOneBucketCountTogether) {
  client_.Run("RL.ALLOW a 10/h,fixed COST 5 AND a 10/h,fixed COST 3 AND b 10/h,fixed");
  EXPECT_THAT(Heard(), ElementsAre("used 80 10/h,fixed 3600000 a"));
}

TEST_F(EventsTest, WhatIsNoDecisionOrChangesNothingIsNotHeard) {
  RunTimes(2, "RL.PEEK a 10/h,fixed COST 10");
  RunTimes(2, "RL.PEEK a none");
  client_.Run("RL.REFUND a 10/h,fixed COST 10");
  RunTimes(2, "RL.ALLOW a 1/h,shadow");
  client_.Run("RL.ALLOW a 10/h,fixed COST 10 AND b none");
  EXPECT_THAT(Heard(), ElementsAre("denied none -1 b"));
}

// Method: looks before and after each request tell what it has crossed; with an interval of 0 that
// is so of sliding windows and held limits, too.
TEST_F(EventsTest, WhatIsToldIsWhatLooksBeforeAndAfterSee) {
  client_.Run("CONFIG SET notify-interval 0");
  client_.Run("RL.POLICY SET p 9/h,fixed 40/h,sliding");
  const std::vector<std::string> limits = {"7/h,fixed", "20/h,fixed,shadow", "30/m,sliding", "@p"};
  const std::vector<std::string> names = {"7/h,fixed", "20/h,fixed,shadow", "30/m,sliding", "@p#0",
                                          "@p#1"};
  const std::vector<std::int64_t> counts = {7, 20, 30, 9, 40};
  const auto used = [&](const std::string& key) {
    std::vector<std::int64_t> tokens;
    const RespValue look =
        client_.Ask("RL.PEEK " + key + " " + absl::StrJoin(limits, " ") + " COST 0 WITHLIMITS");
    const std::vector<RespValue>& rows = look.elements.at(5).elements;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      tokens.push_back(counts.at(i) - rows.at(i).elements.at(3).number);
    }
    return tokens;
  };
  CheckLaw(200, [&] {
    const Percents percents{{80, 95, 100}};
    const std::string key = "k" + std::to_string(*rc::gen::inRange(0, 1000));
    client_.Run("RL.RESET " + key);
    for (int step = 0; step < 20; ++step) {
      server_->clock.Advance(seconds{*rc::gen::inRange(0, 10)});
      const auto limit = [&] { return " " + limits.at(*rc::gen::inRange<std::size_t>(0, 4)); };
      const std::string command =
          *rc::gen::element<std::string>("ALLOW", "CHARGE", "TAKE", "REFUND");
      const std::string words =
          "RL." + command + " " + key + limit() + limit() + " COST " +
          std::to_string(*rc::gen::inRange(0, 9)) + " AND " + key + limit() +
          (command == "TAKE" ? " UPTO " + std::to_string(*rc::gen::inRange(1, 5)) : "");
      const std::vector<std::int64_t> before = used(key);
      client_.Run(words);
      const std::vector<std::int64_t> after = used(key);
      std::vector<std::string> expected;
      for (std::size_t i = 0; i < names.size(); ++i) {
        const int crossed = percents.GreatestCrossed(counts[i], before[i], after[i]);
        if (crossed != 0) expected.push_back(absl::StrCat("used ", crossed, " ", names[i]));
      }
      std::vector<std::string> heard;
      for (const std::string& line : Heard()) {
        const std::vector<std::string> parts = absl::StrSplit(line, ' ');
        if (parts.at(0) == "used") heard.push_back(absl::StrCat("used ", parts[1], " ", parts[2]));
      }
      std::ranges::sort(expected);
      std::ranges::sort(heard);
      RC_ASSERT(heard == expected);
    }
  });
}

// A busy sliding window, or a held limit, is at 100 % with each admission.
TEST_F(EventsTest, APercentageOfALimitThatComesBackBitByBitIsToldOnceAnInterval) {
  for (int second = 0; second < 60; ++second) {
    RunTimes(3, "RL.ALLOW a 10/10s,sliding");
    server_->clock.Advance(seconds{1});
  }
  const std::vector<std::string> heard = Heard();
  const auto told = [&](const std::string& percent) {
    return std::ranges::count_if(
        heard, [&](const std::string& line) { return line.starts_with("used " + percent); });
  };
  EXPECT_EQ(told("80"), 1);
  EXPECT_EQ(told("100"), 1);
  for (int i = 0; i < 5; ++i) {
    client_.Run("RL.RESERVE b 1,held HOLD 1 TTL 5000");
    client_.Run("RL.CANCEL b HOLD 1");
    server_->clock.Advance(seconds{20});
  }
  EXPECT_THAT(Heard(), testing::SizeIs(2));
}

TEST_F(EventsTest, AKeyIsShownByItsFirstBytes) {
  client_.Run("RL.ALLOW " + std::string(500, 'k') + " none");
  client_.Run("RL.ALLOW " + std::string(500, 'k') + " 1/h,fixed");
  const std::string shown(128, 'k');
  EXPECT_THAT(Heard(),
              ElementsAre("denied none -1 " + shown, "used 100 1/h,fixed 3600000 " + shown));
}

// Method: the subscriber reads nothing while another user's client is denied key after key.
TEST_F(EventsTest, AFloodOfDenialsClosesNoSubscriber) {
  std::string flood;
  constexpr std::uint64_t kDenials = 20'000;
  for (std::uint64_t i = 0; i < kDenials; ++i) {
    flood += absl::StrCat("RL.ALLOW app:", i, ":", std::string(100, 'x'), " none\r\n");
  }
  client_.Send(flood);
  const std::uint64_t dropped = server_->worker.counters["events_dropped"].value();
  EXPECT_GT(dropped, 0U);
  const std::size_t heard = Heard().size();
  EXPECT_EQ(heard + dropped, kDenials);
  EXPECT_FALSE(subscriber_.closed());
  client_.Run("RL.ALLOW again none");
  EXPECT_THAT(Heard(), ElementsAre("denied none -1 again"));
  EXPECT_THAT(client_.Run("INFO stats"),
              testing::HasSubstr(absl::StrCat("events_dropped:", dropped, "\r\n")));
}

TEST_F(EventsTest, ATransactionIsToldAfterItsEnd) {
  client_.Run("HELLO 3");
  client_.Run("SUBSCRIBE weir:denied");
  client_.Run("MULTI");
  RunTimes(2, "RL.ALLOW a 1/h,fixed");
  EXPECT_EQ(client_.Run("PUBLISH weir:denied lie"), "+QUEUED\r\n");
  client_.Run("PUBLISH other m");
  EXPECT_THAT(Heard(), IsEmpty());
  Conversation other(*server_);
  other.Run("SUBSCRIBE other");
  EXPECT_THAT(client_.Run("EXEC"), testing::HasSubstr("are the server's own"));
  EXPECT_THAT(Heard(), ElementsAre("used 100 1/h,fixed 3600000 a", "denied 1/h,fixed 3600000 a"));
  EXPECT_THAT(client_.Receive(), testing::HasSubstr("weir:denied\r\n$19\r\n1/h,fixed 3600000 a"));
}

TEST_F(EventsTest, ATransactionThatDoesNotRunTellsNothing) {
  client_.Run("WATCH a");
  Conversation other(*server_);
  other.Run("RL.ALLOW a 5/h");
  client_.Run("MULTI");
  client_.Run("RL.ALLOW b none");
  EXPECT_EQ(client_.Run("EXEC"), "*-1\r\n");
  EXPECT_THAT(Heard(), IsEmpty());
}

TEST_F(EventsTest, OnlyTheChannelsThatAreHeardAreTold) {
  subscriber_.Run("UNSUBSCRIBE weir:used");
  RunTimes(2, "RL.ALLOW a 1/h,fixed");
  EXPECT_THAT(Heard(), ElementsAre("denied 1/h,fixed 3600000 a"));
  subscriber_.Run("UNSUBSCRIBE weir:denied");
  client_.Run("RL.ALLOW b none");
  EXPECT_THAT(server_->worker.events.Take(), IsEmpty());
  subscriber_.Run("PSUBSCRIBE *:denied");
  client_.Run("RL.ALLOW b none");
  EXPECT_THAT(subscriber_.Receive(), testing::HasSubstr("denied\r\n$9\r\nnone -1 b"))
      << "it was not heard before";
}

TEST_F(EventsTest, EachThreadTellsForItself) {
  Worker other(server_->services);
  Conversation there(*server_, other);
  client_.Run("RL.ALLOW a none");
  there.Run("RL.ALLOW a none");
  EXPECT_THAT(Heard(), ElementsAre("denied none -1 a", "denied none -1 a"));
}

TEST_F(EventsTest, ClientsDoNotPublishToTheServersChannels) {
  for (const std::string channel : {"weir:denied", "weir:", "weir:x"}) {
    EXPECT_EQ(client_.Run("PUBLISH " + channel + " m"),
              "-ERR channels that begin with 'weir:' are the server's own\r\n");
  }
  EXPECT_EQ(client_.Run("PUBLISH weird m"), ":0\r\n");
  EXPECT_THAT(Heard(), IsEmpty());
}

}  // namespace
}  // namespace weir
