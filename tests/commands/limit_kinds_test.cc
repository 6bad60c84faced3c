// Goal: replies show every kind of limit, and every command that asks limits, as documented.
// Method: requests at instants of a clock that the test moves; the five numbers of each reply.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class CmdLimitKindsTest : public testing::Test {
 protected:
  // The integers of a reply, without WITHLIMITS.
  std::vector<std::int64_t> Ask(std::string_view line) {
    std::vector<std::int64_t> numbers;
    for (const RespValue& value : client_.Ask(line).elements) {
      if (value.elements.empty()) numbers.push_back(value.number);
    }
    return numbers;
  }
  void Wait(Nanos span) { client_.clock().Advance(span); }

  Client client_;
};

// --- windows ---

TEST_F(CmdLimitKindsTest, AFixedWindowOpensWithItsFirstRequest) {
  EXPECT_THAT(Ask("RL.ALLOW k 2/s,fixed"), ElementsAre(1, 1, 0, 1000, 0));
  Wait(milliseconds{900});
  EXPECT_THAT(Ask("RL.ALLOW k 2/s,fixed"), ElementsAre(1, 0, 0, 100, 0));
  EXPECT_THAT(Ask("RL.ALLOW k 2/s,fixed"), ElementsAre(0, 0, 100, 100, 0));
  Wait(milliseconds{100});
  EXPECT_THAT(Ask("RL.ALLOW k 2/s,fixed"), ElementsAre(1, 1, 0, 1000, 0));
}

TEST_F(CmdLimitKindsTest, AnAlignedWindowIsTheClocks) {
  Wait(milliseconds{400});  // the clock began at a whole second
  EXPECT_THAT(Ask("RL.ALLOW k 2/s,fixed,aligned"), ElementsAre(1, 1, 0, 600, 0));
  EXPECT_THAT(Ask("RL.ALLOW k 2/s,fixed"), ElementsAre(1, 1, 0, 1000, 0));  // another bucket
}

// The clock began with the year, in UTC.
TEST_F(CmdLimitKindsTest, ACalendarWindowEndsWhereTheCalendarSays) {
  EXPECT_THAT(Ask("RL.ALLOW k 5/day,tz=Europe/Berlin COST 4"),
              ElementsAre(1, 1, 0, 23 * 3'600'000, 0));
  EXPECT_THAT(Ask("RL.ALLOW k 5/day,tz=Europe/Berlin COST 2"),
              ElementsAre(0, 1, 23 * 3'600'000, 23 * 3'600'000, 0));
  EXPECT_THAT(Ask("RL.PEEK k 5/month,tz=Asia/Kolkata,from=31"),
              ElementsAre(1, 4, 0, 30 * 86'400'000LL - 19'800'000, 0));
  EXPECT_EQ(client_.Run("RL.ALLOW k 5/day,tz=Europe/Berlin,cost=0 WITHLIMITS"),
            "*6\r\n:1\r\n:1\r\n:0\r\n:82800000\r\n:0\r\n*1\r\n*9\r\n"
            "$22\r\n5/day,tz=Europe/Berlin\r\n:1\r\n:5\r\n:1\r\n:0\r\n:82800000\r\n"
            ":0\r\n:0\r\n:0\r\n");
  const RespValue row = client_.Ask("RL.INSPECT k").elements.at(0);
  EXPECT_EQ(row.elements.at(0).text, "5/day,tz=Europe/Berlin");
  EXPECT_EQ(row.elements.at(1).number, 1);
  EXPECT_EQ(row.elements.at(2).number, 82'800'000);
  EXPECT_EQ(client_.Run("PTTL k"), ":82800000\r\n");
  EXPECT_EQ(client_.Run("TTL k"), ":82800\r\n");
  Wait(std::chrono::hours{23} - Nanos{1});
  EXPECT_THAT(Ask("RL.ALLOW k 5/day,tz=Europe/Berlin COST 5"), ElementsAre(0, 1, 1, 1, 0));
  Wait(Nanos{1});
  EXPECT_THAT(Ask("RL.ALLOW k 5/day,tz=Europe/Berlin COST 5"),
              ElementsAre(1, 0, 0, 24 * 3'600'000, 0));
  EXPECT_THAT(Ask("RL.REFUND k 5/day,tz=Europe/Berlin COST 2"),
              ElementsAre(1, 2, 0, 24 * 3'600'000, 0));
  EXPECT_EQ(client_.Run("RL.RESET k 5/day,tz=Europe/Berlin"), ":1\r\n");
}

// Counts beyond 32 bits, in every reply and by every command that changes them.
TEST_F(CmdLimitKindsTest, WindowsCountUpTo51Bits) {
  EXPECT_THAT(Ask("RL.ALLOW k 10G/h,fixed COST 3000000000"),
              ElementsAre(1, 7'000'000'000, 0, 3'600'000, 0));
  EXPECT_THAT(Ask("RL.TAKE k 10G/h,fixed,cost=1000000000 UPTO 9"),
              ElementsAre(7, 0, 0, 3'600'000, 0));
  EXPECT_THAT(Ask("RL.REFUND k 10G/h,fixed COST 9500000000"),
              ElementsAre(1, 9'500'000'000, 0, 3'600'000, 0));
  EXPECT_THAT(Ask("RL.RESERVE k 10G/h,fixed COST 6000000000 HOLD a TTL 60000"),
              ElementsAre(1, 3'500'000'000, 0, 3'600'000, 0));
  EXPECT_EQ(Ask("RL.COMMIT k 10G/h,fixed COST 1000000000 HOLD a").at(0), 1);
  EXPECT_THAT(Ask("RL.PEEK k 10G/h,fixed COST 0"), ElementsAre(1, 8'500'000'000, 0, 3'600'000, 0));
  EXPECT_EQ(client_.Run("RL.POLICY SET p 1000/h,fixed"), "+OK\r\n");
  EXPECT_THAT(Ask("RL.ALLOW k @p COST 900"), ElementsAre(1, 100, 0, 3'600'000, 0));
  EXPECT_EQ(client_.Run("RL.POLICY SET p 10G/h,fixed"), "+OK\r\n");
  EXPECT_THAT(Ask("RL.ALLOW k @p COST 6000000000"), ElementsAre(1, 3'999'999'100, 0, 3'600'000, 0));
  EXPECT_EQ(client_.Run("RL.POLICY SET p 1000/h,fixed"), "+OK\r\n");
  EXPECT_THAT(Ask("RL.ALLOW k @p"), ElementsAre(0, 0, 3'600'000, 3'600'000, 0));
}

TEST_F(CmdLimitKindsTest, ASlidingWindowFades) {
  EXPECT_THAT(Ask("RL.ALLOW k 4/s,sliding COST 4"), ElementsAre(1, 0, 0, 2000, 0));
  EXPECT_THAT(Ask("RL.ALLOW k 4/s,sliding"), ElementsAre(0, 0, 1250, 2000, 0));
  Wait(milliseconds{1250});
  EXPECT_THAT(Ask("RL.ALLOW k 4/s,sliding"), ElementsAre(1, 0, 0, 1750, 0));
}

// A bucket knows the number of its window modulo 2^32, and another bucket keeps the key alive. The
// server sweeps meanwhile (core/limiter/sweeper.h).
TEST_F(CmdLimitKindsTest, ASlidingWindowIsOverAfterAnyTimeInTheModule) {
  if (!Host::IsModule()) GTEST_SKIP();
  for (const std::int64_t windows : {std::int64_t{1} << 31, std::int64_t{1} << 32}) {
    for (const std::int64_t beside : {-1, 0, 1}) {
      const std::string key = "k" + std::to_string(windows + beside);
      EXPECT_EQ(Ask("RL.ALLOW " + key + " 1/ms,sliding 9/3000d")[0], 1) << key;
      Wait(milliseconds{windows + beside});
      EXPECT_THAT(Ask("RL.PEEK " + key + " 1/ms,sliding COST 0"), ElementsAre(1, 1, 0, 0, 0))
          << key;
      EXPECT_EQ(Ask("RL.ALLOW " + key + " 1/ms,sliding")[0], 1) << key;
    }
  }
}

// A request over several algorithms charges all of its limits or none.
TEST_F(CmdLimitKindsTest, AlgorithmsMix) {
  EXPECT_THAT(Ask("RL.ALLOW k 10/s 3/m,fixed 5/h,sliding COST 3"),
              ElementsAre(1, 0, 0, 7'200'000, 1));
  EXPECT_THAT(Ask("RL.ALLOW k 10/s 3/m,fixed 5/h,sliding"),
              ElementsAre(0, 0, 60'000, 7'200'000, 1));
  EXPECT_THAT(Ask("RL.PEEK k 10/s COST 0"), ElementsAre(1, 7, 0, 300, 0));
  EXPECT_EQ(client_.Ask("RL.INSPECT k").elements.size(), 3U);
}

// --- shadows, always and never ---

TEST_F(CmdLimitKindsTest, AShadowNeverDenies) {
  EXPECT_THAT(Ask("RL.ALLOW k 10/s 1/s,shadow"), ElementsAre(1, 9, 0, 100, 0));
  EXPECT_THAT(Ask("RL.ALLOW k 10/s 1/s,shadow"), ElementsAre(1, 8, 0, 200, 0));
  EXPECT_THAT(
      client_.Run("RL.ALLOW k 10/s 1/s,shadow WITHLIMITS"),
      HasSubstr(
          "*9\r\n$10\r\n1/s,shadow\r\n:0\r\n:1\r\n:0\r\n:1000\r\n:1000\r\n:0\r\n:1\r\n:0\r\n"));
}

TEST_F(CmdLimitKindsTest, AShadowIsChargedOnlyIfTheRequestPasses) {
  Ask("RL.ALLOW k 1/s");
  EXPECT_THAT(Ask("RL.ALLOW k 1/s 5/s,shadow"), ElementsAre(0, 0, 1000, 1000, 0));
  EXPECT_THAT(Ask("RL.PEEK k 5/s,shadow COST 0"), ElementsAre(1, 5, 0, 0, 0));
}

TEST_F(CmdLimitKindsTest, ShadowsAloneShowTheirNumbers) {
  EXPECT_THAT(Ask("RL.ALLOW k 2/s,shadow 1/m,shadow"), ElementsAre(1, 0, 0, 60'000, 1));
  EXPECT_THAT(Ask("RL.ALLOW k 2/s,shadow 1/m,shadow"), ElementsAre(1, 0, 0, 60'000, 0));
  EXPECT_THAT(Ask("RL.PEEK k 2/s"), ElementsAre(1, 1, 0, 500, 0));  // another bucket
}

TEST_F(CmdLimitKindsTest, UnlimitedAndNone) {
  EXPECT_THAT(Ask("RL.ALLOW k unlimited"), ElementsAre(1, INT64_MAX, 0, 0, 0));
  EXPECT_THAT(Ask("RL.ALLOW k unlimited 10/s"), ElementsAre(1, 9, 0, 100, 1));
  EXPECT_THAT(Ask("RL.ALLOW k none"), ElementsAre(0, 0, -1, 0, 0));
  EXPECT_THAT(Ask("RL.ALLOW k none COST 0"), ElementsAre(0, 0, -1, 0, 0));
  EXPECT_THAT(Ask("RL.ALLOW k 10/s none"), ElementsAre(0, 0, -1, 100, 1));
  EXPECT_THAT(Ask("RL.PEEK k 10/s COST 0"), ElementsAre(1, 9, 0, 100, 0));
  EXPECT_EQ(client_.Run("DBSIZE"), ":1\r\n");
}

// --- taking ---

TEST_F(CmdLimitKindsTest, TakesWhatAllLimitsHave) {
  EXPECT_THAT(Ask("RL.TAKE k 10/s 4/m,fixed UPTO 9"), ElementsAre(4, 0, 0, 60'000, 1));
  EXPECT_THAT(Ask("RL.TAKE k 10/s 4/m,fixed UPTO 9"), ElementsAre(0, 0, 60'000, 60'000, 1));
  EXPECT_THAT(Ask("RL.PEEK k 10/s COST 0"), ElementsAre(1, 6, 0, 400, 0));
}

TEST_F(CmdLimitKindsTest, AGrantedTokenCostsEachLimitItsOwnCost) {
  EXPECT_THAT(Ask("RL.TAKE k 10/s,cost=3 100/s COST 7 UPTO 5"), ElementsAre(3, 1, 0, 900, 0));
  EXPECT_THAT(Ask("RL.PEEK k 100/s COST 0"), ElementsAre(1, 79, 0, 210, 0));
  EXPECT_THAT(Ask("RL.TAKE k 10/s,cost=3 UPTO 5"), ElementsAre(0, 1, 200, 900, 0));
  EXPECT_THAT(Ask("RL.TAKE k 10/s,cost=11 UPTO 5"), ElementsAre(0, 1, -1, 900, 0));
}

TEST_F(CmdLimitKindsTest, LimitsThatDoNotBoundATake) {
  EXPECT_THAT(Ask("RL.TAKE k unlimited UPTO 9223372036854775807"),
              ElementsAre(INT64_MAX, INT64_MAX, 0, 0, 0));
  EXPECT_THAT(Ask("RL.TAKE k 10/s,cost=0 1/s,shadow UPTO 7"), ElementsAre(7, 10, 0, 0, 0));
  EXPECT_THAT(Ask("RL.TAKE k 10/s none UPTO 7"), ElementsAre(0, 0, -1, 0, 1));
  EXPECT_EQ(client_.Run("DBSIZE"), ":0\r\n");
}

TEST_F(CmdLimitKindsTest, TheSameBucketTwiceInATakeIsBothCosts) {
  EXPECT_THAT(Ask("RL.TAKE k 10/s 10/s,cost=2 UPTO 9"), ElementsAre(3, 1, 0, 900, 0));
}

// --- giving back ---

TEST_F(CmdLimitKindsTest, RefundsNeverGoPastFull) {
  Ask("RL.ALLOW k 10/s 5/m,fixed COST 3");
  EXPECT_THAT(Ask("RL.REFUND k 10/s 5/m,fixed COST 2"), ElementsAre(1, 4, 0, 60'000, 1));
  EXPECT_THAT(Ask("RL.REFUND k 10/s 5/m,fixed COST 9"), ElementsAre(1, 5, 0, 0, 1));
  EXPECT_THAT(Ask("RL.REFUND nobody 10/s COST 9223372036854775807"), ElementsAre(1, 10, 0, 0, 0));
  EXPECT_EQ(client_.Run("EXISTS k nobody"), ":0\r\n");
}

TEST_F(CmdLimitKindsTest, AWindowGetsBackWhatItsCurrentWindowHolds) {
  Ask("RL.ALLOW k 10/s,sliding COST 6");
  Wait(seconds{1});
  Ask("RL.ALLOW k 10/s,sliding COST 2");
  EXPECT_THAT(Ask("RL.REFUND k 10/s,sliding COST 8"), ElementsAre(1, 4, 0, 1000, 0));
}

TEST_F(CmdLimitKindsTest, ShadowsAreRefundedToo) {
  Ask("RL.ALLOW k 10/s 5/s,shadow COST 3");
  Ask("RL.REFUND k 10/s 5/s,shadow COST 1");
  EXPECT_THAT(Ask("RL.PEEK k 5/s,shadow COST 0"), ElementsAre(1, 3, 0, 400, 0));
}

TEST_F(CmdLimitKindsTest, NoneHasNothingToGiveBack) {
  EXPECT_THAT(Ask("RL.REFUND k none"), ElementsAre(1, 0, 0, 0, 0));
  EXPECT_THAT(Ask("RL.REFUND k unlimited"), ElementsAre(1, INT64_MAX, 0, 0, 0));
}

// --- bad input of the new ways to ask ---

TEST_F(CmdLimitKindsTest, BadTakes) {
  EXPECT_EQ(client_.Run("RL.TAKE k 10/s COST 1"), "-ERR RL.TAKE needs UPTO tokens\r\n");
  for (const char* line : {"RL.TAKE k 10/s UPTO 0", "RL.TAKE k 10/s UPTO -1",
                           "RL.TAKE k 10/s UPTO 9223372036854775808", "RL.TAKE k 10/s UPTO x"}) {
    EXPECT_THAT(client_.Run(line), HasSubstr("out of range (1 to 9223372036854775807)")) << line;
  }
  EXPECT_THAT(client_.Run("RL.TAKE k 10/s UPTO 1 UPTO 2"), HasSubstr("-ERR unexpected 'UPTO'"));
  EXPECT_THAT(client_.Run("RL.TAKE k 10/s UPTO 1 TIMEOUT 2"),
              HasSubstr("then UPTO, HOLD, TTL, WITHLIMITS and AT once each"));
  EXPECT_THAT(client_.Run("RL.REFUND k 10/s UPTO 1"), HasSubstr("-ERR unexpected 'UPTO'"));
  EXPECT_EQ(client_.Run("DBSIZE"), ":0\r\n");
}

}  // namespace
}  // namespace weir
