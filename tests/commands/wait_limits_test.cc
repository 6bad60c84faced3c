// Goal: RL.WAIT waits for all limits of its key, or for none: their instants, shadows, policies and
// errors. Method: clients of a host whose clock the test moves to one nanosecond before each
// instant, and to the instant itself.
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/wait_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

using RlWaitLimitsTest = RlWaitTest;

// --- Limits -------------------------------------------------------------------------------------

// The latest of the limits' instants counts, and every limit is charged now.
TEST_F(RlWaitLimitsTest, SeveralLimitsOnTheKey) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.ALLOW k 2/s COST 2");
  Wait("RL.WAIT k 10/s 2/s 1000/h TIMEOUT 1000", milliseconds{500});
  EXPECT_EQ(Look("k 10/s"), Five("1 0 0 1100 0"));
  EXPECT_EQ(Look("k 2/s"), Five("1 0 0 1500 0"));
  EXPECT_EQ(Look("k 1000/h"), Five("1 999 0 3600 0"));
  Advance(milliseconds{500});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 3100 1"));
}

// If one limit cannot be waited for, none is charged.
TEST_F(RlWaitLimitsTest, AllOrNothing) {
  client_.Run("RL.ALLOW k 10/s 1/m COST 1");
  client_.Run("RL.ALLOW k 10/s COST 9");
  const std::string state = client_.Run("RL.INSPECT k");
  EXPECT_EQ(client_.Run("RL.WAIT k 10/s 1/m 5/s TIMEOUT 1000"), Five("0 0 60000 60000 1"));
  EXPECT_EQ(client_.Run("RL.INSPECT k"), state);
}

TEST_F(RlWaitLimitsTest, TheSameBucketTwiceIsOneCheck) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  Wait("RL.WAIT k 10/s 1000/h 10/s,cost=2,name=again TIMEOUT 1000 WITHLIMITS", milliseconds{300});
  AdvanceTo(milliseconds{300});
  EXPECT_EQ(client_.Receive(),
            "*6\r\n:1\r\n:0\r\n:0\r\n:3300\r\n:0\r\n*3\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:0\r\n:0\r\n:1000\r\n:0\r\n:1\r\n:0\r\n"
            "*9\r\n$6\r\n1000/h\r\n:1\r\n:1000\r\n:999\r\n:0\r\n:3300\r\n:0\r\n:1\r\n:0\r\n"
            "*9\r\n$5\r\nagain\r\n:1\r\n:10\r\n:0\r\n:0\r\n:1000\r\n:0\r\n:2\r\n:0\r\n");
}

TEST_F(RlWaitLimitsTest, UnlimitedAndNone) {
  EXPECT_EQ(client_.Run("RL.WAIT k unlimited TIMEOUT 1000"), Five("1 9223372036854775807 0 0 0"));
  client_.Run("RL.ALLOW k 10/s COST 10");
  EXPECT_EQ(client_.Run("RL.WAIT k 10/s none TIMEOUT 1000"), Five("0 0 -1 1000 1"));
  Wait("RL.WAIT k unlimited 10/s TIMEOUT 1000", milliseconds{100});
  Advance(milliseconds{100});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 1"));
}

// No client waits for a shadow: a shadow admits the request if its tokens are available when those
// of the other limits are.
TEST_F(RlWaitLimitsTest, NoClientWaitsForAShadow) {
  EXPECT_EQ(client_.Run("RL.WAIT k 10/s 1/s,shadow TIMEOUT 1000"), Five("1 9 0 100 0"));
  EXPECT_EQ(client_.Run("RL.WAIT k 10/s 1/s,shadow TIMEOUT 1000 WITHLIMITS"),
            "*6\r\n:1\r\n:8\r\n:0\r\n:200\r\n:0\r\n*2\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:8\r\n:0\r\n:200\r\n:0\r\n:1\r\n:0\r\n"
            "*9\r\n$10\r\n1/s,shadow\r\n:0\r\n:1\r\n:0\r\n:1000\r\n:1000\r\n:0\r\n:1\r\n:0\r\n");
  EXPECT_EQ(client_.Run("RL.WAIT k 10/s 1/s,shadow TIMEOUT 1000 WITHLIMITS"),
            "*6\r\n:1\r\n:7\r\n:0\r\n:300\r\n:0\r\n*2\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:7\r\n:0\r\n:300\r\n:0\r\n:1\r\n:0\r\n"
            "*9\r\n$10\r\n1/s,shadow\r\n:0\r\n:1\r\n:0\r\n:1000\r\n:1000\r\n:0\r\n:1\r\n:0\r\n");
  EXPECT_EQ(client_.Run("PTTL k"), ":1000\r\n");  // charged once
  EXPECT_EQ(client_.Run("RL.WAIT k2 1/h,shadow COST 2 TIMEOUT 1000"), Five("1 1 0 0 0"));
  client_.Run("RL.ALLOW k 10/s COST 7");
  Wait("RL.WAIT k 10/s 5/s,shadow TIMEOUT 1000", milliseconds{100});
  Advance(milliseconds{100});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0"));
}

// The decision of a shadow is part of the answer after the wait.
TEST_F(RlWaitLimitsTest, AShadowThatWouldHaveDeniedSaysSoAfterTheWait) {
  client_.Run("RL.ALLOW k 1/s 1/h,shadow");
  Wait("RL.WAIT k 1/s 1/h,shadow TIMEOUT 5000 WITHLIMITS", seconds{1});
  Advance(seconds{1});
  EXPECT_EQ(
      client_.Receive(),
      "*6\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:0\r\n*2\r\n"
      "*9\r\n$3\r\n1/s\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:0\r\n:1\r\n:0\r\n"
      "*9\r\n$10\r\n1/h,shadow\r\n:0\r\n:1\r\n:0\r\n:3599000\r\n:3599000\r\n:0\r\n:1\r\n:0\r\n");
}

TEST_F(RlWaitLimitsTest, WithLimitsInResp2AndResp3) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.WAIT k 10/s 5/m,name=slow COST 1 TIMEOUT 1000 WITHLIMITS");
  other_.Run("HELLO 3");
  other_.Run("RL.WAIT k 10/s TIMEOUT 1000 WITHLIMITS");
  // The words of the request are freed, and so is the host's memo of them.
  Client third(client_.host());
  for (int i = 0; i < 5000; ++i) third.Call({"RL.PEEK", "k", std::to_string(i + 20) + "/h"});
  Advance(milliseconds{200});
  EXPECT_EQ(client_.Receive(),
            "*6\r\n:1\r\n:0\r\n:0\r\n:11800\r\n:0\r\n*2\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:0\r\n:0\r\n:1000\r\n:0\r\n:1\r\n:0\r\n"
            "*9\r\n$4\r\nslow\r\n:1\r\n:5\r\n:4\r\n:0\r\n:11800\r\n:0\r\n:1\r\n:0\r\n");
  EXPECT_EQ(other_.Receive(),
            "*6\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:0\r\n*1\r\n"
            "%9\r\n$4\r\nname\r\n$4\r\n10/s\r\n$7\r\nallowed\r\n:1\r\n$5\r\nlimit\r\n:10\r\n"
            "$9\r\nremaining\r\n:0\r\n$14\r\nretry_after_ms\r\n:0\r\n"
            "$14\r\nreset_after_ms\r\n:1000\r\n"
            "$5\r\ngroup\r\n:0\r\n$4\r\ncost\r\n:1\r\n$4\r\nkeep\r\n:0\r\n");
}

TEST_F(RlWaitLimitsTest, APolicyMayBeWaitedFor) {
  client_.Run("RL.POLICY SET p 10/s 1000/h");
  client_.Run("RL.ALLOW k @p COST 10");
  Wait("RL.WAIT k @p,cost=2 TIMEOUT 1000", milliseconds{200});
  Wait(other_, "RL.WAIT k @p TIMEOUT 1000", milliseconds{300});
  // A reservation stands, whatever happens to the policy.
  Client admin(client_.host());
  admin.Run("RL.POLICY SET p 1/m");
  Advance(milliseconds{200});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 46600 0"));
  admin.Run("RL.POLICY DEL p");
  Advance(milliseconds{100});
  EXPECT_EQ(other_.Receive(), Five("1 10 0 0 0"));
}

// --- Errors -------------------------------------------------------------------------------------

TEST_F(RlWaitLimitsTest, ErrorsSayWhatWouldBeRightAndChangeNothing) {
  client_.Run("RL.POLICY SET windows 10/s 5/m,fixed");
  client_.Run("RL.POLICY SET keeps 10/s 5/m,keep=2");
  client_.Run("RL.ALLOW k 10/s COST 10");
  const std::string state = client_.Run("RL.INSPECT k");
  const std::string unexpected =
      ": after the limits of a key come COST once, then AND key limit ..., then TIMEOUT and "
      "WITHLIMITS once each";
  const std::string no_window = ": a window cannot be waited for, use a token bucket";
  const std::string no_keep =
      "keep= does not stand in RL.WAIT: tokens reserved ahead would be taken from those whom it "
      "protects";
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"k 10/s TIMEOUT", "TIMEOUT needs a number after it"},
      {"k 10/s COST 2", "RL.WAIT needs TIMEOUT milliseconds"},
      {"k 10/s 20/s WITHLIMITS", "RL.WAIT needs TIMEOUT milliseconds"},
      {"k 10/s 20/s TIMEOUT", "TIMEOUT needs a number after it"},
      {"k 10/s TIMEOUT -1",
       "invalid TIMEOUT '-1': value is not an integer or out of range (0 to 86400000)"},
      {"k 10/s TIMEOUT 1s",
       "invalid TIMEOUT '1s': value is not an integer or out of range (0 to 86400000)"},
      {"k 10/s TIMEOUT 60001", "invalid TIMEOUT '60001': above the server's max-wait, 60000 ms"},
      {"k 10/s AND l 10/s", "RL.WAIT needs TIMEOUT milliseconds"},
      {"k 10/s 20/s AND", "expected a key after AND"},
      {"k 10/s AND l TIMEOUT 10", "expected a limit as in 10/s after the key 'l'"},
      {"l 10/s AND k 5/m,fixed TIMEOUT 10", "limit '5/m,fixed'" + no_window},
      {"l 10/s AND k @windows TIMEOUT 10", "limit '@windows'" + no_window},
      {"l 10/s AND k @absent TIMEOUT 10", "unknown policy 'absent': RL.POLICY SET makes one"},
      {"l 10/s AND k 10/s COST x TIMEOUT 10",
       "invalid COST 'x': value is not an integer or out of range (0 to 9223372036854775807)"},
      {"k 10/s TIMEOUT 10 AND l 10/s", "unexpected 'AND'" + unexpected},
      {"k 10/s TIMEOUT 10 TIMEOUT 10", "unexpected 'TIMEOUT'" + unexpected},
      {"k 10/s WITHLIMITS TIMEOUT 10 withlimits", "unexpected 'withlimits'" + unexpected},
      {"k 10/s TIMEOUT 10 AT 1767225600000000000", "unexpected 'AT'" + unexpected},
      {"k 10/s UPTO 3 TIMEOUT 10", "unexpected 'UPTO'" + unexpected},
      {"k 10/s TIMEOUT 10 COST 1", "unexpected 'COST'" + unexpected},
      {"k COST 1 TIMEOUT 10", "expected a limit as in 10/s after the key 'k'"},
      {"k 10/s 5/m,fixed TIMEOUT 10", "limit '5/m,fixed'" + no_window},
      {"k 5/m,sliding,shadow TIMEOUT 10", "limit '5/m,sliding,shadow'" + no_window},
      {"k @windows TIMEOUT 10", "limit '@windows'" + no_window},
      {"k 10/s,keep=1 TIMEOUT 10", no_keep},
      {"k 10/s 20/s,keep=0,shadow TIMEOUT 10", no_keep},
      {"k @keeps TIMEOUT 10", no_keep},
      {"k @keeps,keep=0 TIMEOUT 10", no_keep},
      {"l 10/s AND k 10/s,keep=1 TIMEOUT 10", no_keep},
      {"k @absent TIMEOUT 10", "unknown policy 'absent': RL.POLICY SET makes one"},
  };
  for (const auto& [line, error] : bad) {
    EXPECT_EQ(client_.Run("RL.WAIT " + line), "-ERR " + error + "\r\n") << line;
    EXPECT_EQ(client_.Run("RL.INSPECT k"), state) << line;
    EXPECT_EQ(client_.Run("EXISTS l"), ":0\r\n");
  }
  EXPECT_EQ(client_.Run("RL.WAIT k2 10/s TIMEOUT 60000"), Five("1 9 0 100 0"));
}

TEST(RlMaxWaitTest, BoundsTheTimeout) {
  Client client({.max_wait = milliseconds{1000}});
  client.Run("RL.ALLOW k 1/s");
  EXPECT_EQ(client.Run("RL.WAIT k 1/s TIMEOUT 1001"),
            "-ERR invalid TIMEOUT '1001': above the server's max-wait, 1000 ms\r\n");
  EXPECT_EQ(client.Run("RL.WAIT k 1/s TIMEOUT 1000"), "");
  client.clock().Advance(milliseconds{1000} - Nanos{1});
  EXPECT_EQ(client.Receive(), "");
  client.clock().Advance(Nanos{1});
  EXPECT_EQ(client.Receive(), Five("1 0 0 1000 0"));
}

// A request that is admitted later counts as admitted, once.
TEST_F(RlWaitLimitsTest, VerdictsAreCounted) {
  client_.Run("RL.ALLOW k 10/s COST 10");
  client_.Run("RL.WAIT k 10/s TIMEOUT 1");
  EXPECT_THAT(other_.Run("RL.STATS"), HasSubstr("$7\r\n(total)\r\n:1\r\n:1\r\n"));
  client_.Run("RL.WAIT k 10/s TIMEOUT 1000");
  EXPECT_THAT(other_.Run("RL.STATS"), HasSubstr("$7\r\n(total)\r\n:1\r\n:1\r\n"));
  Advance(milliseconds{100});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0"));
  EXPECT_THAT(other_.Run("RL.STATS"), HasSubstr("$7\r\n(total)\r\n:2\r\n:1\r\n"));
}

}  // namespace
}  // namespace weir
