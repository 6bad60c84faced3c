// Goal: RL.CHARGE takes what has been used from every limit, whether it is there or not, up to a
// bounded debt, and says what RL.ALLOW would have said. Method: examples computed by hand.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"
#include "tests/support/resp_value.h"
#include "tests/support/stats_text.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class RlChargeTest : public testing::Test {
 protected:
  std::string Run(std::string_view line) { return client_.Run(line); }
  void Advance(Nanos time) { client_.clock().Advance(time); }

  Client client_;
};

TEST_F(RlChargeTest, CountsUsageThatAnEmptyBucketWouldForget) {
  EXPECT_EQ(Run("RL.ALLOW p 10/m COST 10"), Five("1 0 0 60000 0"));
  EXPECT_EQ(Run("RL.CHARGE p 10/m COST 3"), Five("0 0 24000 78000 0"));
  Advance(seconds{18});
  EXPECT_EQ(Run("RL.ALLOW p 10/m"), Five("0 0 6000 60000 0"));
  Advance(seconds{6});
  EXPECT_EQ(Run("RL.ALLOW p 10/m"), Five("1 0 0 60000 0"));
}

// As RL.ALLOW, but with the time until the next token.
TEST_F(RlChargeTest, WithinTheLimitsIsAnAdmission) {
  EXPECT_EQ(Run("RL.CHARGE k 10/s COST 9"), Five("1 1 0 900 0"));
  EXPECT_EQ(Run("RL.CHARGE k 10/s"), Five("1 0 100 1000 0"));
  Advance(milliseconds{100} - Nanos{1});
  EXPECT_EQ(Run("RL.CHARGE k 10/s COST 0"), Five("1 0 1 901 0"));
  Advance(Nanos{1});
  EXPECT_EQ(Run("RL.CHARGE k 10/s COST 0"), Five("1 1 0 900 0"));
}

TEST_F(RlChargeTest, ACostOfZeroTakesAndCreatesNothing) {
  EXPECT_EQ(Run("RL.CHARGE k 10/s 5/s,fixed COST 0"), Five("1 5 0 0 1"));
  EXPECT_EQ(Run("EXISTS k"), ":0\r\n");
}

// A bucket owes as much again as it holds, or what comes back within the longest wait, which is 60
// s here: whichever is more.
TEST_F(RlChargeTest, TheDebtOfABucketIsBounded) {
  EXPECT_EQ(Run("RL.CHARGE k 10/h COST 21"), Five("0 0 3960000 7200000 0"));
  EXPECT_EQ(Run("RL.CHARGE k 10/h COST 9223372036854775807"), Five("0 0 3960000 7200000 0"));
  EXPECT_EQ(client_.Show("RL.INSPECT k"), "[[\"10/h\" 0 7200000 20 0]]");
  EXPECT_EQ(Run("RL.CHARGE l 10/s COST 1000"), Five("0 0 60100 61000 0"));
  EXPECT_EQ(client_.Show("RL.INSPECT l"), "[[\"10/s\" 0 61000 610 0]]");
  Advance(seconds{61});
  EXPECT_EQ(Run("RL.ALLOW l 10/s COST 10"), Five("1 0 0 1000 0"));
}

TEST_F(RlChargeTest, TheDebtOfAFixedWindowEndsWithIt) {
  EXPECT_EQ(Run("RL.CHARGE k 10/m,fixed COST 14"), Five("0 0 60000 60000 0"));
  EXPECT_EQ(client_.Show("RL.INSPECT k"), "[[\"10/m,fixed\" 0 60000 14 0]]");
  Advance(seconds{20});
  EXPECT_EQ(Run("RL.CHARGE k 10/m,fixed COST 7"), Five("0 0 40000 40000 0"));
  EXPECT_EQ(client_.Show("RL.INSPECT k"), "[[\"10/m,fixed\" 0 40000 20 0]]");
  Advance(seconds{40});
  EXPECT_EQ(Run("RL.ALLOW k 10/m,fixed COST 10"), Five("1 0 0 60000 0"));
}

// The clock begins at the beginning of a window.
TEST_F(RlChargeTest, TheDebtOfASlidingWindowFadesThroughTheNext) {
  EXPECT_EQ(Run("RL.CHARGE k 10/m,sliding COST 100"), Five("0 0 93000 120000 0"));
  Advance(seconds{60});
  EXPECT_EQ(client_.Show("RL.INSPECT k"), "[[\"10/m,sliding\" 0 60000 20 0]]");
  Advance(seconds{30});  // 10 of the 20 have faded
  EXPECT_EQ(Run("RL.ALLOW k 10/m,sliding COST 1"), Five("0 0 3000 30000 0"));
  EXPECT_EQ(Run("RL.CHARGE k 10/m,sliding COST 12"), Five("0 0 36000 90000 0"));
  EXPECT_EQ(client_.Show("RL.INSPECT k"), "[[\"10/m,sliding\" 0 90000 20 0]]");
}

// --- Several limits -----------------------------------------------------------------------------

// All are charged, those of other keys, too; the index is that of the limit which would have
// denied.
TEST_F(RlChargeTest, ChargesEveryLimitWhicheverLacksTokens) {
  EXPECT_EQ(client_.Show("RL.CHARGE a 5/s 100/d COST 8 AND b 10/h,name=hourly WITHLIMITS"),
            "0 0 800 6912000 0\n"
            "[[\"5/s\" 0 5 0 800 1600 0 8 0]\n"
            " [\"100/d\" 1 100 92 0 6912000 0 8 0]\n"
            " [\"hourly\" 1 10 9 0 360000 1 1 0]]");
  // The day has the longest wait for a token, but the seconds are what denies.
  EXPECT_EQ(Run("RL.CHARGE a 5/s 100/d COST 92"), Five("0 0 864000 86400000 0"));
  EXPECT_EQ(Run("RL.PEEK a 5/s 100/d COST 1"), Five("0 0 864000 86400000 1"));
}

TEST_F(RlChargeTest, NoneIsNotChargedAndUnlimitedPasses) {
  EXPECT_EQ(Run("RL.CHARGE k none 10/s COST 3"), Five("0 0 -1 300 0"));
  EXPECT_EQ(Run("RL.PEEK k 10/s COST 0"), Five("1 7 0 300 0"));
  EXPECT_EQ(Run("RL.CHARGE k unlimited COST 3"), Five("1 9223372036854775807 0 0 0"));
}

// A shadow never says that the charge was beyond, and is charged anyway.
TEST_F(RlChargeTest, ShadowsAreCharged) {
  EXPECT_EQ(Run("RL.CHARGE k 10/s 5/m,shadow COST 8"), Five("1 2 0 800 0"));
  EXPECT_EQ(client_.Show("RL.INSPECT k"), "[\"10/s\" 2 800 8 0]\n[\"5/m,shadow\" 0 96000 8 0]");
  EXPECT_EQ(Run("RL.CHARGE k 5/m,shadow COST 9"), Five("1 0 0 120000 0"));
}

TEST_F(RlChargeTest, TheSameBucketTwiceIsOneCharge) {
  EXPECT_EQ(Run("RL.CHARGE k 10/s 10/s,cost=5 AND k 10/s COST 9"), Five("0 0 600 1500 0"));
  EXPECT_EQ(StatsText(client_), "(total) 0 1 0 0 charged_beyond=1;10/s 0 1 0 0 charged_beyond=1;");
}

// What must be kept is part of the question, and of the wait for a token, but is not taken.
TEST_F(RlChargeTest, KeepIsAskedForAndNotTaken) {
  EXPECT_EQ(Run("RL.CHARGE k 10/s,keep=5 COST 5"), Five("1 5 100 500 0"));
  EXPECT_EQ(Run("RL.CHARGE k 10/s,keep=5"), Five("0 4 200 600 0"));
  EXPECT_EQ(Run("RL.CHARGE k 10/s,keep=10 COST 0"), Five("0 4 -1 600 0"));
  // The tokens were there.
  EXPECT_EQ(StatsText(client_), "(total) 1 2 0 0;10/s 1 2 0 0;");
}

TEST_F(RlChargeTest, PoliciesAndTheirOverrides) {
  Run("RL.POLICY SET p 10/m 100/h,cost=2");
  EXPECT_EQ(Run("RL.CHARGE k @p COST 12"), Five("0 0 18000 72000 0"));
  EXPECT_EQ(client_.Show("RL.INSPECT k"), "[\"@p#0\" 0 72000 12 0]\n[\"@p#1\" 98 72000 2 0]");
  Run("RL.POLICY OVERRIDE p k 5/m");  // cuts the debt to one capacity
  EXPECT_EQ(Run("RL.PEEK k @p COST 0"), Five("1 0 0 60000 0"));
  // The debt stays, in time, and the present numbers bound what a charge adds to it.
  Run("RL.POLICY SET p 1/m");
  Run("RL.POLICY UNOVERRIDE p k");
  EXPECT_EQ(Run("RL.CHARGE k @p COST 5"), Five("0 0 120000 120000 0"));
  EXPECT_EQ(client_.Show("RL.INSPECT k"), "[[\"@p#0\" 0 120000 2 0]]");
}

// --- Other commands, and debts ------------------------------------------------------------------

TEST_F(RlChargeTest, OthersWaitUntilTheDebtIsPaid) {
  Run("RL.CHARGE k 10/s COST 15");
  EXPECT_EQ(Run("RL.TAKE k 10/s UPTO 5"), Five("0 0 600 1500 0"));
  EXPECT_EQ(Run("RL.WAIT k 10/s TIMEOUT 599"), Five("0 0 600 1500 0"));
  EXPECT_EQ(Run("RL.WAIT k 10/s TIMEOUT 600"), "");
  Advance(milliseconds{600});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0"));
  Run("RL.CHARGE l 10/s COST 15");
  EXPECT_EQ(Run("RL.REFUND l 10/s COST 7"), Five("1 2 0 800 0"));
  Run("RL.CHARGE l 10/s COST 15");
  EXPECT_EQ(Run("RL.RESET l 10/s"), ":1\r\n");
  EXPECT_EQ(Run("RL.ALLOW l 10/s COST 10"), Five("1 0 0 1000 0"));
}

TEST_F(RlChargeTest, CountsAsAllowedOrDenied) {
  Run("RL.CHARGE a 10/s COST 9");
  Run("RL.CHARGE a 10/s 100/s,name=api COST 4");
  Run("RL.CHARGE a 10/s,shadow COST 12");
  Run("RL.CHARGE a none");
  EXPECT_EQ(StatsText(client_),
            "(total) 2 2 1 1 charged_beyond=2;10/s 1 1 0 1 charged_beyond=1;"
            "10/s,shadow 0 0 1 0 charged_beyond=1;api 1 0 0 0;none 0 1 0 0;");
  EXPECT_EQ(client_.Show("RL.TOP"), "[[\"a\" 2 0]]");
}

TEST_F(RlChargeTest, StandsInATransaction) {
  Run("MULTI");
  for (const char* line : {"RL.CHARGE k 10/s COST 12", "RL.ALLOW k 10/s", "RL.CHARGE k 10/s"}) {
    EXPECT_EQ(Run(line), "+QUEUED\r\n");
  }
  EXPECT_EQ(Run("EXEC"),
            "*3\r\n" + Five("0 0 300 1200 0") + Five("0 0 300 1200 0") + Five("0 0 400 1300 0"));
}

TEST_F(RlChargeTest, BytesInResp3AreTheSame) {
  Run("HELLO 3");
  EXPECT_EQ(Run("RL.CHARGE k 10/s COST 12"), Five("0 0 300 1200 0"));
  EXPECT_THAT(Run("RL.CHARGE k 10/s WITHLIMITS"), HasSubstr("%9\r\n$4\r\nname\r\n$4\r\n10/s\r\n"));
}

TEST_F(RlChargeTest, BadRequestsAreErrorsThatChangeNothing) {
  const std::string unexpected =
      ": after the limits of a key come COST once, then AND key limit ..., then WITHLIMITS and AT "
      "once each\r\n";
  for (const auto& [line, error] : std::vector<std::pair<std::string, std::string>>{
           {"k", "wrong number of arguments for 'rl.charge' command\r\n"},
           {"k COST 5", "expected a limit as in 10/s after the key 'k'\r\n"},
           {"k 10/s UPTO 5", "unexpected 'UPTO'" + unexpected},
           {"k 10/s TIMEOUT 5", "unexpected 'TIMEOUT'" + unexpected},
           {"k 10/s COST 5 COST 6", "unexpected 'COST'" + unexpected},
           {"k 10/s COST -1",
            "invalid COST '-1': value is not an integer or out of range (0 to "
            "9223372036854775807)\r\n"},
           {"k 10/s AND l", "expected a limit as in 10/s after the key 'l'\r\n"},
           {"k 10/s @absent", "unknown policy 'absent': RL.POLICY SET makes one\r\n"},
           {"k 10/s 1/3285d,burst=5",
            "invalid limit '1/3285d,burst=5': limit is too long: burst "
            "times period per token must be at most 2^60 ns (36 "
            "years)\r\n"}}) {
    EXPECT_EQ(Run("RL.CHARGE " + line), "-ERR " + error) << line;
  }
  EXPECT_EQ(Run("RL.CHARGE k 5,held"), "-ERR a held limit needs RL.RESERVE\r\n");
  EXPECT_THAT(Run("RL.CHARGE k 10/s,held"), HasSubstr("a held limit has a count only"));
  EXPECT_EQ(Run("DBSIZE"), ":0\r\n");
  EXPECT_EQ(StatsText(client_), "(total) 0 0 0 0;");
}

// A request that brings its time charges at that time.
TEST(RlChargeAtTest, TakesTheTimeOfTheRequest) {
  Client client({.explicit_time = true});
  const std::string at = " AT 1767225600000000000";
  EXPECT_EQ(client.Run("RL.CHARGE k 10/s COST 12" + at), Five("0 0 300 1200 0"));
  EXPECT_EQ(client.Run("RL.CHARGE k 10/s COST 12" + at), Five("0 0 1500 2400 0"));
  EXPECT_EQ(client.Run("RL.PEEK k 10/s COST 10 AT 1767225602400000000"), Five("1 0 0 1000 0"));
}

}  // namespace
}  // namespace weir
