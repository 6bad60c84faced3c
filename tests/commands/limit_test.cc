// Goal: RL.ALLOW and RL.PEEK answer exactly the documented bytes, in RESP2 and RESP3. Method:
// conversations at one instant, where every number can be computed by hand.
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

// "user:42" may do 10 a second and 1000 an hour; one token of the slower is worth 3.6 s.
TEST(RlAllowTest, TheFirstExample) {
  Client client;
  EXPECT_EQ(client.Show("RL.ALLOW user:42 10/s 1000/h"), "1 9 0 3600 0");
}

TEST(RlAllowTest, ThreeKeysAndFourLimitsInOneRequest) {
  Client client;
  EXPECT_EQ(
      client.Show(
          "RL.ALLOW ip:1.2.3.4 100/s AND user:42 10/s 1000/h COST 3 AND tenant:7 1M/d WITHLIMITS"),
      "1 7 0 10800 1\n"
      "[[\"100/s\" 1 100 99 0 10 0 1 0]\n"
      " [\"10/s\" 1 10 7 0 300 1 3 0]\n"
      " [\"1000/h\" 1 1000 997 0 10800 1 3 0]\n"
      " [\"1M/d\" 1 1000000 999999 0 87 2 1 0]]");
}

TEST(RlAllowTest, CountsDownDeniesAndComesBack) {
  Client client;
  for (const char* numbers :
       {"1 2 0 334 0", "1 1 0 667 0", "1 0 0 1000 0", "0 0 334 1000 0", "0 0 334 1000 0"}) {
    EXPECT_EQ(client.Run("RL.ALLOW k 3/s"), Five(numbers));
  }
  client.clock().Advance(Nanos{333'333'333});  // a third of a nanosecond too early
  EXPECT_EQ(client.Run("RL.ALLOW k 3/s"), Five("0 0 1 667 0"));
  client.clock().Advance(Nanos{1});
  EXPECT_EQ(client.Run("RL.ALLOW k 3/s"), Five("1 0 0 1000 0"));
}

TEST(RlAllowTest, WaitingTheToldTimeIsEnough) {
  Client client;
  for (const std::string line :
       {"RL.ALLOW k 7/11ms", "RL.ALLOW k 3/s COST 2", "RL.ALLOW k 300M/s COST 299999999"}) {
    RespValue reply = client.Ask(line);
    while (reply.elements[0].number == 1) reply = client.Ask(line);
    const std::int64_t told = reply.elements[2].number;
    ASSERT_GT(told, 0);
    client.clock().Advance(milliseconds{told});
    EXPECT_EQ(client.Ask(line).elements[0].number, 1) << line;
  }
}

TEST(RlAllowTest, NeverIsMinusOne) {
  Client client;
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s COST 11"), Five("0 10 -1 0 0"));
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s COST 9223372036854775807"), Five("0 10 -1 0 0"));
  // Never outranks any wait, in any position.
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s COST 10"), Five("1 0 0 1000 0"));
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s 5/s,cost=6"), Five("0 0 -1 1000 1"));
}

// A denied request charges nothing, not even the limits that would have passed.
TEST(RlAllowTest, AllOrNothing) {
  Client client;
  EXPECT_EQ(client.Run("RL.ALLOW b 1/h"), Five("1 0 0 3600000 0"));
  for (int time = 0; time < 3; ++time) {
    EXPECT_EQ(client.Run("RL.ALLOW a 10/s AND b 1/h AND c 1/d"), Five("0 0 3600000 3600000 1"));
  }
  EXPECT_EQ(client.Run("EXISTS a c"), ":0\r\n");
  EXPECT_EQ(client.Run("RL.PEEK a 10/s"), Five("1 9 0 100 0"));
}

// The deciding limit has the longest wait if denied, the fewest remaining tokens if allowed; the
// first limit wins a tie.
TEST(RlAllowTest, TheIndexCountsOverTheWholeCommand) {
  Client client;
  EXPECT_EQ(client.Run("RL.PEEK a 9/s AND b 5/s 7/s AND c 5/s"), Five("1 4 0 200 1"));
  EXPECT_EQ(client.Run("RL.ALLOW b 7/s COST 7"), Five("1 0 0 1000 0"));
  EXPECT_EQ(client.Run("RL.ALLOW c 5/s COST 5"), Five("1 0 0 1000 0"));
  EXPECT_EQ(client.Run("RL.PEEK a 9/s AND b 5/s 7/s AND c 5/s"), Five("0 0 200 1000 3"));
  EXPECT_EQ(client.Run("RL.PEEK c 5/s AND d 1/s AND c 5/s"),
            Five("0 0 400 1000 0"));  // one check of cost 2
}

TEST(RlAllowTest, TheCostOfALimitOverridesThatOfItsGroup) {
  Client client;
  EXPECT_EQ(client.Run("RL.ALLOW a 10/s 20/s,cost=5 30/s,cost=0 COST 2 WITHLIMITS"),
            "*6\r\n:1\r\n:8\r\n:0\r\n:250\r\n:0\r\n*3\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:8\r\n:0\r\n:200\r\n:0\r\n:2\r\n:0\r\n"
            "*9\r\n$4\r\n20/s\r\n:1\r\n:20\r\n:15\r\n:0\r\n:250\r\n:0\r\n:5\r\n:0\r\n"
            "*9\r\n$4\r\n30/s\r\n:1\r\n:30\r\n:30\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n");
  // The cost is not part of what tells buckets apart.
  EXPECT_EQ(client.Run("RL.PEEK a 20/s,cost=15"), Five("1 0 0 1000 0"));
}

// Each group has its own cost, or 1 if it gives none.
TEST(RlAllowTest, EachGroupHasItsOwnCost) {
  Client client;
  EXPECT_EQ(client.Run("RL.ALLOW a 10/s COST 4 AND b 10/s AND c 10/s COST 2"), Five("1 6 0 400 0"));
  EXPECT_EQ(client.Run("RL.INSPECT a"), "*1\r\n*5\r\n$4\r\n10/s\r\n:6\r\n:400\r\n:4\r\n:0\r\n");
  EXPECT_EQ(client.Run("RL.INSPECT b"), "*1\r\n*5\r\n$4\r\n10/s\r\n:9\r\n:100\r\n:1\r\n:0\r\n");
  EXPECT_EQ(client.Run("RL.INSPECT c"), "*1\r\n*5\r\n$4\r\n10/s\r\n:8\r\n:200\r\n:2\r\n:0\r\n");
}

TEST(RlAllowTest, CostZeroPassesAndCreatesNothing) {
  Client client;
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s COST 0"), Five("1 10 0 0 0"));
  EXPECT_EQ(client.Run("DBSIZE"), ":0\r\n");
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s COST 10"), Five("1 0 0 1000 0"));
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s COST 0"), Five("1 0 0 1000 0"));
}

// One bucket named twice is one check with the summed cost; both report its decision.
TEST(RlAllowTest, TheSameBucketTwiceIsOneCheck) {
  Client client;
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s COST 3 AND k 10/1000ms,name=again COST 4 WITHLIMITS"),
            "*6\r\n:1\r\n:3\r\n:0\r\n:700\r\n:0\r\n*2\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:3\r\n:0\r\n:700\r\n:0\r\n:3\r\n:0\r\n"
            "*9\r\n$5\r\nagain\r\n:1\r\n:10\r\n:3\r\n:0\r\n:700\r\n:1\r\n:4\r\n:0\r\n");
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s COST 2 AND k 10/s COST 2"), Five("0 3 100 700 0"));
  // The same rate with other numbers is another limit.
  EXPECT_EQ(client.Run("RL.ALLOW k 20/2s,burst=10"), Five("1 9 0 100 0"));
}

TEST(RlAllowTest, NamesReplaceTheTextOfALimit) {
  Client client;
  EXPECT_EQ(client.Run("RL.PEEK k 60/60s,name=per-minute 1000/24h WITHLIMITS"),
            "*6\r\n:1\r\n:59\r\n:0\r\n:86400\r\n:0\r\n*2\r\n"
            "*9\r\n$10\r\nper-minute\r\n:1\r\n:60\r\n:59\r\n:0\r\n:1000\r\n:0\r\n:1\r\n:0\r\n"
            "*9\r\n$6\r\n1000/d\r\n:1\r\n:1000\r\n:999\r\n:0\r\n:86400\r\n:0\r\n:1\r\n:0\r\n");
}

// In RESP3 the five numbers stay an array, which every client can read; the details of a limit are
// a map.
TEST(RlAllowTest, BytesInResp3) {
  Client client;
  client.Run("HELLO 3");
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s"), Five("1 9 0 100 0"));
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s 5/s,cost=6,name=x WITHLIMITS"),
            "*6\r\n:0\r\n:5\r\n:-1\r\n:100\r\n:1\r\n*2\r\n"
            "%9\r\n$4\r\nname\r\n$4\r\n10/"
            "s\r\n$7\r\nallowed\r\n:1\r\n$5\r\nlimit\r\n:10\r\n$9\r\nremaining\r\n:9\r\n"
            "$14\r\nretry_after_ms\r\n:0\r\n$14\r\nreset_after_ms\r\n:100\r\n"
            "$5\r\ngroup\r\n:0\r\n$4\r\ncost\r\n:1\r\n$4\r\nkeep\r\n:0\r\n"
            "%9\r\n$4\r\nname\r\n$1\r\nx\r\n$7\r\nallowed\r\n:0\r\n$5\r\nlimit\r\n:5\r\n$"
            "9\r\nremaining\r\n:5\r\n"
            "$14\r\nretry_after_ms\r\n:-1\r\n$14\r\nreset_after_ms\r\n:0\r\n"
            "$5\r\ngroup\r\n:0\r\n$4\r\ncost\r\n:6\r\n$4\r\nkeep\r\n:0\r\n");
  EXPECT_EQ(client.Run("RL.PEEK k 10/s"), Five("1 8 0 200 0"));
}

TEST(RlAllowTest, WithLimitsBytesInResp2) {
  Client client;
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s 5/s,cost=6,name=x WITHLIMITS"),
            "*6\r\n:0\r\n:5\r\n:-1\r\n:0\r\n:1\r\n*2\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:10\r\n:0\r\n:0\r\n:0\r\n:1\r\n:0\r\n"
            "*9\r\n$1\r\nx\r\n:0\r\n:5\r\n:5\r\n:-1\r\n:0\r\n:0\r\n:6\r\n:0\r\n");
}

TEST(RlAllowTest, KeysMaySpellKeywords) {
  Client client;
  EXPECT_EQ(client.Run("RL.ALLOW COST 10/s COST 2 AND AND 9/s AND WITHLIMITS 8/s AND AT 7/s"),
            Five("1 6 0 200 3"));
  EXPECT_EQ(client.Run("EXISTS COST AND WITHLIMITS AT"), ":4\r\n");
  EXPECT_EQ(client.Run("EXISTS cost and 10/s"), ":0\r\n");  // keys are bytes
}

TEST(RlAllowTest, KeywordsAndCommandsHaveNoCase) {
  Client client;
  const std::string first = client.Run("RL.PEEK a 10/s COST 2 AND b 5/s WITHLIMITS");
  for (const char* line : {"rl.peek a 10/s cost 2 and b 5/s withlimits",
                           "Rl.PeEk a 10/s CoSt 2 aNd b 5/s WithLimits"}) {
    EXPECT_EQ(client.Run(line), first) << line;
  }
  // Units are case-sensitive: m is a minute, M a million.
  EXPECT_THAT(client.Run("RL.PEEK a 10/S"),
              testing::StartsWith("-ERR invalid limit '10/S': unknown unit 'S'"));
  EXPECT_THAT(client.Run("RL.PEEK a 10m/s"),
              testing::StartsWith("-ERR invalid limit '10m/s': unknown multiplier 'm'"));
}

TEST(RlAllowTest, SixtyFourLimitsAreAnswered) {
  Client client;
  std::string line = "RL.ALLOW k";
  for (int i = 1; i <= 64; ++i) line += " " + std::to_string(i) + "/h";
  const RespValue reply = client.Ask(line + " WITHLIMITS");
  ASSERT_EQ(reply.elements.size(), 6U);
  EXPECT_EQ(reply.elements[5].elements.size(), 64U);
  EXPECT_EQ(client.Ask("RL.INSPECT k").elements.size(), 64U);
}

// Clients of one server share its buckets.
TEST(RlAllowTest, ClientsShareTheBuckets) {
  Client one;
  Client two(one.host());
  EXPECT_EQ(one.Run("RL.ALLOW k 2/h"), Five("1 1 0 1800000 0"));
  EXPECT_EQ(two.Run("RL.ALLOW k 2/h"), Five("1 0 0 3600000 0"));
  EXPECT_EQ(one.Run("RL.ALLOW k 2/h"), Five("0 0 1800000 3600000 0"));
}

}  // namespace
}  // namespace weir
