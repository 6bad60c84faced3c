// Goal: the log keeps the last events in their order, a printable line each, with who did what and
// without a password.
#include "server/health/event_log.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "server/health/health_watch.h"
#include "tests/support/conversation.h"
#include "tests/support/fake_replication.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;

TEST(EventLogTest, TheOldestEventOfAKindGoesFirst) {
  EventLog log;
  log.Add({.kind = ServerEventKind::kFlush, .text = "all gone"});
  for (std::size_t i = 0; i <= EventLog::kOfKindMax; ++i) {
    log.Add({.kind = ServerEventKind::kPolicy, .text = absl::StrCat(i)});
  }
  const std::vector<ServerEvent> all = log.Since(0);
  ASSERT_THAT(all, SizeIs(1 + EventLog::kOfKindMax));
  EXPECT_EQ(all[0].text, "all gone");
  EXPECT_EQ(all[1].text, "1");
  EXPECT_EQ(all.back().text, "36");
}

TEST(EventLogTest, EventsAreFoundFromTheirTimeOn) {
  EventLog log;
  for (const std::int64_t time : {10, 20, 15}) log.Add({.time_ms = time});
  EXPECT_THAT(log.Since(15), SizeIs(2));
  EXPECT_THAT(log.Since(20), SizeIs(1));
  EXPECT_THAT(log.Since(21), SizeIs(0));
}

TEST(EventLogTest, ATextIsOneLineOfBoundedLength) {
  EventLog log;
  log.Add({.who = std::string(1000, 'u'), .text = "a\nb" + std::string(1000, '\x7f')});
  const ServerEvent event = log.Since(0)[0];
  EXPECT_EQ(event.who.size(), EventLog::kWhoMax);
  EXPECT_LE(event.text.size(), EventLog::kTextMax);
  EXPECT_THAT(event.text, HasSubstr("a\\nb"));
  EXPECT_THAT(event.text, EndsWith("..."));
}

class ServerEventsTest : public testing::Test {
 protected:
  ServerEventsTest() { watch_.Look(); }

  // The texts since the last call, each as "kind who: text".
  std::vector<std::string> News() {
    std::vector<std::string> news;
    for (const ServerEvent& event : watch_.events().Since(0)) {
      news.push_back(absl::StrCat(AbslView(WordOf(event.kind)), " ", event.who, ": ", event.text));
    }
    news.erase(news.begin(), news.begin() + static_cast<std::ptrdiff_t>(seen_));
    seen_ += news.size();
    return news;
  }
  void Look() {
    server_.clock.Advance(kLookInterval);
    watch_.Look();
  }

  TestServer server_;
  HealthWatch watch_{server_.services};
  Conversation client_{server_};

 private:
  std::size_t seen_ = 0;
};

TEST_F(ServerEventsTest, AStartAndTheRoleAreTheFirst) {
  EXPECT_THAT(News(), ElementsAre(HasSubstr(" has started"), "role : is the primary"));
  Look();
  EXPECT_THAT(News(), ElementsAre());
}

TEST_F(ServerEventsTest, ChangesOfTheRoleAndReasonsAreNotedOnce) {
  FakeReplication replication(server_.services);
  static_cast<void>(News());
  replication.BecomeReplica(true, false);
  Look();
  Look();
  EXPECT_THAT(News(), ElementsAre("role : follows 10.0.0.1:7379",
                                  "health : the primary 10.0.0.1:7379 is not heard"));
  replication.BecomePrimary();
  Look();
  EXPECT_THAT(News(), ElementsAre("role : is the primary",
                                  "health : over: the primary 10.0.0.1:7379 is not heard"));
}

TEST_F(ServerEventsTest, CommandsThatChangeTheServerAreNotedWithTheirUser) {
  static_cast<void>(News());
  client_.Send("RL.POLICY SET free 10/s\r\n");
  client_.Send("RL.POLICY OVERRIDE free user:1 20/s\r\n");
  client_.Send("RL.POLICY UNOVERRIDE free user:1\r\n");
  client_.Send("RL.POLICY UNOVERRIDE free user:1\r\n");  // there is none
  client_.Send("RL.POLICY DEL free\r\n");
  client_.Send("CONFIG SET notify-interval 1s\r\n");
  client_.Send("FLUSHALL\r\n");
  EXPECT_THAT(News(), ElementsAre("policy default: RL.POLICY SET free 10/s",
                                  "policy default: RL.POLICY OVERRIDE free user:1 20/s",
                                  "policy default: RL.POLICY UNOVERRIDE free user:1",
                                  "policy default: RL.POLICY DEL free",
                                  "config default: CONFIG SET notify-interval 1s",
                                  "flush default: FLUSHALL"));
}

TEST_F(ServerEventsTest, APasswordIsNotShown) {
  static_cast<void>(News());
  client_.Send("CONFIG SET primary-password hunter2\r\n");
  EXPECT_THAT(News(), ElementsAre("config default: CONFIG SET primary-password (redacted)"));
}

TEST_F(ServerEventsTest, CommandsOfATransactionAreNoted) {
  static_cast<void>(News());
  client_.Send("MULTI\r\nRL.POLICY SET free 10/s\r\nRL.POLICY SET free 10/x\r\nEXEC\r\n");
  EXPECT_THAT(News(), ElementsAre("policy default: RL.POLICY SET free 10/s"));
}

TEST_F(ServerEventsTest, DecisionsLooksAndMistakesAreNot) {
  static_cast<void>(News());
  client_.Send("RL.ALLOW user:1 10/s\r\n");
  client_.Send("RL.POLICY LIST\r\n");
  client_.Send("RL.POLICY SET free 10/x\r\n");
  client_.Send("RL.POLICY DEL none\r\n");
  client_.Send("CONFIG SET notify-interval never\r\n");
  client_.Send("CONFIG SET notify-interval 1m\r\n");  // as it is
  client_.Send("FLUSHALL NOW\r\n");
  EXPECT_THAT(News(), ElementsAre());
}

}  // namespace
}  // namespace weir
