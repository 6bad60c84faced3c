// Goal: a denial by a limit that says ban= shuts that limit for as long as the client was told, on
// both hosts, and nothing else does. Method: the replies of conversations at instants of a clock
// that the test moves.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"
#include "tests/commands/wait_fixture.h"
#include "tests/support/stats_text.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

class BanCommandTest : public testing::Test {
 protected:
  void Wait(Nanos span) { client_.clock().Advance(span); }
  std::string Show(std::string_view line) { return client_.Show(line); }

  Client client_;
};

TEST_F(BanCommandTest, EndsWhenTheDeniedClientWasTold) {
  EXPECT_EQ(Show("RL.ALLOW ip 2/m,ban=15m COST 2"), "1 0 0 60000 0");
  EXPECT_EQ(Show("RL.ALLOW ip 2/m,ban=15m"), "0 0 900000 930000 0");
  Wait(minutes{14});
  EXPECT_EQ(Show("RL.ALLOW ip 2/m,ban=15m"), "0 0 60000 90000 0");
  EXPECT_EQ(Show("RL.ALLOW ip 2/m,ban=15m COST 2"), "0 0 90000 90000 0");
  Wait(minutes{1} - milliseconds{1});
  EXPECT_EQ(Show("RL.ALLOW ip 2/m,ban=15m"), "0 0 1 30001 0");
  Wait(milliseconds{1});
  EXPECT_EQ(Show("RL.ALLOW ip 2/m,ban=15m"), "1 0 0 60000 0");
  EXPECT_EQ(StatsText(client_), "(total) 2 4 0 2 bans=1;2/m,ban=15m 2 4 0 2 bans=1;");
  EXPECT_THAT(client_.Ask("INFO weir").text, HasSubstr("bans:1\r\n"));
}

TEST_F(BanCommandTest, BeginsInATransaction) {
  client_.Run("MULTI");
  for (int i = 0; i < 3; ++i) client_.Run("RL.ALLOW k 1/m,ban=1h");
  EXPECT_EQ(Show("EXEC"), "[1 0 0 60000 0]\n[0 0 3600000 3600000 0]\n[0 0 3600000 3600000 0]");
}

TEST_F(BanCommandTest, WindowHasItsWholeCountAfterIt) {
  EXPECT_EQ(Show("RL.ALLOW ip 5/m,fixed,ban=90s COST 3"), "1 2 0 60000 0");
  EXPECT_EQ(Show("RL.ALLOW ip 5/m,fixed,ban=90s COST 3"), "0 0 90000 90000 0");
  EXPECT_EQ(Show("RL.REFUND ip 5/m,fixed,ban=90s COST 3"), "1 0 0 90000 0");
  Wait(seconds{90});
  EXPECT_EQ(Show("RL.ALLOW ip 5/m,fixed,ban=90s COST 5"), "1 0 0 60000 0");
}

TEST_F(BanCommandTest, LooksAndImpossibleCostsAndOtherLimitsStartNone) {
  Show("RL.ALLOW k 2/m,ban=15m 1/h");
  const std::string before = Show("RL.INSPECT k");
  EXPECT_EQ(Show("RL.ALLOW k 2/m,ban=15m 1/h"), "0 0 3600000 3600000 1");
  EXPECT_EQ(Show("RL.ALLOW k 2/m,ban=15m,cost=3"), "0 1 -1 30000 0");
  EXPECT_EQ(Show("RL.PEEK k 2/m,ban=15m,cost=2"), "0 1 30000 30000 0");
  EXPECT_EQ(Show("RL.ALLOW k 2/m,ban=15m COST 0"), "1 1 0 30000 0");
  EXPECT_EQ(Show("RL.INSPECT k"), before);
  EXPECT_EQ(Show("RL.ALLOW k 2/m,ban=15m,cost=2"), "0 0 930000 930000 0");
  EXPECT_EQ(Show("RL.PEEK k 2/m,ban=15m,cost=2"), "0 0 930000 930000 0");
  EXPECT_EQ(Show("RL.PEEK k 2/m"), "1 1 0 30000 0") << "without ban= it is another bucket";
}

TEST_F(BanCommandTest, TwoLimitsThatDenyAreBothShut) {
  Show("RL.ALLOW k 1/m,ban=1h AND l 1/m,ban=2h");
  EXPECT_EQ(Show("RL.ALLOW k 1/m,ban=1h AND l 1/m,ban=2h AND m 1/m,ban=3h"),
            "0 0 7200000 7200000 1");
  EXPECT_EQ(Show("RL.ALLOW k 1/m,ban=1h"), "0 0 3600000 3600000 0");
  EXPECT_EQ(Show("EXISTS m"), "0");
}

TEST_F(BanCommandTest, ShadowShutsItsOwnBucketOnly) {
  EXPECT_EQ(Show("RL.ALLOW k 10/m 1/m,ban=1h,shadow"), "1 9 0 6000 0");
  EXPECT_EQ(Show("RL.ALLOW k 10/m 1/m,ban=1h,shadow WITHLIMITS"),
            "1 8 0 12000 0\n[[\"10/m\" 1 10 8 0 12000 0 1 0]\n"
            " [\"1/m,ban=1h,shadow\" 0 1 0 3600000 3600000 0 1 0]]");
  EXPECT_THAT(Show("RL.INSPECT k"), HasSubstr("[\"1/m,ban=1h,shadow\" 0 3600000 1 3600000]"));
  EXPECT_EQ(StatsText(client_),
            "(total) 2 0 1 1 bans=1;1/m,ban=1h,shadow 1 0 1 1 bans=1;10/m 2 0 0 0;");
}

TEST_F(BanCommandTest, TakeBansIfItGrantsNothing) {
  EXPECT_EQ(Show("RL.TAKE k 3/m,ban=1h UPTO 2"), "2 1 0 40000 0");
  EXPECT_EQ(Show("RL.TAKE k 3/m,ban=1h UPTO 2"), "1 0 0 60000 0");
  EXPECT_EQ(Show("RL.TAKE k 3/m,ban=1h UPTO 2"), "0 0 3600000 3640000 0");
  // A shadow that has one token, but not as many as were granted, would have granted that one.
  EXPECT_EQ(Show("RL.TAKE l 9/m 1/m,ban=1h,shadow UPTO 2"), "2 7 0 13334 0");
  EXPECT_EQ(Show("RL.INSPECT l"), "[[\"9/m\" 7 13334 2 0]]");
  EXPECT_EQ(Show("RL.TAKE l 9/m 1/m,ban=1h,shadow UPTO 1"), "1 6 0 20000 0");
  EXPECT_EQ(Show("RL.TAKE l 9/m 1/m,ban=1h,shadow UPTO 2"), "2 4 0 33334 0");
  EXPECT_THAT(Show("RL.INSPECT l"), HasSubstr("[\"1/m,ban=1h,shadow\" 0 3600000 1 3600000]"));
}

TEST_F(BanCommandTest, WhatMustBeKeptStartsOneToo) {
  EXPECT_EQ(Show("RL.ALLOW k 3/m,ban=1h,keep=1 COST 2"), "1 1 0 40000 0");
  EXPECT_EQ(Show("RL.ALLOW k 3/m,ban=1h,keep=1 COST 0"), "1 1 0 40000 0");
  EXPECT_EQ(Show("RL.PEEK k 3/m,ban=1h,keep=2 COST 0"), "0 1 20000 40000 0");
  EXPECT_EQ(Show("RL.ALLOW k 3/m,ban=1h,keep=4 COST 0"), "0 1 -1 40000 0");
  EXPECT_EQ(Show("RL.ALLOW k 3/m,ban=1h,keep=1 COST 0"), "1 1 0 40000 0");
  EXPECT_EQ(Show("RL.ALLOW k 3/m,ban=1h,keep=2 COST 0"), "0 0 3620000 3640000 0");
  EXPECT_EQ(Show("RL.ALLOW k 3/m,ban=1h COST 0"), "1 0 0 3640000 0");
  EXPECT_EQ(Show("RL.ALLOW k 3/m,ban=1h"), "0 0 3600000 3640000 0");
}

TEST_F(BanCommandTest, AChargeStartsNoneAndEndsThatOfABucket) {
  EXPECT_EQ(Show("RL.CHARGE k 2/m,ban=1h COST 3"), "0 0 60000 90000 0");
  EXPECT_EQ(Show("RL.INSPECT k"), "[[\"2/m,ban=1h\" 0 90000 3 0]]");
  EXPECT_EQ(Show("RL.ALLOW k 2/m,ban=1h"), "0 0 3600000 3630000 0");
  EXPECT_EQ(Show("RL.CHARGE k 2/m,ban=1h COST 0"), "1 0 3600000 3630000 0");
  EXPECT_EQ(Show("RL.CHARGE k 2/m,ban=1h"), "0 0 3600000 3630000 0") << "no debt is that long";
  EXPECT_EQ(Show("RL.INSPECT k"), "[[\"2/m,ban=1h\" 0 3630000 121 0]]");
  EXPECT_EQ(Show("RL.ALLOW l 2/m,fixed,ban=1h COST 2"), "1 0 0 60000 0");
  EXPECT_EQ(Show("RL.ALLOW l 2/m,fixed,ban=1h"), "0 0 3600000 3600000 0");
  EXPECT_EQ(Show("RL.CHARGE l 2/m,fixed,ban=1h"), "0 0 3600000 3600000 0");
  EXPECT_EQ(Show("RL.INSPECT l"), "[[\"2/m,fixed,ban=1h\" 0 3600000 2 3600000]]");
}

TEST_F(BanCommandTest, ResetLiftsAndRefundShortens) {
  Show("RL.ALLOW k 1/m,ban=1h");
  Show("RL.ALLOW k 1/m,ban=1h");
  EXPECT_EQ(Show("RL.REFUND k 1/m,ban=1h"), "1 0 0 3540000 0");
  EXPECT_EQ(Show("RL.INSPECT k"), "[[\"1/m,ban=1h\" 0 3540000 59 0]]");
  EXPECT_EQ(Show("RL.RESET k"), "1");
  EXPECT_EQ(Show("RL.ALLOW k 1/m,ban=1h"), "1 0 0 60000 0");
}

TEST_F(BanCommandTest, PoliciesAndOverridesKeepARunningBan) {
  Show("RL.POLICY SET p 1/m,ban=10d 1/m,fixed,ban=10d");
  Show("RL.ALLOW k @p");
  Show("RL.ALLOW k @p");
  const std::string banned =
      "[\"@p#0\" 0 864000000 1 864000000]\n[\"@p#1\" 0 864000000 1 864000000]";
  EXPECT_EQ(Show("RL.INSPECT k"), banned);
  EXPECT_EQ(Show("RL.POLICY SET p 1/m 1/m,fixed,ban=1s"), "OK");
  EXPECT_EQ(Show("RL.INSPECT k"), banned);
  EXPECT_EQ(Show("RL.ALLOW k @p"), "0 0 864000000 864000000 0");
  EXPECT_EQ(Show("RL.POLICY OVERRIDE p k 1/m 1/m,fixed"), "OK");
  EXPECT_EQ(Show("RL.INSPECT k"), banned);
  EXPECT_EQ(Show("RL.POLICY OVERRIDE p k unlimited"), "OK");
  EXPECT_EQ(Show("RL.ALLOW k @p"), "1 9223372036854775807 0 0 0");
  EXPECT_EQ(Show("RL.POLICY UNOVERRIDE p k"), "1");
  EXPECT_EQ(Show("RL.INSPECT k"), banned);
  EXPECT_EQ(Show("RL.RESET k"), "2");
  EXPECT_EQ(Show("RL.ALLOW k @p"), "1 0 0 60000 0");
}

TEST_F(BanCommandTest, BadBans) {
  struct Case {
    std::string_view word;
    std::string_view error;
  };
  for (const auto& [word, error] : std::vector<Case>{
           {"1/m,ban=", "ban '' needs a unit (us, ms, s, m, h, d, w)"},
           {"1/m,ban=15", "ban '15' needs a unit (us, ms, s, m, h, d, w)"},
           {"1/m,ban=15x", "unknown unit 'x' (us, ms, s, m, h, d, w)"},
           {"1/m,ban=day", "unknown unit 'day' (us, ms, s, m, h, d, w)"},
           {"1/m,ban=0s", "ban must be 1us to 2^58 ns (9 years)"},
           {"1/m,ban=3337d", "ban must be 1us to 2^58 ns (9 years)"},
           {"1/m,ban=99999999999999999999s", "ban must be 1us to 2^58 ns (9 years)"},
           {"1/m,ban=1m,ban=1m", "option 'ban=' is given twice"},
           {"1/m,sliding,ban=1m", "ban= is for token buckets and fixed windows"},
           {"1/day,ban=1m", "ban= is for token buckets and fixed windows"},
           {"unlimited,ban=1m", "unlimited takes no options"},
           {"none,ban=1m", "none takes no options"},
       }) {
    const std::string text = "ERR invalid limit '" + std::string(word) + "': " + std::string(error);
    EXPECT_EQ(Show("RL.ALLOW k " + std::string(word)), text);
    EXPECT_EQ(Show("RL.POLICY SET p " + std::string(word)), text);
  }
  Show("RL.POLICY SET p 1/m");
  EXPECT_THAT(Show("RL.ALLOW k @p,ban=1m"), HasSubstr("unknown option 'ban=1m'"));
  EXPECT_THAT(Show("CL.THROTTLE k 1 1 60 ban=1m"), HasSubstr("'ban=1m'"));
  EXPECT_EQ(Show("DBSIZE"), "0");
}

// --- RL.WAIT ---

class BanWaitTest : public RlWaitTest {};

TEST_F(BanWaitTest, StartsOneWhereThePatienceIsTooShort) {
  client_.Run("RL.ALLOW k 1/s,ban=15m");
  EXPECT_EQ(client_.Show("RL.WAIT k 1/s,ban=15m TIMEOUT 999"), "0 0 900000 900000 0");
  EXPECT_EQ(client_.Show("RL.WAIT k 1/s,ban=15m TIMEOUT 999"), "0 0 900000 900000 0");
  EXPECT_EQ(StatsText(client_), "(total) 1 2 0 1 bans=1;1/s,ban=15m 1 2 0 1 bans=1;");
}

// The second limit denies; the first would have had its token within the patience.
TEST_F(BanWaitTest, StartsNoneForALimitThatCanBeWaitedFor) {
  client_.Run("RL.ALLOW k 1/s,ban=1h 1/m,ban=2h");
  EXPECT_EQ(client_.Show("RL.WAIT k 1/s,ban=1h 1/m,ban=2h TIMEOUT 5000"), "0 0 7200000 7200000 1");
  EXPECT_EQ(client_.Show("RL.INSPECT k"),
            "[\"1/s,ban=1h\" 0 1000 1 0]\n[\"1/m,ban=2h\" 0 7200000 1 7200000]");
}

TEST_F(BanWaitTest, AClientThatWaitsIsNotDenied) {
  client_.Run("RL.ALLOW k 1/s,ban=15m");
  Wait("RL.WAIT k 1/s,ban=15m TIMEOUT 1000", seconds{1});
  EXPECT_EQ(other_.Show("RL.INSPECT k"), "[[\"1/s,ban=15m\" 0 2000 2 0]]");
  Advance(seconds{1});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0"));
}

// The first token after a ban goes to the client that has waited for it. A denial before the next
// one does not start another ban.
TEST_F(BanWaitTest, ABanCanBeWaitedFor) {
  client_.Run("RL.ALLOW k 1/s,ban=3s");
  EXPECT_EQ(client_.Show("RL.ALLOW k 1/s,ban=3s"), "0 0 3000 3000 0");
  Wait("RL.WAIT k 1/s,ban=3s TIMEOUT 5000", seconds{3});
  Advance(seconds{2});
  EXPECT_EQ(other_.Show("RL.ALLOW k 1/s,ban=3s"), "0 0 2000 2000 0");
  Advance(seconds{1});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0"));
  Advance(seconds{1});
  EXPECT_EQ(other_.Show("RL.ALLOW k 1/s,ban=3s"), "1 0 0 1000 0");
}

TEST_F(BanWaitTest, AClientThatLeavesGivesTheBanBack) {
  client_.Run("RL.ALLOW k 1/s,ban=3s");
  client_.Run("RL.ALLOW k 1/s,ban=3s");
  const std::string banned = client_.Show("RL.INSPECT k");
  auto waiter = std::make_unique<Client>(client_.host());
  Wait(*waiter, "RL.WAIT k 1/s,ban=3s TIMEOUT 5000", seconds{3});
  EXPECT_NE(client_.Show("RL.INSPECT k"), banned);
  Leave(waiter);
  EXPECT_EQ(client_.Show("RL.INSPECT k"), banned);
}

}  // namespace
}  // namespace weir
