// Goal: `keep=` leaves tokens in a limit for other requests: who asks for more than what is above
// them is denied, nothing more is taken than the cost, and classes of requests that share a bucket
// starve in their order. Method: examples computed by hand; three classes under overload, counted.
#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"
#include "tests/support/resp_value.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(KeepTest, PassesWhileSoManyTokensAreLeftAfterIt) {
  for (const std::string limit : {"10/s", "10/s,fixed", "10/s,sliding"}) {
    Client client;
    const auto first_two = [&](std::string_view line) {
      const RespValue reply = client.Ask("RL.ALLOW k " + limit + std::string(line));
      return std::to_string(reply.elements[0].number) + " " +
             std::to_string(reply.elements[1].number);
    };
    EXPECT_EQ(first_two(",keep=4 COST 7"), "0 10") << limit;
    EXPECT_EQ(first_two(",keep=4 COST 6"), "1 4") << limit;
    EXPECT_EQ(first_two(",keep=4"), "0 4") << limit;
    EXPECT_EQ(first_two(",keep=4 COST 0"), "1 4") << limit;
    EXPECT_EQ(first_two(",keep=3"), "1 3") << limit;
    EXPECT_EQ(first_two(",keep=0 COST 3"), "1 0") << limit;
    EXPECT_EQ(first_two(",cost=0,keep=1"), "0 0") << limit;
    EXPECT_EQ(first_two(",cost=0"), "1 0") << limit;
  }
}

// The wait is that of the cost and what is kept; more than the burst never passes.
TEST(KeepTest, ADenialTellsWhenBothAreThere) {
  Client client;
  client.Run("RL.ALLOW k 10/s COST 8");
  EXPECT_EQ(client.Run("RL.PEEK k 10/s,keep=5 COST 3"), Five("0 2 600 800 0"));
  EXPECT_EQ(client.Run("RL.PEEK k 10/s,keep=5 COST 5"), Five("0 2 800 800 0"));
  EXPECT_EQ(client.Run("RL.PEEK k 10/s,keep=5 COST 6"), Five("0 2 -1 800 0"));
  EXPECT_EQ(client.Run("RL.PEEK k 10/s,keep=11 COST 0"), Five("0 2 -1 800 0"));
  EXPECT_EQ(client.Run("RL.PEEK k 10/s,keep=9223372036854775807,cost=9223372036854775807"),
            Five("0 2 -1 800 0"));
  client.clock().Advance(milliseconds{600} - Nanos{1});
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s,keep=5 COST 3"), Five("0 7 1 201 0"));
  client.clock().Advance(Nanos{1});
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s,keep=5 COST 3"), Five("1 5 0 500 0"));
}

TEST(KeepTest, AskingWhetherAnyIsLeftTakesAndWritesNothing) {
  Client client;
  EXPECT_EQ(client.Run("RL.ALLOW k 2/s,cost=0,keep=1"), Five("1 2 0 0 0"));
  EXPECT_EQ(client.Run("EXISTS k"), ":0\r\n");
  client.Run("RL.ALLOW k 2/s COST 2");
  const std::string state = client.host().State({"k"});
  EXPECT_EQ(client.Run("RL.ALLOW k 2/s,cost=0,keep=1"), Five("0 0 500 1000 0"));
  EXPECT_EQ(client.host().State({"k"}), state);
  EXPECT_THAT(client.Show("RL.STATS"), HasSubstr("[\"(total)\" 2 1 0 "));
}

// The costs of one bucket are added; of what they keep, the most counts.
TEST(KeepTest, TheSameBucketTwiceKeepsTheMost) {
  Client client;
  EXPECT_EQ(client.Run("RL.PEEK k 10/s,keep=5,cost=3 10/s,keep=7,cost=2"), Five("0 10 -1 0 0"));
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s,cost=3,keep=5 AND k 10/s,keep=4,cost=2 WITHLIMITS"),
            "*6\r\n:1\r\n:5\r\n:0\r\n:500\r\n:0\r\n*2\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:5\r\n:0\r\n:500\r\n:0\r\n:3\r\n:5\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:5\r\n:0\r\n:500\r\n:1\r\n:2\r\n:4\r\n");
}

TEST(KeepTest, TakesNoneOfWhatIsKept) {
  Client client;
  EXPECT_EQ(client.Run("RL.TAKE k 10/s,keep=3,cost=2 UPTO 9"), Five("3 4 0 600 0"));
  EXPECT_EQ(client.Run("RL.TAKE k 10/s,keep=3,cost=2 UPTO 9"), Five("0 4 100 600 0"));
  // A limit that is asked for nothing bounds the others only by what it keeps.
  EXPECT_EQ(client.Run("RL.TAKE k 10/s,keep=4,cost=0 20/s UPTO 9"), Five("9 4 0 600 0"));
  EXPECT_EQ(client.Run("RL.TAKE k 10/s,keep=5,cost=0 20/s UPTO 9"), Five("0 4 100 600 0"));
}

TEST(KeepTest, UnlimitedPassesNoneDeniesAndAShadowOnlySaysSo) {
  Client client;
  client.Run("RL.POLICY SET p 10/s");
  client.Run("RL.POLICY OVERRIDE p friend unlimited");
  client.Run("RL.POLICY OVERRIDE p foe none");
  EXPECT_EQ(client.Run("RL.ALLOW friend @p,keep=20"), Five("1 9223372036854775807 0 0 0"));
  EXPECT_EQ(client.Run("RL.ALLOW foe @p,keep=20,cost=0"), Five("0 0 -1 0 0"));
  EXPECT_EQ(client.Run("RL.ALLOW k @p,keep=20"), Five("0 10 -1 0 0"));
  EXPECT_EQ(client.Show("RL.ALLOW k 5/s 10/s,shadow,keep=10 WITHLIMITS"),
            "1 4 0 200 0\n"
            "[[\"5/s\" 1 5 4 0 200 0 1 0]\n [\"10/s,shadow\" 0 10 10 -1 0 0 1 10]]");
}

// What a policy keeps is kept for every request that does not say otherwise.
TEST(KeepTest, APolicyKeepsAndAWordOfItDecides) {
  Client client;
  EXPECT_EQ(client.Run("RL.POLICY SET p 10/s,keep=8,cost=2 20/s"), "+OK\r\n");
  EXPECT_EQ(client.Show("RL.POLICY GET p"), "\"10/s,cost=2,keep=8\" \"20/s\"");
  EXPECT_EQ(client.Run("RL.ALLOW k @p"), Five("1 8 0 200 0"));
  EXPECT_EQ(client.Run("RL.ALLOW k @p"), Five("0 8 200 200 0"));
  EXPECT_EQ(client.Run("RL.ALLOW k @p,keep=6"), Five("1 6 0 400 0"));
  EXPECT_EQ(client.Run("RL.ALLOW k @p,keep=18,cost=0"), Five("0 6 -1 400 0"));
  client.Run("RL.POLICY OVERRIDE p k 10/s,keep=3");
  EXPECT_EQ(client.Run("RL.ALLOW k @p COST 4"), Five("0 6 100 400 0"));
  EXPECT_EQ(client.Run("RL.ALLOW k @p COST 3"), Five("1 3 0 700 0"));
}

// A refund, a reset, and the looks at other limits in a denial pass over it.
TEST(KeepTest, LooksAndRefundsPassOverIt) {
  Client client;
  client.Run("RL.ALLOW k 10/s COST 10");
  EXPECT_EQ(client.Run("RL.REFUND k 10/s,keep=8,cost=4"), Five("1 4 0 600 0"));
  EXPECT_EQ(client.Show("RL.ALLOW k 10/s,keep=3 none WITHLIMITS"),
            "0 0 -1 600 1\n"
            "[[\"10/s\" 1 10 4 0 600 0 1 3]\n [\"none\" 0 0 0 -1 0 0 1 0]]");
  EXPECT_EQ(client.Run("RL.RESET k 10/s,keep=8"), ":1\r\n");
}

TEST(KeepTest, BadValuesAreErrorsThatChangeNothing) {
  Client client;
  const std::string range = " must be 0 to 9223372036854775807 in plain digits\r\n";
  for (const std::string command : {"RL.ALLOW k ", "RL.PEEK k ", "RL.POLICY SET p "}) {
    EXPECT_EQ(client.Run(command + "10/s,keep="),
              "-ERR invalid limit '10/s,keep=': keep ''" + range);
    EXPECT_EQ(client.Run(command + "10/s 10/s,keep=9223372036854775808"),
              "-ERR invalid limit '10/s,keep=9223372036854775808': keep "
              "'9223372036854775808'" +
                  range);
    EXPECT_EQ(client.Run(command + "10/s,keep=1,keep=2"),
              "-ERR invalid limit '10/s,keep=1,keep=2': option 'keep=' is given twice\r\n");
    EXPECT_EQ(client.Run(command + "none,keep=1"),
              "-ERR invalid limit 'none,keep=1': none takes no options\r\n");
  }
  EXPECT_THAT(client.Run("CL.THROTTLE k 4 1 60 keep=1"),
              HasSubstr("invalid quantity 'keep=1': value is not an integer"));
  EXPECT_EQ(client.Run("DBSIZE"), ":0\r\n");
  EXPECT_EQ(client.Run("RL.POLICY GET p"), "$-1\r\n");
}

// --- Strict priorities in one bucket ------------------------------------------------------------

class PrioritiesTest : public testing::Test {
 protected:
  // Requests of the three classes in each hundredth of a second, in which the bucket gets 10
  // tokens. The least important come first.
  struct Offer {
    int batch;
    int normal;
    int critical;
  };

  // Returns how many of each class passed in one second.
  std::array<int, 3> Second(const Offer& offer) {
    std::array<int, 3> passed{};
    for (int step = 0; step < 100; ++step) {
      client_.clock().Advance(milliseconds{10});
      passed[0] += Pass("RL.ALLOW api 1000/s,keep=500", offer.batch);
      passed[1] += Pass("RL.ALLOW api 1000/s,keep=100", offer.normal);
      passed[2] += Pass("RL.ALLOW api 1000/s", offer.critical);
    }
    return passed;
  }
  // The same after two seconds, when the bucket has come to rest at a new level.
  std::array<int, 3> SecondAtRest(const Offer& offer) {
    Second(offer);
    Second(offer);
    return Second(offer);
  }

 private:
  int Pass(std::string_view line, int times) {
    int passed = 0;
    for (int i = 0; i < times; ++i) {
      passed += client_.Ask(line).elements[0].number == 1 ? 1 : 0;
    }
    return passed;
  }

  Client client_;
};

TEST_F(PrioritiesTest, BatchStarvesBeforeNormalAndNormalBeforeCritical) {
  // Below the rate all pass.
  EXPECT_THAT(SecondAtRest({.batch = 2, .normal = 3, .critical = 3}), ElementsAre(200, 300, 300));
  // The batch gets what the others leave.
  EXPECT_THAT(SecondAtRest({.batch = 5, .normal = 5, .critical = 3}), ElementsAre(200, 500, 300));
  // Nothing is left of it before normal requests lose anything; those get what critical ones leave.
  EXPECT_THAT(SecondAtRest({.batch = 5, .normal = 7, .critical = 6}), ElementsAre(0, 400, 600));
  // Critical requests alone are more than the rate.
  EXPECT_THAT(SecondAtRest({.batch = 5, .normal = 7, .critical = 15}), ElementsAre(0, 0, 1000));
  // When they become fewer, normal requests pass before the batch does.
  EXPECT_THAT(Second({.batch = 5, .normal = 7, .critical = 6}), ElementsAre(0, 306, 600));
}

}  // namespace
}  // namespace weir
