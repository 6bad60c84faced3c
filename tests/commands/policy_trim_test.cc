// Goal: an operator who raises limits relieves the callers that owe the time of the old ones: of
// one key by RL.POLICY OVERRIDE, of all by RL.POLICY SET ... TRIM, and not by SET, UNOVERRIDE or
// another policy's change. Method: requests at one instant, where every number can be computed by
// hand.
#include <chrono>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"

namespace weir {
namespace {

using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::StartsWith;

constexpr char kTrimmedOk[] = "+OK\r\n";

class PolicyTrimTest : public testing::Test {
 protected:
  std::string Run(std::string_view line) { return client_.Run(line); }
  std::string Show(std::string_view line) { return client_.Show(line); }
  // Runs "RL.POLICY <line>", which must succeed, perhaps some turns later: a timer of Redis that is
  // set within a timer waits for the next microsecond.
  void Policy(const std::string& line) {
    std::string reply = Run("RL.POLICY " + line);
    for (int turn = 0; turn < 1000 && reply.empty(); ++turn) {
      client_.clock().Advance(microseconds{1});
      reply = client_.Receive();
    }
    EXPECT_EQ(reply, kTrimmedOk) << line;
  }

  Client client_;
};

TEST_F(PolicyTrimTest, OverrideRelievesItsKey) {
  Policy("SET p 1000/d");
  for (const std::string key : {"cust", "other"}) Run("RL.ALLOW " + key + " @p COST 1000");
  Policy("OVERRIDE p cust 100/m");
  EXPECT_EQ(Show("RL.ALLOW cust @p"), "0 0 600 60000 0");
  EXPECT_EQ(Show("RL.ALLOW other @p"), "0 0 86400 86400000 0");
  Policy("OVERRIDE p cust 1000/d");
  EXPECT_EQ(Show("RL.PEEK cust @p COST 0"), "1 999 0 60000 0") << "what was cut stays cut";
}

// From a count beyond 32 bits to a small one.
TEST_F(PolicyTrimTest, GreatCountIsCut) {
  Policy("SET p 10G/h,fixed");
  EXPECT_EQ(Show("RL.ALLOW k @p COST 9000000000"), "1 1000000000 0 3600000 0");
  Policy("SET p 1000/h,fixed");
  Run("RL.REFUND k @p COST 1");
  EXPECT_EQ(Show("RL.PEEK k @p COST 0"), "1 0 0 3600000 0");
  Policy("SET p 1000/h,fixed TRIM");
  Run("RL.REFUND k @p COST 1");
  EXPECT_EQ(Show("RL.PEEK k @p COST 0"), "1 1 0 3600000 0");
}

TEST_F(PolicyTrimTest, UnoverrideAndSetCutNothing) {
  Policy("SET p 100/m");
  Policy("OVERRIDE p k 1000/d");
  Run("RL.ALLOW k @p COST 1000");
  EXPECT_EQ(Run("RL.POLICY UNOVERRIDE p k"), ":1\r\n");
  EXPECT_EQ(Show("RL.ALLOW k @p"), "0 0 86340600 86400000 0");
  Policy("SET p 200/m");
  EXPECT_EQ(Show("RL.ALLOW k @p"), "0 0 86340300 86400000 0");
}

TEST_F(PolicyTrimTest, SetWithTrimRelievesAllKeys) {
  Policy("SET q 5/h,burst=5");
  Policy("SET other 5/h");
  for (const std::string key : {"a", "b"}) Run("RL.ALLOW " + key + " @q @other 5/h COST 5");
  Run("RL.ALLOW a @q,shadow COST 5");
  Policy("SET q 500/h,burst=5");
  EXPECT_EQ(Show("RL.ALLOW a @q"), "0 0 3571200 3600000 0");
  Policy("SET q 500/h,burst=5 trim");
  for (const std::string key : {"a", "b"}) {
    EXPECT_EQ(Show("RL.ALLOW " + key + " @q"), "0 0 7200 36000 0") << key;
    EXPECT_EQ(Show("RL.PEEK " + key + " @other"), "0 0 720000 3600000 0") << key;
    EXPECT_EQ(Show("RL.PEEK " + key + " 5/h"), "0 0 720000 3600000 0") << key;
  }
  EXPECT_EQ(Show("RL.PEEK a @q,shadow COST 0"), "1 0 0 36000 0");
}

TEST_F(PolicyTrimTest, KeyWithAnOverrideIsCutByItsOwnNumbers) {
  Policy("SET p 10/m");
  Policy("OVERRIDE p own 100/h");
  Run("RL.ALLOW own @p COST 100");
  Policy("SET p 1000/m TRIM");
  EXPECT_EQ(Show("RL.ALLOW own @p"), "0 0 36000 3600000 0");
}

TEST_F(PolicyTrimTest, WindowsLoseWhatIsBeyondTheNewCount) {
  for (const std::string kind : {",fixed", ",sliding", ",fixed,aligned"}) {
    Policy("SET w" + kind.substr(1, 3) + " 1000/h" + kind);
    const std::string asks = " k" + kind + " @w" + kind.substr(1, 3) + " ";
    Run("RL.ALLOW" + asks + "COST 900");
    Policy("OVERRIDE w" + kind.substr(1, 3) + " k" + kind + " 10/h" + kind);
    Policy("OVERRIDE w" + kind.substr(1, 3) + " k" + kind + " 100/h" + kind);
    EXPECT_THAT(Show("RL.PEEK" + asks + "COST 0"), StartsWith("1 90 0 ")) << kind;
    EXPECT_EQ(Run("DEL k" + kind), ":1\r\n");
    EXPECT_EQ(Run("RL.POLICY DEL w" + kind.substr(1, 3)), kTrimmedOk);
  }
}

TEST_F(PolicyTrimTest, BansStayAndEndWhenTheyWereToldToEnd) {
  Policy("SET p 5/h,ban=15m 5/m,fixed,ban=15m");
  Run("RL.ALLOW k @p COST 5");
  EXPECT_THAT(Show("RL.ALLOW k @p"), StartsWith("0 0 900000 "));
  client_.clock().Advance(minutes{5});
  Policy("OVERRIDE p k 500/h,burst=5,ban=15m 500/m,fixed,ban=15m");
  EXPECT_THAT(Show("RL.ALLOW k @p"), StartsWith("0 0 600000 "));
  client_.clock().Advance(minutes{10});
  EXPECT_THAT(Show("RL.ALLOW k @p"), StartsWith("1 0 0 "));
}

TEST_F(PolicyTrimTest, HoldsStayAndGiveBackWhatTheCutHasLeft) {
  Policy("SET p 100/d 5,held");
  EXPECT_EQ(Show("RL.RESERVE k @p COST 1 HOLD a TTL 60000"), "1 4 0 864000 1");
  Run("RL.ALLOW k 1/s");
  Policy("OVERRIDE p k 100/m 5,held");
  EXPECT_EQ(Show("RL.INSPECT k HOLDS"), "[[\"a\" 60000 0 \"@p#0\" 1 \"@p#1\" 1]]");
  // 864 s were charged, and 60 s are left.
  EXPECT_EQ(Show("RL.PEEK k @p COST 0"), "1 0 0 60000 0");
  EXPECT_THAT(Show("RL.CANCEL k HOLD a"), StartsWith("1 "));
  EXPECT_EQ(Show("RL.PEEK k @p COST 0"), "1 1 0 59400 0")
      << "a token is worth the shorter interval";
  client_.clock().Advance(seconds{60});
  EXPECT_EQ(Show("RL.PEEK k @p COST 0"), "1 5 0 0 1");
}

TEST_F(PolicyTrimTest, AHoldGivesBackWhatItChargedAndNotWhatOthersOwe) {
  Policy("SET p 1000/d");
  for (const std::string key : {"k", "alone"}) {
    if (key == "k") Run("RL.ALLOW k @p COST 500");
    Run("RL.RESERVE " + key + " @p COST 400 HOLD a TTL 60000");
    Policy("OVERRIDE p " + key + " 100/m");
    EXPECT_THAT(Show("RL.CANCEL " + key + " HOLD a"), StartsWith("1 "));
  }
  EXPECT_EQ(Show("RL.PEEK k @p COST 0"), "1 0 0 60000 0");
  EXPECT_EQ(Show("RL.PEEK alone @p COST 0"), "1 100 0 0 0");
}

TEST_F(PolicyTrimTest, TrimIsTheLastWordOnly) {
  Policy("SET p 10/s");
  EXPECT_THAT(Run("RL.POLICY SET p TRIM"), StartsWith("-ERR invalid limit 'TRIM'"));
  EXPECT_THAT(Run("RL.POLICY SET p TRIM 10/s"), StartsWith("-ERR invalid limit 'TRIM'"));
  EXPECT_THAT(Run("RL.POLICY SET p 10/s TRIM TRIM"), StartsWith("-ERR invalid limit 'TRIM'"));
  EXPECT_THAT(Run("RL.POLICY OVERRIDE p k 10/s TRIM"), StartsWith("-ERR invalid limit 'TRIM'"));
  Policy("SET new 10/s TRIM");
}

TEST_F(PolicyTrimTest, TransactionCannotWaitForIt) {
  Policy("SET p 10/s");
  EXPECT_EQ(Run("MULTI"), kTrimmedOk);
  EXPECT_EQ(Run("RL.POLICY SET p 20/s TRIM"), "+QUEUED\r\n");
  EXPECT_EQ(Run("RL.POLICY OVERRIDE p k 20/s"), "+QUEUED\r\n");
  EXPECT_EQ(Run("EXEC"),
            "*2\r\n-ERR TRIM is answered later: not in a transaction, a script or over HTTP\r\n"
            "+OK\r\n");
  EXPECT_EQ(Show("RL.POLICY GET p"), "[\"10/s\"]");
}

// Goal: a trim of many keys leaves none out, and other clients are served meanwhile. Method: more
// keys than one part has.
TEST_F(PolicyTrimTest, ManyKeysAreCutBeforeTheReply) {
  Policy("SET p 1000/d");
  std::string asks;
  for (int i = 0; i < 3000; ++i) {
    asks += "RL.ALLOW k" + std::to_string(i) + " @p COST 1000\r\n";
  }
  client_.Send(asks);
  Policy("SET p 100/m TRIM");
  for (int i = 0; i < 3000; i += 7) {
    ASSERT_EQ(Show("RL.ALLOW k" + std::to_string(i) + " @p"), "0 0 600 60000 0") << i;
  }
}

}  // namespace
}  // namespace weir
