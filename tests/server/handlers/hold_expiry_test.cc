// Goal: a hold that has expired is settled as of its expiry and by the numbers of that time, also
// if the next command about its key comes late. Method: conversations in which time passes.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/conversation.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

class HoldExpiryCommandsTest : public testing::Test {
 protected:
  std::string Show(std::string_view line) { return client_.Show(line); }
  void Advance(milliseconds time) { client_.server().clock.Advance(time); }

  Conversation client_;
};

TEST_F(HoldExpiryCommandsTest, WatchSeesNoChangeInWhatWasDueBefore) {
  Show("RL.RESERVE k 10/h HOLD a TTL 50");
  Advance(milliseconds{100});
  Show("WATCH k");
  Show("MULTI");
  Show("PING");
  EXPECT_EQ(Show("EXEC"), "[PONG]");
}

TEST_F(HoldExpiryCommandsTest, DeletedPolicyTakesNoHoldAlongThatHadExpired) {
  Show("RL.POLICY SET p 10/h");
  Show("RL.RESERVE k @p 100/h,fixed,cost=50 HOLD a TTL 50");
  Advance(milliseconds{100});
  EXPECT_EQ(Show("RL.POLICY DEL p"), "OK");
  EXPECT_EQ(Show("RL.PEEK k 100/h,fixed COST 0"), "1 100 0 0 0");
}

TEST_F(HoldExpiryCommandsTest, NewNumbersOfAPolicyCountAfterTheExpiry) {
  for (const char* change : {"RL.POLICY SET p 100/h", "RL.POLICY OVERRIDE p k 100/h"}) {
    Show("RL.POLICY SET p 10/h");
    Show("RL.RESERVE k @p COST 5 HOLD a TTL 50");
    Advance(milliseconds{100});
    EXPECT_EQ(Show(change), "OK");
    EXPECT_EQ(Show("RL.PEEK k @p COST 0"), "1 100 0 0 0") << change;
  }
}

}  // namespace
}  // namespace weir
