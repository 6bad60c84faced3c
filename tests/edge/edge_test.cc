// Goal: the edge's answers and words, one rule at a time (edge.h, form_state.h): a cold key is
// passed on, a hot one waits once and is then decided here, with the numbers of a local answer;
// what denials, changes, errors and cuts do; slices go back. The primary is a script.
#include "edge/edge.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/edge/scripted_primary.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

class EdgeTest : public testing::Test {
 protected:
  EdgeTest() { edge_.OnLinkUp(now_); }

  std::string Ask(std::string_view words) {
    const std::vector<std::string> texts = WordsIn(words);
    last_ =
        edge_.Decide(std::vector<std::string_view>(texts.begin(), texts.end()), ++ticket_, now_);
    return TextOf(last_);
  }
  void Reply(const SliceNumbersInTest& numbers) { edge_.OnReply(SliceReplyOf(numbers), now_); }
  // Ticks are at their times meanwhile.
  void Pass(Nanos time) {
    const HostInstant end = now_ + time;
    while (edge_.next_tick() && *edge_.next_tick() <= end) {
      now_ = std::max(now_, *edge_.next_tick());
      edge_.Tick(now_);
    }
    now_ = end;
  }
  // The asks in that time. The reply to each, a round trip later, grants no more than it asks for.
  // If there are words, they are requested once in each round trip.
  int AsksIn(Nanos time, Nanos rtt, const SliceNumbersInTest& reply, std::string_view words = "") {
    int asks = 0;
    for (const HostInstant end = now_ + time; now_ < end;) {
      if (!words.empty()) static_cast<void>(Ask(words));
      std::vector<SliceNumbersInTest> replies;
      for (const std::string& sent : host_.TakeSent()) {
        const std::vector<std::string> of_ask = WordsIn(sent);
        const auto upto = std::ranges::find(of_ask, "UPTO");
        if (upto == of_ask.end()) continue;
        replies.push_back(reply);
        replies.back().granted = std::min<std::int64_t>(reply.granted, std::stoll(*(upto + 1)));
      }
      Pass(rtt);
      for (const SliceNumbersInTest& one : replies) Reply(one);
      asks += static_cast<int>(replies.size());
    }
    return asks;
  }
  // Makes the key hot. The fourth request waits.
  void Heat(std::string_view words) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(words), "pass on");
    EXPECT_EQ(Ask(words), "wait");
  }
  // And gives it a slice of which so many units are left.
  void HeatAndGrant(std::string_view words, std::int64_t left) {
    Heat(words);
    EXPECT_EQ(host_.TakeSent().size(), 1U);
    Pass(milliseconds{1});
    Reply({.granted = 1 + left, .remaining = 90 - left, .reset_us = 100'000});
    EXPECT_EQ(host_.TakeAnswers().size(), 1U);
    static_cast<void>(host_.TakeSent());
  }

  HostInstant now_{std::chrono::hours{1}};
  ScriptedPrimary host_;
  Edge edge_{host_, "run", HashSecret{}};
  std::uint64_t ticket_ = 0;
  EdgeAnswer last_;
};

TEST_F(EdgeTest, AsksForAHotKeyAndThenDecidesIt) {
  Heat("k 100/s");
  EXPECT_THAT(host_.TakeSent(),
              ElementsAre("RL.SLICE k 100/s NEED 1 UNIT 1 UPTO 4 HOLD run-1 TTL 250"));
  EXPECT_EQ(Ask("k 100/s"), "wait");
  Pass(milliseconds{2});
  Reply({.granted = 4, .remaining = 50, .reset_us = 500'000});
  EXPECT_THAT(host_.TakeAnswers(), ElementsAre("4: 1 53 0 498 0", "5: 1 52 0 498 0"));
  EXPECT_EQ(Ask("k 100/s"), "1 51 0 498 0");
  EXPECT_EQ(Ask("k 100/s WITHLIMITS"), "1 50 0 498 0 [100/s 1 100 50 0 498 0 1 0]");
}

TEST_F(EdgeTest, AsksAheadBeforeTheHandIsEmpty) {
  HeatAndGrant("k 100/s", 8);
  for (int i = 0; i < 3; ++i) static_cast<void>(Ask("k 100/s"));
  EXPECT_THAT(host_.TakeSent(), IsEmpty());
  static_cast<void>(Ask("k 100/s"));
  EXPECT_THAT(host_.TakeSent(),
              ElementsAre("RL.SLICE k 100/s NEED 0 UNIT 1 UPTO 7 HOLD run-2 TTL 250"));
  EXPECT_EQ(edge_.in_hand(), 4);
}

TEST_F(EdgeTest, TakesCostAsUnits) {
  HeatAndGrant("k 100/s", 10);
  EXPECT_EQ(Ask("k 100/s COST 4"), "1 86 0 99 0");
  EXPECT_EQ(edge_.in_hand(), 6);
  EXPECT_EQ(Ask("k 100/s COST 7"), "wait");
}

TEST_F(EdgeTest, TakesCostIntoTheFormOfAPolicy) {
  Heat("k @free COST 7");
  EXPECT_THAT(host_.TakeSent(),
              ElementsAre("RL.SLICE k @free COST 7 NEED 1 UNIT 1 UPTO 4 HOLD run-1 TTL 250"));
}

TEST_F(EdgeTest, PassesOnWhatOnlyThePrimaryDecides) {
  for (int i = 0; i < 8; ++i) {
    for (const std::string_view words :
         {"k 100/s OR k 5/s", "k 100/s COST 0", "k 100/s AT 5", "k", "k 100/s COST x", ""}) {
      EXPECT_EQ(Ask(words), "pass on") << words;
      EXPECT_EQ(last_.passed_on.form, 0U);
    }
  }
  EXPECT_THAT(host_.TakeSent(), IsEmpty());
}

TEST_F(EdgeTest, KeepsDenialsOfWhatIsNeverSliced) {
  for (const std::string_view words : {"k 100/s,ban=1m", "k 100/s 5/s,shadow"}) {
    for (int i = 0; i < 8; ++i) EXPECT_EQ(Ask(words), "pass on") << words;
    edge_.OnPassedReply(last_.passed_on, "*5\r\n:0\r\n:0\r\n:60000\r\n:60000\r\n:0\r\n", now_);
    EXPECT_EQ(Ask(words), "0 0 60000 60000 0") << words;
  }
  EXPECT_THAT(host_.TakeSent(), IsEmpty());
}

TEST_F(EdgeTest, DeniesAsThePrimaryDid) {
  Heat("k 100/s COST 5");
  EXPECT_EQ(Ask("k 100/s COST 9"), "wait");
  EXPECT_EQ(Ask("k 100/s COST 2"), "wait");
  Pass(milliseconds{2});
  static_cast<void>(host_.TakeSent());
  Reply({.granted = 0, .remaining = 3, .retry_us = 4'000'000, .reset_us = 9'000'000});
  EXPECT_THAT(host_.TakeAnswers(), ElementsAre("4: 0 3 3998 8998 0", "5: 0 3 3998 8998 0"));
  // The smaller one was not denied: it is asked for.
  EXPECT_THAT(host_.TakeSent(), ElementsAre(testing::StartsWith("RL.SLICE k 100/s NEED 2 UNIT 2")));
}

TEST_F(EdgeTest, KeepsADenialForAnEighthOfThePromise) {
  EXPECT_EQ(Ask("k 100/s"), "pass on");
  const PassedOn passed_on = last_.passed_on;
  Pass(milliseconds{1});
  edge_.OnPassedReply(passed_on, "*5\r\n:0\r\n:0\r\n:1600\r\n:2000\r\n:0\r\n", now_);
  EXPECT_EQ(Ask("k 100/s"), "0 0 1599 1999 0");
  EXPECT_EQ(Ask("k 100/s WITHLIMITS"), "pass on");  // The rows are not known.
  EXPECT_EQ(Ask("k 100/s COST 2"), "0 0 1599 1999 0");
  Pass(milliseconds{198});
  EXPECT_EQ(Ask("k 100/s"), "0 0 1401 1801 0");
  Pass(milliseconds{1});
  EXPECT_NE(Ask("k 100/s").substr(0, 1), "0");
}

TEST_F(EdgeTest, DeniesNothingByADenialOfMore) {
  EXPECT_EQ(Ask("k 100/s COST 5"), "pass on");
  edge_.OnPassedReply(last_.passed_on, "*5\r\n:0\r\n:0\r\n:-1\r\n:2000\r\n:0\r\n", now_);
  EXPECT_EQ(Ask("k 100/s COST 5"), "0 0 -1 2000 0");
  EXPECT_EQ(Ask("k 100/s COST 4"), "pass on");
}

TEST_F(EdgeTest, AsksAPacedKeyEachPace) {
  Heat("k 100/s");
  static_cast<void>(host_.TakeSent());
  Reply({.granted = 0, .retry_us = 10'000, .reset_us = 1'000'000});
  EXPECT_THAT(host_.TakeAnswers(), ElementsAre("4: 0 0 52 1000 0"));
  int asks = 0;
  for (int ms = 0; ms < 200; ++ms) {
    EXPECT_EQ(Ask("k 100/s").substr(0, 1), "0") << ms;
    if (!host_.TakeSent().empty()) {
      ++asks;
      Reply({.granted = 0, .retry_us = 10'000, .reset_us = 1'000'000});
    }
    Pass(milliseconds{1});
  }
  EXPECT_EQ(asks, 3);
}

TEST_F(EdgeTest, PassesOnForAWhileWhatIsNotSliced) {
  Heat("k 100/s");
  Reply({.granted = 1, .life_us = 0});
  EXPECT_THAT(host_.TakeAnswers(), ElementsAre("4: 1 0 0 0 0"));
  EXPECT_EQ(Ask("k 100/s"), "pass on");
  Pass(kNotSlicedFor);
  Heat("k 100/s");
  edge_.OnReply("-ERR a held limit needs RL.RESERVE\r\n", now_);
  EXPECT_THAT(host_.TakeAnswers(), ElementsAre("9: pass on"));
  EXPECT_EQ(Ask("k 100/s"), "pass on");
}

TEST_F(EdgeTest, TakesAllGroupsFromTheHandOrPassesThemOn) {
  HeatAndGrant("a 100/s", 3);
  HeatAndGrant("b 100/s", 2);
  EXPECT_EQ(Ask("a 100/s AND b 100/s COST 2"), "1 88 0 99 1");
  EXPECT_EQ(Ask("a 100/s AND b 100/s"), "pass on");
  EXPECT_EQ(Ask("a 100/s AND a 100/s"), "pass on");
  EXPECT_EQ(edge_.in_hand(), 2);
}

// A slice of the hot group would lapse beside the cold one: the primary decides both.
TEST_F(EdgeTest, AsksForNothingAheadBesideAColdGroup) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(Ask(absl::StrCat("tenant 1000/s AND user:", i, " 10/s")), "pass on");
  }
  EXPECT_THAT(host_.TakeSent(), IsEmpty());
}

TEST_F(EdgeTest, AsksAheadNowAndThenWhereNothingIsToBeHad) {
  Heat("k 5/s");
  static_cast<void>(host_.TakeSent());
  Reply({.granted = 1, .remaining = 1});
  EXPECT_LE(AsksIn(std::chrono::seconds{1}, milliseconds{1}, {.granted = 0, .remaining = 1}), 20);
}

// A life that is over when the reply is there would waste each slice.
TEST_F(EdgeTest, AsksAheadSeldomWhereSlicesComeTooLate) {
  Heat("k 100/s");
  const SliceNumbersInTest late = {.granted = 5, .remaining = 50, .life_us = 10'000};
  static_cast<void>(AsksIn(std::chrono::seconds{10}, milliseconds{20}, late, "k 100/s"));
  EXPECT_LE(edge_.counts().wasted, 40U);  // 8 asks of 500 went for more than was needed
}

TEST_F(EdgeTest, AsksAheadAgainAfterADenialOfMore) {
  HeatAndGrant("k 100/s", 8);
  EXPECT_EQ(Ask("k 100/s COST 50"), "wait");
  Reply({.granted = 0, .remaining = 40, .retry_us = 100'000, .reset_us = 900'000});
  for (int i = 0; i < 8; ++i) static_cast<void>(Ask("k 100/s"));
  static_cast<void>(host_.TakeSent());
  EXPECT_EQ(Ask("k 100/s"), "wait");
  Reply({.granted = 1, .remaining = 39});
  EXPECT_THAT(host_.TakeSent(), testing::Contains(testing::HasSubstr("NEED 0 UNIT 1 UPTO ")));
}

TEST_F(EdgeTest, DoesNotCountWhatCanNeverBeAdmitted) {
  HeatAndGrant("k 100/s", 8);
  EXPECT_EQ(Ask("k 100/s COST 1000"), "wait");
  EXPECT_THAT(host_.TakeSent(),
              ElementsAre("RL.SLICE k 100/s NEED 1000 UNIT 1000 UPTO 1000 HOLD run-2 TTL 250"));
  Reply({.granted = 0, .remaining = 82, .retry_us = -1, .reset_us = 90'000});
  EXPECT_EQ(host_.TakeAnswers(), std::vector<std::string>{"5: 0 90 -1 90 0"});
  EXPECT_EQ(Ask("k 100/s COST 1000"), "0 90 -1 90 0");
  EXPECT_EQ(edge_.in_hand(), 8);
  EXPECT_EQ(Ask("k 100/s"), "1 89 0 90 0");
}

TEST_F(EdgeTest, SaysOfALimitByItselfWhetherItDenies) {
  HeatAndGrant("k 100/s", 1);
  static_cast<void>(Ask("k 100/s"));
  EXPECT_EQ(Ask("k 100/s"), "wait");
  // It has granted what it had: UNIT is not there any more.
  Reply({.granted = 1, .remaining = 0, .retry_us = 100'000, .reset_us = 1'000'000});
  EXPECT_EQ(Ask("k 100/s WITHLIMITS"), "0 0 100 1000 0 [100/s 0 100 0 100 1000 0 1 0]");
}

TEST_F(EdgeTest, SlicesSoonAgainWhatHadNoLifeAfterAStall) {
  Heat("k 100/s");
  Pass(milliseconds{900});
  static_cast<void>(host_.TakeSent());
  Reply({.granted = 1});
  EXPECT_EQ(Ask("k 100/s"), "wait");
  EXPECT_THAT(host_.TakeSent(), ElementsAre(testing::HasSubstr("TTL 2000")));
  Reply({.granted = 1, .life_us = 0});
  EXPECT_EQ(Ask("k 100/s"), "pass on");
  Pass(kNotSlicedForSoLong);
  EXPECT_EQ(Ask("k 100/s"), "wait");
}

TEST_F(EdgeTest, AsksForNothingAheadBesideADeniedGroup) {
  HeatAndGrant("a 100/s", 3);
  HeatAndGrant("b 5/h", 1);
  static_cast<void>(Ask("b 5/h"));
  EXPECT_EQ(Ask("b 5/h"), "wait");
  static_cast<void>(host_.TakeSent());
  Reply({.granted = 0, .remaining = 0, .retry_us = 100'000'000});
  for (int i = 0; i < 9; ++i) EXPECT_EQ(Ask("a 100/s COST 4 AND b 5/h"), "pass on");
  EXPECT_THAT(host_.TakeSent(), IsEmpty());
}

TEST_F(EdgeTest, TellsWhatThePrimaryHasCounted) {
  Heat("k 100/s");
  EXPECT_EQ(Ask("k 100/s"), "wait");
  EXPECT_EQ(Ask("k 100/s COST 2"), "wait");
  Reply({.granted = 1});
  EXPECT_EQ(host_.Flags(), "needed counted");
  Reply({.granted = 1, .retry_us = 900'000});
  EXPECT_EQ(host_.Flags(), "needed needed counted") << "the denial, as NEED was 3";
  EXPECT_EQ(edge_.counts().allowed + edge_.counts().denied, 0U);
  EXPECT_EQ(Ask("k 100/s").substr(0, 1), "0");
  EXPECT_EQ(edge_.counts().denied, 1U);
}

TEST_F(EdgeTest, AsksForABoundedSumAtOnce) {
  Heat(absl::StrCat("k 100/s COST ", kUnitsMax));
  static_cast<void>(host_.TakeSent());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask(absl::StrCat("k 100/s COST ", kUnitsMax)), "wait");
  Reply({.granted = kUnitsMax});
  EXPECT_THAT(host_.TakeAnswers(), testing::SizeIs(1));
  EXPECT_THAT(host_.TakeSent(),
              ElementsAre(absl::StrCat("RL.SLICE k 100/s NEED ", kUnitsMax, " UNIT ", kUnitsMax,
                                       " UPTO ", kUnitsMax, " HOLD run-2 TTL 250")));
}

TEST_F(EdgeTest, ReturnsWhatIsIdle) {
  HeatAndGrant("k 100/s", 5);
  Pass(milliseconds{400});
  EXPECT_EQ(edge_.in_hand(), 0);
  EXPECT_THAT(host_.TakeSent(), testing::Contains("RL.COMMIT k COST 1 HOLD run-1"));
  const EdgeCounts& counts = edge_.counts();
  EXPECT_EQ(counts.granted, 6U);
  EXPECT_EQ(counts.spent, 1U);
  EXPECT_EQ(counts.settled, 5U);
  EXPECT_EQ(counts.wasted, 0U);
}

TEST_F(EdgeTest, ReturnsWhatIsIdleBehindAFormOfAColdJoin) {
  EXPECT_EQ(Ask("a 100/s"), "pass on");
  edge_.OnPassedReply(last_.passed_on, "*5\r\n:0\r\n:0\r\n:10\r\n:10\r\n:0\r\n", now_);
  Pass(std::chrono::seconds{5});
  HeatAndGrant("k 100/s", 8);
  EXPECT_EQ(Ask("a 100/s AND c 100/s"), "pass on");
  Pass(milliseconds{200});
  EXPECT_EQ(edge_.in_hand(), 0);
}

TEST_F(EdgeTest, SpendsNothingAtTheEndOfALife) {
  HeatAndGrant("k 100/s", 5);
  edge_.OnLinkLost(now_);
  now_ += milliseconds{247};  // 248 since the ask; a thousandth of 250 ms and 1 ms are left out
  EXPECT_EQ(Ask("k 100/s").substr(0, 1), "1");
  now_ += milliseconds{1};
  EXPECT_EQ(Ask("k 100/s"), "away");
  EXPECT_EQ(edge_.counts().wasted, 4U);
}

TEST_F(EdgeTest, SendsACommitAgainAfterACut) {
  HeatAndGrant("k 100/s", 5);
  edge_.OnChange({.kind = OperatorChange::Kind::kKey, .name = "k", .changes = 2}, now_);
  EXPECT_THAT(host_.TakeSent(), ElementsAre("RL.COMMIT k COST 1 HOLD run-1"));
  edge_.OnLinkLost(now_);
  edge_.OnLinkUp(now_);
  EXPECT_THAT(host_.TakeSent(), ElementsAre("RL.COMMIT k COST 1 HOLD run-1"));
  edge_.OnReply("*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n", now_);
  edge_.OnLinkLost(now_);
  edge_.OnLinkUp(now_);
  EXPECT_THAT(host_.TakeSent(), IsEmpty());
}

TEST_F(EdgeTest, SendsNoCommitOfASliceThatHasEnded) {
  HeatAndGrant("k 100/s", 5);
  edge_.OnChange({.kind = OperatorChange::Kind::kAll, .changes = 2}, now_);
  edge_.OnLinkLost(now_);
  static_cast<void>(host_.TakeSent());
  now_ += milliseconds{250};
  edge_.OnLinkUp(now_);
  EXPECT_THAT(host_.TakeSent(), IsEmpty());
}

TEST_F(EdgeTest, AnswersAllThatWaitWhenTheLinkIsLost) {
  Heat("k 100/s");
  edge_.OnLinkLost(now_);
  EXPECT_THAT(host_.TakeAnswers(), ElementsAre("4: away"));
  EXPECT_EQ(Ask("k 100/s"), "away");
  edge_.OnLinkUp(now_);
  static_cast<void>(host_.TakeSent());
  EXPECT_EQ(Ask("k 100/s"), "wait");
  EXPECT_EQ(host_.TakeSent().size(), 1U);
}

TEST_F(EdgeTest, BelievesNoReplyOfBeforeAChange) {
  Heat("k @free");
  edge_.OnChange({.kind = OperatorChange::Kind::kPolicy, .name = "free", .changes = 7}, now_);
  static_cast<void>(host_.TakeSent());
  Reply({.granted = 4, .changes = 6});
  EXPECT_THAT(host_.TakeAnswers(), ElementsAre("4: 1 3 0 0 0"));  // It was decided before.
  EXPECT_EQ(edge_.in_hand(), 0);
  EXPECT_EQ(host_.TakeSent().front(), "RL.COMMIT k COST 1 HOLD run-1");
}

TEST_F(EdgeTest, EndsDenialsOfAChangedKey) {
  const auto deny = [&] {
    EXPECT_EQ(Ask("k @free"), "pass on");
    edge_.OnPassedReply(last_.passed_on, "*5\r\n:0\r\n:0\r\n:90000\r\n:2000\r\n:0\r\n", now_);
    EXPECT_EQ(Ask("k @free").substr(0, 1), "0");
  };
  deny();
  edge_.OnChange({.kind = OperatorChange::Kind::kKey, .name = "k", .changes = 7}, now_);
  Pass(std::chrono::seconds{1});
  deny();
  edge_.OnLinkLost(now_);
  EXPECT_EQ(Ask("k @free").substr(0, 1), "0");
  edge_.OnLinkUp(now_);
  Pass(std::chrono::seconds{1});
  deny();
}

TEST_F(EdgeTest, HasNothingToDoAfterARest) {
  EXPECT_FALSE(edge_.next_tick());
  HeatAndGrant("k 100/s", 5);
  EXPECT_TRUE(edge_.next_tick());
  Pass(std::chrono::seconds{5});
  EXPECT_FALSE(edge_.next_tick());
}

TEST_F(EdgeTest, KeepsABoundedNumberOfForms) {
  for (std::size_t i = 0; i < kFormsMax + 10; ++i) {
    EXPECT_EQ(Ask(absl::StrCat("key:", i, " 100/s")), "pass on");
    edge_.OnPassedReply(last_.passed_on, "*5\r\n:0\r\n:0\r\n:90000\r\n:2000\r\n:0\r\n", now_);
  }
  EXPECT_EQ(edge_.forms(), kFormsMax);
}

}  // namespace
}  // namespace weir
