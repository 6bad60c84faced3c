// Goal: RL.WAIT over several keys charges all of their buckets at once, answers when the last of
// the tokens are there, and is first come, first served at each bucket; a client that leaves gives
// back bucket by bucket. Method: clients of a host whose clock the test moves to one nanosecond
// before each instant, and to the instant itself.
#include <chrono>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/wait_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// Takes all that the keys have: mail has 2/s, and a and b have 10/s.
class RlWaitKeysTest : public RlWaitTest {
 protected:
  RlWaitKeysTest() {
    client_.Run("RL.ALLOW mail 2/s COST 2 AND a 10/s COST 10 AND b 10/s COST 10");
  }
};

// --- The instant --------------------------------------------------------------------------------

TEST_F(RlWaitKeysTest, AvailableTokensOfAllKeysAreAnsweredAtOnce) {
  EXPECT_EQ(client_.Run("RL.WAIT x 2/s AND y 10/s COST 3 TIMEOUT 1000"), Five("1 1 0 500 0"));
  EXPECT_EQ(Look("y 10/s"), Five("1 7 0 300 0"));
}

TEST_F(RlWaitKeysTest, TheAnswerComesAtTheLatestInstant) {
  Wait("RL.WAIT a 10/s AND mail 2/s AND x 1000/h TIMEOUT 1000", milliseconds{500});
  EXPECT_EQ(Look("a 10/s"), Five("1 0 0 1100 0"));
  EXPECT_EQ(Look("mail 2/s"), Five("1 0 0 1500 0"));
  EXPECT_EQ(Look("x 1000/h"), Five("1 999 0 3600 0"));
  AdvanceTo(milliseconds{500} - Nanos{1});
  EXPECT_EQ(client_.Receive(), "");
  Advance(Nanos{1});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 3100 1"));
}

// The instant may be that of a key that has been asked before or after others.
TEST_F(RlWaitKeysTest, TheOrderOfTheKeysDoesNotMatter) {
  Wait("RL.WAIT mail 2/s AND a 10/s TIMEOUT 500", milliseconds{500});
  Wait(other_, "RL.WAIT b 10/s COST 7 AND a 10/s TIMEOUT 700", milliseconds{700});
  Advance(milliseconds{500});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0"));
  AdvanceTo(milliseconds{700});
  EXPECT_EQ(other_.Receive(), Five("1 0 0 1000 0"));
}

TEST_F(RlWaitKeysTest, TooLongForOneKeyChargesNone) {
  const std::string denied = other_.Run("RL.ALLOW x 10/s AND a 10/s AND mail 2/s");
  EXPECT_EQ(denied, Five("0 0 500 1000 2"));
  EXPECT_EQ(client_.Run("RL.WAIT x 10/s AND a 10/s AND mail 2/s TIMEOUT 499"), denied);
  EXPECT_EQ(client_.Run("RL.WAIT x 10/s AND a 10/s AND mail none TIMEOUT 60000"),
            Five("0 0 -1 1000 2"));
  EXPECT_EQ(Look("a 10/s"), Five("1 0 0 1000 0"));
  EXPECT_EQ(client_.Run("EXISTS x"), ":0\r\n");
}

// The first client holds a token of `a` while it waits for `mail`. Clients behind it at `a` do not
// wait for `mail`, and get their own tokens in their order.
TEST_F(RlWaitKeysTest, EachBucketIsFirstComeFirstServed) {
  Client third(client_.host());
  Client fourth(client_.host());
  Wait("RL.WAIT mail 2/s AND a 10/s TIMEOUT 1000", milliseconds{500});
  Wait(other_, "RL.WAIT a 10/s AND b 10/s TIMEOUT 1000", milliseconds{200});
  Wait(third, "RL.WAIT b 10/s AND mail 2/s TIMEOUT 1000", milliseconds{1000});
  Wait(fourth, "RL.WAIT b 10/s AND a 10/s TIMEOUT 1000", milliseconds{300});
  Client late(client_.host());
  EXPECT_EQ(late.Run("RL.ALLOW a 10/s"), Five("0 0 400 1300 0"));
  EXPECT_EQ(late.Run("RL.ALLOW b 10/s"), Five("0 0 400 1300 0"));
  EXPECT_EQ(late.Run("RL.ALLOW mail 2/s"), Five("0 0 1500 2000 0"));
  AdvanceTo(milliseconds{200});
  EXPECT_EQ(other_.Receive(), Five("1 0 0 1100 0"));
  AdvanceTo(milliseconds{300});
  EXPECT_EQ(fourth.Receive(), Five("1 0 0 1000 0"));
  AdvanceTo(milliseconds{500});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1500 0"));
  AdvanceTo(milliseconds{1000});
  EXPECT_EQ(third.Receive(), Five("1 0 0 1000 1"));
}

// --- Keys and limits ----------------------------------------------------------------------------

// A bucket is charged once, with the sum of the costs, wherever the key is named again.
TEST_F(RlWaitKeysTest, TheSameKeyInTwoGroups) {
  Wait("RL.WAIT a 10/s AND b 10/s AND a 5/s 10/s COST 2 TIMEOUT 1000", milliseconds{300});
  EXPECT_EQ(Look("a 10/s"), Five("1 0 0 1300 0"));
  EXPECT_EQ(Look("a 5/s"), Five("1 3 0 400 0"));
  EXPECT_EQ(Look("b 10/s"), Five("1 0 0 1100 0"));
  Advance(milliseconds{300});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0"));
}

// A row of each limit says which key it is about.
TEST_F(RlWaitKeysTest, WithLimits) {
  Wait("RL.WAIT mail 2/s 9/h AND a 10/s COST 2 TIMEOUT 1000 WITHLIMITS", milliseconds{500});
  AdvanceTo(milliseconds{500});
  EXPECT_EQ(client_.Receive(),
            "*6\r\n:1\r\n:0\r\n:0\r\n:399500\r\n:0\r\n*3\r\n"
            "*9\r\n$3\r\n2/s\r\n:1\r\n:2\r\n:0\r\n:0\r\n:1000\r\n:0\r\n:1\r\n:0\r\n"
            "*9\r\n$3\r\n9/h\r\n:1\r\n:9\r\n:8\r\n:0\r\n:399500\r\n:0\r\n:1\r\n:0\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:3\r\n:0\r\n:700\r\n:1\r\n:2\r\n:0\r\n");
}

// Keys that share a policy have a bucket each, and an override is one key's own.
TEST_F(RlWaitKeysTest, APolicyAndAnOverride) {
  client_.Run("RL.POLICY SET p 10/s");
  client_.Run("RL.POLICY OVERRIDE p slow 1/s");
  client_.Run("RL.ALLOW quick @p COST 10 AND slow @p");
  Wait("RL.WAIT quick @p AND slow @p TIMEOUT 1000", seconds{1});
  EXPECT_EQ(Look("quick @p"), Five("1 0 0 1100 0"));
  EXPECT_EQ(Look("slow @p"), Five("1 0 0 2000 0"));
  Advance(seconds{1});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 1"));
}

// No client waits for a shadow, also if it is the shadow of another key.
TEST_F(RlWaitKeysTest, NoClientWaitsForAShadow) {
  client_.Run("RL.ALLOW mail 1/s,shadow");
  EXPECT_EQ(client_.Run("RL.WAIT x 10/s AND mail 1/s,shadow TIMEOUT 1000"), Five("1 9 0 100 0"));
  EXPECT_EQ(Look("mail 1/s,shadow"), Five("1 0 0 1000 0"));
}

// --- Clients that leave -------------------------------------------------------------------------

TEST_F(RlWaitKeysTest, AClientThatLeavesGivesBackTheTokensOfAllKeys) {
  auto leaver = std::make_unique<Client>(client_.host());
  Wait(*leaver, "RL.WAIT mail 2/s AND a 10/s COST 3 AND x 1000/h TIMEOUT 1000", milliseconds{500});
  Advance(milliseconds{200});
  Leave(leaver);
  EXPECT_EQ(Look("mail 2/s"), Five("1 0 0 800 0"));
  EXPECT_EQ(Look("a 10/s"), Five("1 2 0 800 0"));
  EXPECT_EQ(client_.Run("EXISTS x"), ":0\r\n");
}

// Another client was promised an instant at `a`, so the leaver's token of `a` stays taken, and its
// token of `mail` is given back.
TEST_F(RlWaitKeysTest, AKeyWithALaterClientKeepsItsCharge) {
  auto leaver = std::make_unique<Client>(client_.host());
  Wait(*leaver, "RL.WAIT mail 2/s AND a 10/s TIMEOUT 1000", milliseconds{500});
  Wait("RL.WAIT a 10/s AND b 10/s TIMEOUT 1000", milliseconds{200});
  Leave(leaver);
  EXPECT_EQ(Look("mail 2/s"), Five("1 0 0 1000 0"));
  EXPECT_EQ(Look("a 10/s"), Five("1 0 0 1200 0"));
  EXPECT_EQ(Look("b 10/s"), Five("1 0 0 1100 0"));
  Advance(milliseconds{200});
  EXPECT_EQ(client_.Receive(), Five("1 0 0 1000 0"));
}

// A key that was reset in the meantime gets nothing back, the other keys do.
TEST_F(RlWaitKeysTest, AResetOfOneKeyWhileItWaits) {
  auto leaver = std::make_unique<Client>(client_.host());
  Wait(*leaver, "RL.WAIT mail 2/s AND a 10/s TIMEOUT 1000", milliseconds{500});
  EXPECT_EQ(other_.Run("RL.RESET a"), ":1\r\n");
  other_.Run("RL.ALLOW a 10/s");
  Leave(leaver);
  EXPECT_EQ(Look("a 10/s"), Five("1 9 0 100 0"));
  EXPECT_EQ(Look("mail 2/s"), Five("1 0 0 1000 0"));
}

// The denial of CLIENT UNBLOCK is that of a request at this time, with the tokens given back.
TEST_F(RlWaitKeysTest, AnUnblockedClientGivesBackTheTokensOfAllKeys) {
  const std::string id = std::to_string(client_.Ask("CLIENT ID").number);
  EXPECT_EQ(client_.Run("RL.WAIT a 10/s COST 3 AND mail 2/s TIMEOUT 5000"), "");
  EXPECT_EQ(other_.Run("CLIENT UNBLOCK " + id), ":1\r\n");
  EXPECT_EQ(client_.Receive(), Five("0 0 500 1000 1"));
  EXPECT_EQ(Look("a 10/s"), Five("1 0 0 1000 0"));
  EXPECT_EQ(Look("mail 2/s"), Five("1 0 0 1000 0"));
  EXPECT_THAT(other_.Run("RL.STATS"), HasSubstr("$7\r\n(total)\r\n:1\r\n:1\r\n"));
}

}  // namespace
}  // namespace weir
