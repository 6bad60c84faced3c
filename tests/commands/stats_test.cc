// Goal: RL.STATS counts the decision of each limit once, and RL.TOP lists the most denied keys, or
// those most often near their limits.
// Method: requests, and the counts after each.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/policies/limit_memo.h"
#include "core/rules/limit_counters.h"
#include "tests/commands/client.h"
#include "tests/support/stats_text.h"

namespace weir {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

TEST(RlStatsTest, NothingHappenedYet) {
  Client client;
  EXPECT_EQ(StatsText(client), "(total) 0 0 0 0;");
  EXPECT_EQ(client.Run("RL.TOP"), "*0\r\n");
}

TEST(RlStatsTest, CountsTheDecisionOfEachLimit) {
  Client client;
  client.Run("RL.ALLOW a 10/s 2/m");
  client.Run("RL.ALLOW a 10/s 2/m");  // uses up 2/m
  client.Run("RL.ALLOW a 10/s 2/m");  // 10/s would have admitted: it counts nothing
  EXPECT_EQ(StatsText(client), "(total) 2 1 0 1;10/s 2 0 0 0;2/m 2 1 0 1;");
}

TEST(RlStatsTest, NearIsFromEightyPercentOn) {
  Client client;
  client.Run("RL.ALLOW a 10/s COST 7");
  EXPECT_EQ(StatsText(client), "(total) 1 0 0 0;10/s 1 0 0 0;");
  client.Run("RL.ALLOW a 10/s");
  EXPECT_EQ(StatsText(client), "(total) 2 0 0 1;10/s 2 0 0 1;");
}

TEST(RlStatsTest, ShadowsCountWhatTheyWouldHaveDenied) {
  Client client;
  for (int i = 0; i < 3; ++i) client.Run("RL.ALLOW a 10/s 1/s,shadow");
  EXPECT_EQ(StatsText(client), "(total) 3 0 2 1;1/s,shadow 1 0 2 1;10/s 3 0 0 0;");
}

TEST(RlStatsTest, LabelsAndPoliciesAreNames) {
  Client client;
  client.Run("RL.POLICY SET free 2/s 9/m,name=minutes");
  client.Run("RL.ALLOW a @free 5/s,name=login");
  client.Run("RL.ALLOW a @free,shadow");
  EXPECT_EQ(StatsText(client),
            "(total) 2 0 0 0;@free#0 1 0 0 0;@free#0,shadow 1 0 0 0;@free#1 minutes 1 0 0 0;"
            "@free#1,shadow minutes 1 0 0 0;login 1 0 0 0;");
}

TEST(RlStatsTest, ALabelIsNotTheTotal) {
  Client client;
  client.Run("RL.ALLOW a 9/s,name=total");
  client.Run("RL.ALLOW a 9/s,name=total COST 10");
  EXPECT_EQ(StatsText(client), "(total) 1 1 0 0;total 1 1 0 0;");
}

// Otherwise its counts would be in the row of CL.THROTTLE. A name that only resembles it has a row
// of its own.
TEST(RlStatsTest, ALabelIsNotTheNameOfACommand) {
  Client client;
  for (const std::string label : {"cl.throttle", "CL.Throttle", "rl.allow", "rl.x"}) {
    const auto error = [&label](const std::string& limit) {
      return "-ERR invalid limit '" + limit + "': name '" + label +
             "' must not begin with rl. or cl., as commands do\r\n";
    };
    const std::string spelled = "9/s,name=" + label;
    EXPECT_EQ(client.Run("RL.ALLOW a " + spelled), error(spelled));
    EXPECT_EQ(client.Run("RL.POLICY SET p " + spelled), error(spelled));
    EXPECT_EQ(client.Run("RL.POLICY SET p 9/s"), "+OK\r\n");
    EXPECT_EQ(client.Run("RL.ALLOW a @p,name=" + label), error("@p,name=" + label));
    EXPECT_EQ(client.Run("RL.POLICY OVERRIDE p k " + spelled), error(spelled));
  }
  client.Run("RL.ALLOW a 9/s,name=cl");
  client.Run("RL.ALLOW a 9/s,name=url.x");
  EXPECT_EQ(StatsText(client), "(total) 2 0 0 0;cl 1 0 0 0;url.x 1 0 0 0;");
}

// A repeated bucket is one check, under its first name. Another key has another bucket.
TEST(RlStatsTest, ABucketNamedTwiceCountsOnce) {
  Client client;
  client.Run("RL.ALLOW a 4/s 4/s 4/s,name=again");
  client.Run("RL.ALLOW a 4/s 4/s,shadow 4/s");
  EXPECT_EQ(StatsText(client), "(total) 1 1 0 0;4/s 1 1 0 0;");
  client.Run("RL.ALLOW b 9/s AND c 9/s AND b 9/s");
  EXPECT_EQ(StatsText(client), "(total) 2 1 0 0;4/s 1 1 0 0;9/s 2 0 0 0;");
}

class RlStatsOfWaitsTest : public testing::Test {
 protected:
  void SetUp() override {
    client_.Run("RL.ALLOW k 2/s COST 2");
    client_.Run("RL.STATS RESET");
  }

  Client client_;
  Client other_{client_.host()};
};

TEST_F(RlStatsOfWaitsTest, AWaitCountsWhenItIsServed) {
  client_.Run("RL.WAIT k 2/s 2/s,name=again 9/s,name=x 1/s,shadow,cost=2 TIMEOUT 1000");
  EXPECT_EQ(StatsText(other_), "(total) 0 0 0 0;");
  EXPECT_EQ(other_.Run("RL.TOP NEAR"), "*0\r\n");
  client_.clock().Advance(seconds{1});
  EXPECT_NE(client_.Receive(), "");
  EXPECT_EQ(StatsText(other_), "(total) 1 0 1 1;1/s,shadow 0 0 1 0;2/s 1 0 0 1;x 1 0 0 0;");
  EXPECT_EQ(other_.Show("RL.TOP NEAR"), "[[\"k\" 1 0]]");
}

TEST_F(RlStatsOfWaitsTest, AClientThatLeavesCountsForNothing) {
  {
    Client leaver(client_.host());
    EXPECT_EQ(leaver.Run("RL.WAIT k 2/s TIMEOUT 1000"), "");
  }
  EXPECT_EQ(StatsText(other_), "(total) 0 0 0 0;");
}

TEST_F(RlStatsOfWaitsTest, ADenialCountsAtOnce) {
  client_.Run("RL.WAIT k 2/s TIMEOUT 499");
  EXPECT_EQ(StatsText(other_), "(total) 0 1 0 0;2/s 0 1 0 0;");
}

// Other requests push the words of the waiter's limits out of the memo in the meantime.
TEST_F(RlStatsOfWaitsTest, AWaiterOutlivesTheMemo) {
  client_.Run("RL.WAIT k 2/s,name=x TIMEOUT 1000");
  for (std::size_t i = 0; i <= kMemoLimitsMax; ++i) {
    other_.Run("RL.PEEK a 1/s,name=" + std::to_string(i));
  }
  client_.clock().Advance(seconds{1});
  EXPECT_NE(client_.Receive(), "");
  EXPECT_EQ(StatsText(other_), "(total) 1 0 0 0;x 1 0 0 0;");
}

// Looks and refunds do not use up the names that are counted one by one, either.
TEST(RlStatsTest, LooksAndRefundsCountNothing) {
  Client client;
  for (std::size_t i = 0; i < kCountedLimitsMax; ++i) {
    client.Run("RL.PEEK a 1/s,name=" + std::to_string(i));
  }
  client.Run("RL.PEEK a 1/s COST 2");
  client.Run("RL.REFUND a 1/s");
  client.Run("RL.ALLOW a 1/x");
  EXPECT_EQ(StatsText(client), "(total) 0 0 0 0;");
  EXPECT_EQ(client.Run("RL.TOP"), "*0\r\n");
  client.Run("RL.ALLOW a 1/s");
  EXPECT_EQ(StatsText(client), "(total) 1 0 0 1;1/s 1 0 0 1;");
}

TEST(RlStatsTest, TakesWaitsAndThrottlesCount) {
  Client client;
  client.Run("RL.TAKE a 10/s UPTO 4");
  client.Run("RL.TAKE a 10/s UPTO 40");
  client.Run("RL.TAKE a 10/s UPTO 1");
  client.Run("RL.WAIT b 1/s TIMEOUT 0");
  client.Run("RL.WAIT b 1/s TIMEOUT 0");
  client.Run("CL.THROTTLE c 0 1 60");
  client.Run("CL.THROTTLE c 0 1 60");
  EXPECT_EQ(StatsText(client), "(total) 4 3 0 3;1/s 1 1 0 1;10/s 2 1 0 1;cl.throttle 1 1 0 1;");
  EXPECT_EQ(client.Show("RL.TOP"),
            "[\"a\" 1 0]\n[\"b\" 1 0]\n"
            "[\"c\" 1 0]");
}

TEST(RlStatsTest, ResetForgetsCountsAndKeys) {
  Client client;
  client.Run("RL.ALLOW a 1/s");
  client.Run("RL.ALLOW a 1/s");
  EXPECT_EQ(client.Run("RL.STATS RESET"), "+OK\r\n");
  EXPECT_EQ(StatsText(client), "(total) 0 0 0 0;");
  EXPECT_EQ(client.Run("RL.TOP"), "*0\r\n");
  EXPECT_EQ(client.Run("RL.TOP NEAR"), "*0\r\n");
  client.Run("RL.ALLOW a 1/s");
  EXPECT_EQ(StatsText(client), "(total) 0 1 0 0;1/s 0 1 0 0;");
}

TEST(RlStatsTest, TopBlamesTheKeyOfTheLimitThatDecided) {
  Client client;
  client.Run("RL.ALLOW ip 10/s AND user 1/s COST 2");
  client.Run("RL.ALLOW ip 10/s AND user 1/s COST 2");
  client.Run("RL.ALLOW ip none AND user 1/s");
  EXPECT_EQ(client.Show("RL.TOP 10"), "[\"user\" 2 0]\n[\"ip\" 1 0]");
  EXPECT_EQ(client.Ask("RL.TOP 1").elements.size(), 1U);
}

TEST(RlStatsTest, TopNearListsTheKeyOfEachLimitThatIsNearlyUsedUp) {
  Client client;
  client.Run("RL.ALLOW user 10/s COST 7 AND ip 9/s");
  EXPECT_EQ(client.Run("RL.TOP NEAR"), "*0\r\n");
  client.Run("RL.ALLOW user 10/s AND ip 9/s COST 6");
  EXPECT_EQ(client.Show("RL.TOP NEAR"), "[[\"user\" 1 0]]");
  client.Run("RL.ALLOW user 10/s AND ip 9/s");
  EXPECT_EQ(client.Show("RL.TOP NEAR"), "[\"user\" 2 0]\n[\"ip\" 1 0]");
  EXPECT_EQ(client.Show("RL.TOP 1 near"), "[[\"user\" 2 0]]");
  EXPECT_EQ(client.Run("RL.TOP"), "*0\r\n");
}

// The one limit would be near, had the other not denied.
TEST(RlStatsTest, TopNearHasNoKeyOfADenial) {
  Client client;
  client.Run("RL.ALLOW a 5/s COST 5 AND b none");
  client.Run("RL.ALLOW c 1/s COST 2");
  client.Run("RL.PEEK d 1/s");
  EXPECT_EQ(client.Run("RL.TOP NEAR"), "*0\r\n");
}

TEST(RlStatsTest, TopNearCountsAllThatTakeTokens) {
  Client client;
  client.Run("RL.TAKE a 10/s UPTO 10");
  client.Run("CL.THROTTLE b 0 1 60");
  client.Run("RL.CHARGE c 2/s COST 2");
  client.Run("RL.WAIT d 1/s TIMEOUT 1000");
  EXPECT_EQ(client.Show("RL.TOP NEAR"),
            "[\"a\" 1 0]\n[\"b\" 1 0]\n"
            "[\"c\" 1 0]\n[\"d\" 1 0]");
}

// Two limits of one key are two counts, and a bucket that is named twice is one.
TEST(RlStatsTest, TopNearAddsUpToNearLimit) {
  Client client;
  client.Run("RL.ALLOW a 1/s 2/s COST 1 AND b 4/s 4/s COST 2");
  client.Run("RL.ALLOW a 3/m COST 3 AND b 9/h");
  client.Run("RL.ALLOW c 5/s,shadow COST 4");
  EXPECT_EQ(StatsText(client),
            "(total) 3 0 0 4;1/s 1 0 0 1;2/s 1 0 0 0;3/m 1 0 0 1;4/s 1 0 0 1;"
            "5/s,shadow 1 0 0 1;9/h 1 0 0 0;");
  EXPECT_EQ(client.Show("RL.TOP NEAR"), "[\"a\" 2 0]\n[\"b\" 1 0]\n[\"c\" 1 0]");
}

TEST(RlStatsTest, TopLimitListsTheKeysThatOneLimitDenies) {
  Client client;
  EXPECT_EQ(client.Run("RL.TOP LIMIT 1/s"), "*0\r\n");
  client.Run("RL.POLICY SET free 1/s 2/h,name=hourly");
  for (const char* key : {"a", "a", "a", "b", "b"}) {
    client.Run(std::string("RL.ALLOW ") + key + " 1/s COST 2");
    client.Run(std::string("RL.ALLOW ") + key + " @free COST 2");
  }
  client.Run("RL.CHARGE b 1/s COST 9");
  client.Run("RL.ALLOW c 9/s,name=api COST 10");
  client.Run("CL.THROTTLE d 0 1 60 2");
  EXPECT_EQ(client.Show("RL.TOP LIMIT 1/s"), "[\"a\" 3 0]\n[\"b\" 3 0]");
  EXPECT_EQ(client.Show("RL.TOP limit 1/1s"), "[\"a\" 3 0]\n[\"b\" 3 0]") << "the same limit";
  EXPECT_EQ(client.Show("RL.TOP 1 LIMIT @free#0"), "[[\"a\" 3 0]]");
  EXPECT_EQ(client.Run("RL.TOP LIMIT \"@free#1 hourly\""), "*0\r\n") << "it has denied nothing";
  EXPECT_EQ(client.Show("RL.TOP LIMIT api"), "[[\"c\" 1 0]]");
  EXPECT_EQ(client.Show("RL.TOP LIMIT cl.throttle"), "[[\"d\" 1 0]]");
  client.Run("RL.STATS RESET");
  EXPECT_EQ(client.Run("RL.TOP LIMIT 1/s"), "*0\r\n");
}

TEST(RlStatsTest, ShapesInResp3) {
  Client client;
  client.Run("HELLO 3");
  client.Run("RL.ALLOW a 1/s");
  EXPECT_THAT(client.Run("RL.STATS"),
              HasSubstr("%7\r\n$4\r\nname\r\n$3\r\n1/s\r\n$7\r\nallowed\r\n:1\r\n"));
}

TEST(RlStatsTest, BadArguments) {
  Client client;
  EXPECT_EQ(client.Run("RL.STATS x"), "-ERR syntax error\r\n");
  for (const char* line :
       {"RL.TOP 0", "RL.TOP 1001", "RL.TOP -1", "RL.TOP x", "RL.TOP 0 NEAR", "RL.TOP x NEAR",
        "RL.TOP NEAR NEAR", "RL.TOP LIMIT", "RL.TOP NEAR LIMIT x"}) {
    EXPECT_THAT(client.Run(line), HasSubstr("out of range (1 to 1000)")) << line;
  }
  for (const char* line :
       {"RL.TOP 1 2", "RL.TOP NEAR 2", "RL.TOP NEAR x", "RL.TOP 1 NEAR 2", "RL.TOP LIMIT x NEAR"}) {
    EXPECT_EQ(client.Run(line), "-ERR syntax error\r\n") << line;
  }
  EXPECT_THAT(client.Run("RL.TOP 1 LIMIT x y"), HasSubstr("wrong number of arguments"));
}

}  // namespace
}  // namespace weir
