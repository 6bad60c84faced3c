// Goal: RL.ALLOW and RL.PEEK name the limit that decided, and answer exactly the documented bytes
// in RESP3. Method: conversations at one instant, where every number can be computed by hand. What
// a request decides: conformance_requests.h and the examples of the commands.
#include <string>

#include <gtest/gtest.h>

#include "tests/commands/client.h"

namespace weir {
namespace {

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

TEST(RlAllowTest, SixtyFourLimitsAreAnswered) {
  Client client;
  std::string line = "RL.ALLOW k";
  for (int i = 1; i <= 64; ++i) line += " " + std::to_string(i) + "/h";
  const RespValue reply = client.Ask(line + " WITHLIMITS");
  ASSERT_EQ(reply.elements.size(), 6U);
  EXPECT_EQ(reply.elements[5].elements.size(), 64U);
  EXPECT_EQ(client.Ask("RL.INSPECT k").elements.size(), 64U);
}

}  // namespace
}  // namespace weir
