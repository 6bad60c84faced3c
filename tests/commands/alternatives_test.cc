// Goal: of the alternatives of a request the first that passes is charged, held, counted and told
// of, on both hosts. Method: conversations with a clock that is stopped until a test moves it;
// random requests are in random_stacks_test.cc, the laws in tests/core/plans/choice_test.cc.
#include <chrono>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"
#include "tests/support/resp_value.h"
#include "tests/support/stats_text.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::StartsWith;

class AlternativesTest : public testing::Test {
 protected:
  std::string Show(std::string_view line) { return client_.Show(line); }
  void Advance(Nanos time) { client_.clock().Advance(time); }

  Client client_;
};

TEST_F(AlternativesTest, OwnShareThenThePool) {
  const std::string ask = "RL.ALLOW own 2/m AND all 9/m OR pool 3/m,keep=1 AND all 9/m";
  EXPECT_EQ(Show(ask), "1 1 0 30000 0");
  EXPECT_EQ(Show(ask), "1 0 0 60000 0");
  EXPECT_EQ(Show(ask), "1 2 0 20000 2");
  EXPECT_EQ(Show(ask), "1 1 0 40000 2");
  EXPECT_EQ(Show("RL.PEEK" + ask.substr(8)), "0 1 20000 40000 2");
  EXPECT_EQ(Show(ask), "0 1 20000 40000 2");
  EXPECT_EQ(Show("RL.PEEK all 9/m COST 0"), "1 5 0 26667 0");
  Advance(milliseconds{20'000} - Nanos{1});
  EXPECT_EQ(Show(ask), "0 1 1 20001 2");
  Advance(Nanos{1});
  EXPECT_THAT(Show(ask), StartsWith("1 1 0 "));
}

TEST_F(AlternativesTest, RowsNameTheirAlternative) {
  Show("RL.ALLOW a 1/m");
  EXPECT_EQ(Show("RL.ALLOW a 1/m AND b 5/m OR c 2/m OR d 3/m WITHLIMITS"),
            "1 1 0 30000 2\n"
            "[[\"1/m\" 0 1 0 60000 60000 0 1 0 0]\n"
            " [\"5/m\" 1 5 5 0 0 1 1 0 0]\n"
            " [\"2/m\" 1 2 1 0 30000 2 1 0 1]\n"
            " [\"3/m\" 1 3 2 0 20000 3 1 0 2]]");
  client_.Run("HELLO 3");
  const RespValue reply = client_.Ask("RL.PEEK a 1/m OR b 1/m WITHLIMITS");
  const RespValue& row = reply.elements[5].elements[1];
  EXPECT_EQ(row.type, '%');
  EXPECT_EQ(row.elements[row.elements.size() - 2].text, "alternative");
  EXPECT_EQ(row.elements.back().number, 1);
}

// Policies, and an override that gives a key other limits.
TEST_F(AlternativesTest, PoliciesHaveAnyNumberOfRows) {
  client_.Run("RL.POLICY SET free 1/m 9/h");
  client_.Run("RL.POLICY OVERRIDE free vip 3/m");
  EXPECT_EQ(Show("RL.ALLOW u @free OR vip @free"), "1 0 0 400000 0");
  EXPECT_EQ(Show("RL.ALLOW u @free OR vip @free"), "1 2 0 20000 2");
  EXPECT_EQ(Show("RL.ALLOW u @free OR vip @free COST 4"), "0 0 60000 400000 0");
}

// A bucket may stand in several alternatives, each of which adds up its own costs.
TEST_F(AlternativesTest, OneBucketInSeveral) {
  EXPECT_EQ(Show("RL.ALLOW k 5/m 5/m COST 3 OR k 5/m COST 4 OR k 5/m"), "1 1 0 48000 2");
  EXPECT_EQ(Show("RL.ALLOW k 5/m COST 4 OR k 5/m"), "1 0 0 60000 1");
  EXPECT_EQ(Show("RL.ALLOW k 5/m COST 4 OR k 5/m"), "0 0 12000 60000 1");
}

TEST_F(AlternativesTest, BansAreWrittenIfAllDeny) {
  Show("RL.ALLOW a 1/m,ban=1h");
  EXPECT_EQ(Show("RL.ALLOW a 1/m,ban=1h OR b 1/m"), "1 0 0 60000 1");
  EXPECT_EQ(Show("RL.PEEK a 1/m,ban=1h"), "0 0 60000 60000 0");
  EXPECT_EQ(Show("RL.ALLOW a 1/m,ban=1h OR b 1/m"), "0 0 60000 60000 1");
  EXPECT_EQ(Show("RL.PEEK a 1/m,ban=1h"), "0 0 3600000 3600000 0");
}

TEST_F(AlternativesTest, WinnersAndWhatMadeOthersLoseAreCounted) {
  Show("RL.ALLOW a 1/m");
  Show("RL.ALLOW a 1/m AND x 50/m AND s 1/m,shadow COST 2 OR b 5/m OR c 7/m");
  EXPECT_EQ(StatsText(client_), "(total) 2 0 0 1;1/m 1 1 0 1;5/m 1 0 0 0;");
  EXPECT_EQ(Show("RL.TOP"), "[]");
  Show("RL.ALLOW a 1/m OR b 5/m COST 6 OR c 7/m COST 8");
  EXPECT_EQ(StatsText(client_), "(total) 2 1 0 1;1/m 1 2 0 1;5/m 1 1 0 0;7/m 0 1 0 0;");
  EXPECT_EQ(Show("RL.TOP"), "[[\"a\" 1 0]]");
}

TEST_F(AlternativesTest, MistakesChargeNothing) {
  const std::string error =
      "ERR OR stands in RL.ALLOW, RL.PEEK and RL.RESERVE only: name what was won";
  EXPECT_EQ(Show("RL.TAKE k 1/s OR l 1/s UPTO 1"), error);
  EXPECT_EQ(Show("RL.CHARGE k 1/s OR l 1/s"), error);
  EXPECT_EQ(Show("RL.REFUND k 1/s OR l 1/s"), error);
  EXPECT_EQ(Show("RL.WAIT k 1/s OR l 1/s TIMEOUT 1"), error);
  EXPECT_EQ(Show("RL.COMMIT k OR l HOLD id"), error);
  EXPECT_EQ(Show("RL.CANCEL k OR l HOLD id"), error);
  EXPECT_EQ(Show("RL.ALLOW k 1/s OR"), "ERR expected a key after OR");
  EXPECT_EQ(Show("RL.ALLOW k 1/s OR l 0/s"),
            "ERR invalid limit '0/s': count must be 1 to 9223372036854775807");
  EXPECT_EQ(Show("RL.ALLOW k 1/s OR l @nobody"),
            "ERR unknown policy 'nobody': RL.POLICY SET makes one");
  EXPECT_EQ(Show("RL.ALLOW k 1/s OR l 5,held"), "ERR a held limit needs RL.RESERVE");
  EXPECT_EQ(Show("EXISTS k l"), "0");
}

TEST_F(AlternativesTest, TransactionsAreOneUnit) {
  Show("RL.ALLOW a 1/m");
  client_.Run("MULTI");
  client_.Run("RL.ALLOW a 1/m OR b 2/m");
  client_.Run("RL.PEEK a 1/m OR b 2/m");
  client_.Run("RL.ALLOW a 1/m OR b 2/m");
  client_.Run("RL.ALLOW a 1/m OR b 2/m");
  EXPECT_EQ(Show("EXEC"), "[1 1 0 30000 1]\n[1 0 0 60000 1]\n[1 0 0 60000 1]\n[0 0 30000 60000 1]");
}

// --- Holds ---

TEST_F(AlternativesTest, WinnersKeysHold) {
  const std::string ask = "RL.RESERVE a 1,held OR b 1,held AND all 9/m ";
  EXPECT_EQ(Show(ask + "HOLD 1 TTL 5000"), "1 0 0 5000 0");
  EXPECT_EQ(Show(ask + "HOLD 2 TTL 9000"), "1 0 0 9000 1");
  EXPECT_EQ(Show(ask + "HOLD 3 TTL 9000"), "0 0 5000 5000 0");
  EXPECT_EQ(Show("RL.INSPECT a HOLDS"), "[[\"1\" 5000 0 \"1,held\" 1]]");
  EXPECT_EQ(Show("RL.INSPECT all HOLDS"), "[[\"2\" 9000 0 \"9/m\" 1]]");
  EXPECT_EQ(Show("RL.COMMIT a HOLD 2"), "0 0 0 0 0");
  EXPECT_THAT(Show("RL.COMMIT b AND all HOLD 2"), StartsWith("1 "));
  EXPECT_EQ(Show(ask + "HOLD 3 TTL 9000"), "1 0 0 13334 1");
}

TEST_F(AlternativesTest, SameWordsAgainRenewTheWinner) {
  const std::string ask = "RL.RESERVE k 1/d OR k 9/h COST 2 HOLD a TTL 1000 WITHLIMITS";
  EXPECT_THAT(Show(ask), StartsWith("1 0 0 86400000 0\n"));
  EXPECT_THAT(Show("RL.RESERVE k 1/d OR k 9/h COST 2 HOLD b TTL 1000"), StartsWith("1 7 0 "));
  Advance(milliseconds{900});
  EXPECT_THAT(Show(ask), StartsWith("1 0 0 86399100 0\n"));
  EXPECT_EQ(Show("RL.RESERVE k 1/d OR k 9/h COST 2 HOLD b TTL 5000"), "1 7 0 799100 1");
  Advance(milliseconds{4'999});
  EXPECT_EQ(Show("RL.INSPECT k HOLDS"), "[[\"b\" 1 0 \"9/h\" 2]]");
}

TEST_F(AlternativesTest, IdOfAnotherRequestIsAnError) {
  Show("RL.RESERVE a 1/m OR b 9/m HOLD id TTL 1000");
  const std::string other = "ERR hold 'id' is another request";
  EXPECT_EQ(Show("RL.RESERVE a 1/m OR b 8/m HOLD id TTL 1000"), other);
  EXPECT_EQ(Show("RL.RESERVE b 9/m OR a 1/m HOLD id TTL 1000"), other);
  EXPECT_EQ(Show("RL.RESERVE b 9/m HOLD id TTL 1000"), "1 8 0 6667 0");
  Show("RL.CANCEL a HOLD id");
  EXPECT_EQ(Show("RL.RESERVE a 1/m OR c 9/m HOLD id TTL 1000"), "ERR hold 'id' is settled");
  EXPECT_EQ(Show("RL.PEEK c 9/m COST 0"), "1 9 0 0 0");
}

// A hold that is due is settled before any alternative is decided.
TEST_F(AlternativesTest, DueHoldsAreSettledFirst) {
  Show("RL.RESERVE a 1,held AND b 2/d HOLD 1 TTL 1000");
  EXPECT_EQ(Show("RL.PEEK c none OR a 1,held"), "0 0 1000 1000 1");
  Advance(minutes{1});
  EXPECT_EQ(Show("RL.PEEK c none OR a 1,held"), "1 0 0 0 1");
  EXPECT_EQ(Show("RL.ALLOW c none OR b 2/d COST 2"), "1 0 0 86400000 1");
}

}  // namespace
}  // namespace weir
