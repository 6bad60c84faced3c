// Goal: clients reserve, settle and renew holds as docs/commands.md says, alone, in transactions,
// and with policies. Method: conversations with a clock that is stopped until a test moves it.
// The core's laws are tested in tests/core/limiter/.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"
#include "tests/commands/differences.h"
#include "tests/support/resp_value.h"
#include "tests/support/stats_text.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kNoHold = "0 0 0 0 0";

class HoldCommandsTest : public testing::Test {
 protected:
  explicit HoldCommandsTest(const HostOptions& options = {}) : client_(options) {}

  std::string Show(std::string_view line) { return client_.Show(line); }
  void Advance(Nanos time) { client_.clock().Advance(time); }
  // The value of a field of INFO.
  std::string InfoOf(std::string_view field) {
    const std::string text = client_.Ask("INFO weir").text;
    const std::string line = "\r\n" + InfoName(field) + ":";
    const std::size_t begin = text.find(line);
    if (begin == std::string::npos) return "";
    const std::size_t value = begin + line.size();
    return text.substr(value, text.find('\r', value) - value);
  }

  Client client_;
};

// --- Reserving ---

TEST_F(HoldCommandsTest, ReservationIsAnAdmissionThatTakes) {
  EXPECT_EQ(Show("RL.RESERVE k 10/s 100/h COST 4 HOLD a TTL 1000"), "1 6 0 144000 0");
  EXPECT_EQ(Show("RL.PEEK k 10/s COST 0"), "1 6 0 400 0");
  EXPECT_EQ(Show("RL.RESERVE k 10/s 100/h COST 7 HOLD b TTL 1000"), "0 6 100 144000 0");
  EXPECT_EQ(Show("RL.COMMIT k HOLD b"), kNoHold) << "a denial keeps nothing";
}

TEST_F(HoldCommandsTest, SameWordsAgainAreAHeartbeat) {
  EXPECT_EQ(Show("RL.RESERVE k 10/h COST 8 HOLD a TTL 1000"), "1 2 0 2880000 0");
  Advance(milliseconds{900});
  EXPECT_EQ(Show("RL.RESERVE k 10/h COST 8 TTL 2000 HOLD a"), "1 2 0 2879100 0");
  Advance(milliseconds{1999});
  EXPECT_EQ(Show("RL.INSPECT k HOLDS"), "[[\"a\" 1 0 \"10/h\" 8]]");
  EXPECT_EQ(StatsText(client_), "(total) 1 0 0 1;10/h 1 0 0 1;") << "decided once";
  Advance(milliseconds{1});
  EXPECT_EQ(Show("RL.INSPECT k HOLDS"), "[]");
  EXPECT_EQ(Show("RL.PEEK k 10/h COST 0"), "1 10 0 0 0");
}

TEST_F(HoldCommandsTest, OtherRequestUnderTheIdIsAnError) {
  EXPECT_EQ(Show("RL.RESERVE k 10/h AND l 10/h HOLD a TTL 1000"), "1 9 0 360000 0");
  const std::string error = "ERR hold 'a' is another request";
  EXPECT_EQ(Show("RL.RESERVE k 10/h AND l 10/h COST 2 HOLD a TTL 1000"), error);
  EXPECT_EQ(Show("RL.RESERVE k 10/h HOLD a TTL 1000"), error);
  EXPECT_EQ(Show("RL.RESERVE k 10/h AND l 10/h AND m 1/h HOLD a TTL 1000"), error);
  EXPECT_EQ(Show("RL.TAKE k 10/h AND l 10/h UPTO 1 HOLD a TTL 1000"), error);
  EXPECT_EQ(Show("RL.PEEK k 10/h COST 0"), "1 9 0 360000 0");
  EXPECT_EQ(Show("RL.RESERVE other 10/h COST 2 HOLD a TTL 1000"), "1 8 0 720000 0")
      << "ids belong to a key";
}

TEST_F(HoldCommandsTest, SettledIdIsAnErrorUntilItsMarkIsGone) {
  EXPECT_EQ(Show("RL.RESERVE k 10/h HOLD a TTL 3600000"), "1 9 0 360000 0");
  EXPECT_EQ(Show("RL.COMMIT k HOLD a"), "1 9 0 360000 0");
  EXPECT_EQ(Show("RL.INSPECT k HOLDS"), "[[\"a\" 60000 1 \"10/h\" 1]]");
  EXPECT_EQ(Show("RL.RESERVE k 10/h HOLD a TTL 1000"), "ERR hold 'a' is settled");
  Advance(seconds{60});
  EXPECT_EQ(Show("RL.COMMIT k HOLD a"), kNoHold);
  EXPECT_EQ(Show("RL.RESERVE k 10/h HOLD a TTL 1000"), "1 8 0 660000 0");
}

TEST_F(HoldCommandsTest, TimeToLiveIsBounded) {
  EXPECT_EQ(Show("RL.RESERVE k 10/h HOLD a TTL 3600000"), "1 9 0 360000 0");
  EXPECT_EQ(Show("RL.RESERVE k 10/h HOLD b TTL 3600001"),
            "ERR invalid TTL '3600001': above the server's max-hold, 3600000 ms");
  EXPECT_EQ(Show("RL.TAKE k 10/h UPTO 1 HOLD b TTL 86400000"),
            "ERR invalid TTL '86400000': above the server's max-hold, 3600000 ms");
}

TEST_F(HoldCommandsTest, TakeIsHeldAndSettledInGrantedTokens) {
  EXPECT_EQ(Show("RL.TAKE k 100/h,cost=3 1000/h,cost=20 UPTO 10 HOLD a TTL 1000"),
            "10 70 0 1080000 0");
  EXPECT_EQ(Show("RL.TAKE k 100/h,cost=3 1000/h,cost=20 UPTO 10 HOLD a TTL 1000"),
            "10 70 0 1080000 0")
      << "the first grant";
  EXPECT_EQ(Show("RL.COMMIT k COST 4 HOLD a"), "1 88 0 432000 0");
  EXPECT_EQ(Show("RL.PEEK k 1000/h COST 0"), "1 920 0 288000 0");
  EXPECT_EQ(Show("RL.TAKE k 100/h UPTO 100 HOLD b TTL 1000"), "88 0 0 3600000 0");
  EXPECT_EQ(Show("RL.TAKE k 100/h UPTO 100 HOLD c TTL 1000"), "0 0 36000 3600000 0");
  EXPECT_EQ(Show("RL.CANCEL k HOLD c"), kNoHold);
}

// --- Settling ---

TEST_F(HoldCommandsTest, L21CommitsOnceHoweverOftenItComes) {
  EXPECT_EQ(Show("RL.RESERVE k 10/h 1000/h COST 9 HOLD a TTL 1000"), "1 1 0 3240000 0");
  for (int time = 0; time < 3; ++time) {
    EXPECT_EQ(Show("RL.COMMIT k 1000/h COST 2 HOLD a"), "1 998 0 7200 0");
  }
  EXPECT_EQ(Show("RL.CANCEL k HOLD a"), "1 1 0 3240000 0") << "settled before";
  EXPECT_EQ(Show("RL.PEEK k 10/h COST 0"), "1 1 0 3240000 0") << "a limit that is not named stays";
}

TEST_F(HoldCommandsTest, CancelGivesAllBack) {
  EXPECT_EQ(Show("RL.RESERVE k 10/h 5,held COST 2 HOLD a TTL 1000"), "1 3 0 720000 1");
  EXPECT_EQ(Show("RL.CANCEL k HOLD a"), "1 10 0 0 0");
  EXPECT_EQ(Show("RL.PEEK k 5,held COST 5"), "1 0 0 0 0");
  EXPECT_EQ(Show("EXISTS k"), Host::IsModule() ? "1" : "0") << "in Redis, a mark is in the key";
}

// Changes of the key's override, or of the policy, in between do not matter.
TEST_F(HoldCommandsTest, SettlesByThePolicyWhereTheKeyHasNoSuchLimit) {
  EXPECT_EQ(Show("RL.POLICY SET p 100/30d"), "OK");
  EXPECT_EQ(Show("RL.RESERVE k @p COST 10 HOLD a TTL 100000"), "1 90 0 259200000 0");
  EXPECT_EQ(Show("RL.RESERVE l @p COST 90 HOLD a TTL 100000"), "1 10 0 2332800000 0");
  for (const char* const key : {"k", "l"}) {
    EXPECT_EQ(Show("RL.POLICY OVERRIDE p " + std::string(key) + " unlimited"), "OK");
  }
  EXPECT_EQ(Show("RL.COMMIT k COST 50 HOLD a"), "1 0 0 0 0") << "no limit of the key has numbers";
  EXPECT_EQ(Show("RL.COMMIT l COST 1 HOLD a"), "1 0 0 0 0");
  for (const char* const key : {"k", "l"}) Show("RL.POLICY UNOVERRIDE p " + std::string(key));
  EXPECT_EQ(Show("RL.PEEK k @p COST 0"), "1 50 0 1296000000 0");
  EXPECT_EQ(Show("RL.PEEK l @p COST 0"), "1 99 0 25920000 0");
}

TEST_F(HoldCommandsTest, SettlesByTheReservationWhereThePolicyHasNoSuchLimit) {
  EXPECT_EQ(Show("RL.POLICY SET p 100/30d 50/30d"), "OK");
  for (const char* const id : {"committed", "cancelled", "expired"}) {
    EXPECT_EQ(Show("RL.RESERVE " + std::string(id) + " @p COST 10 HOLD a TTL 100000"),
              "1 40 0 518400000 1");
  }
  EXPECT_EQ(Show("RL.POLICY SET p 100/30d"), "OK");
  EXPECT_EQ(Show("RL.COMMIT committed COST 1 HOLD a"), "1 99 0 25920000 0");
  EXPECT_EQ(Show("RL.CANCEL cancelled HOLD a"), "1 100 0 0 0");
  Advance(seconds{100});
  EXPECT_EQ(Show("RL.PEEK expired @p COST 0"), "1 100 0 0 0");
  EXPECT_EQ(Show("RL.POLICY SET p 100/30d 50/30d"), "OK");
  EXPECT_EQ(Show("RL.PEEK committed @p COST 0"), "1 49 0 51740000 1");
  EXPECT_EQ(Show("RL.PEEK cancelled @p COST 0"), "1 50 0 0 1");
  EXPECT_EQ(Show("RL.PEEK expired @p COST 0"), "1 50 0 0 1");
}

TEST_F(HoldCommandsTest, AHeldLimitTellsTheEndOfItsLastOpenHold) {
  EXPECT_EQ(Show("RL.RESERVE k 2,held HOLD long TTL 1000000"), "1 1 0 1000000 0");
  EXPECT_EQ(Show("RL.RESERVE k 2,held HOLD short TTL 100000"), "1 0 0 1000000 0");
  EXPECT_EQ(Show("RL.CANCEL k HOLD long"), "1 1 0 100000 0");
  EXPECT_EQ(Show("RL.PEEK k 2,held COST 2"), "0 1 100000 100000 0");
  EXPECT_EQ(Show("RL.RESERVE k 2,held HOLD short TTL 5000"), "1 1 0 5000 0") << "renewed for less";
  EXPECT_EQ(Show("RL.PEEK k 2,held COST 2"), "0 1 5000 5000 0");
}

// A request settles a bounded number of limits, however many keys it names.
TEST_F(HoldCommandsTest, TooManyHoldsOfSeveralKeysThatExpiredAtOnceAreSettledInSteps) {
  if (Host::IsModule()) GTEST_SKIP() << "its timer may settle them first";
  std::string limits;
  for (int i = 1; i <= 64; ++i) limits += " " + std::to_string(100'000 + i) + "/s";
  for (int i = 0; i < 520; ++i) {
    for (const char* const key : {"a", "b", "c", "d"}) {
      const std::string id = " HOLD " + std::to_string(i) + " TTL 1000";
      ASSERT_THAT(Show("RL.RESERVE " + std::string(key) + limits + id), StartsWith("1 "));
    }
  }
  Advance(seconds{1});
  const std::string error = "ERR too many holds of these keys have expired at once: try again";
  EXPECT_EQ(Show("RL.PEEK a 5/h AND b 5/h"), error);
  EXPECT_EQ(Show("RL.PEEK a 5/h AND b 5/h"), "1 4 0 720000 0");
  EXPECT_EQ(Show("RL.COMMIT c AND d HOLD 1"), error);
  EXPECT_EQ(Show("RL.COMMIT c AND d HOLD 1"), kNoHold);
}

TEST_F(HoldCommandsTest, UnknownHoldChangesNothing) {
  EXPECT_EQ(Show("RL.RESERVE k 10/h COST 2 HOLD a TTL 1000"), "1 8 0 720000 0");
  EXPECT_EQ(Show("RL.COMMIT k COST 9 HOLD b"), kNoHold);
  EXPECT_EQ(Show("RL.COMMIT l COST 9 HOLD a WITHLIMITS"), "0 0 0 0 0\n[]");
  EXPECT_EQ(Show("RL.COMMIT k COST 9 AND l HOLD a"), kNoHold) << "all keys or none";
  EXPECT_EQ(Show("RL.PEEK k 10/h COST 0"), "1 8 0 720000 0");
}

TEST_F(HoldCommandsTest, LimitThatWasNotReservedIsAnError) {
  EXPECT_EQ(Show("RL.RESERVE k 10/h 5,held COST 2 HOLD a TTL 1000"), "1 3 0 720000 1");
  EXPECT_EQ(Show("RL.COMMIT k 10/h,cost=1 50/h,cost=1 HOLD a"), "ERR hold 'a' has no limit '50/h'");
  for (const char* const costly : {"5,held,cost=1", "5,held COST 1", "5,held 5,held COST 1"}) {
    EXPECT_EQ(Show("RL.COMMIT k " + std::string(costly) + " HOLD a"),
              "ERR a held limit takes no cost here")
        << costly;
  }
  EXPECT_EQ(Show("RL.PEEK k 10/h COST 0"), "1 8 0 720000 0") << "nothing has changed";
  EXPECT_EQ(Show("RL.COMMIT k 10/h 5,held COST 1 HOLD a"), "1 5 0 360000 1")
      << "COST passes over held limits";
}

TEST_F(HoldCommandsTest, SeveralKeysAreSettledTogetherOrOneByOne) {
  EXPECT_EQ(Show("RL.RESERVE a 10/h AND b 10/h COST 5 HOLD id TTL 1000"), "1 5 0 1800000 1");
  EXPECT_EQ(Show("RL.CANCEL a HOLD id"), "1 10 0 0 0");
  EXPECT_EQ(Show("RL.PEEK b 10/h COST 0"), "1 5 0 1800000 0");
  EXPECT_EQ(Show("RL.COMMIT a AND b COST 1 HOLD id"), "1 9 0 360000 1");
}

TEST_F(HoldCommandsTest, WithLimitsNamesWhatWasSettled) {
  EXPECT_EQ(Show("RL.POLICY SET p 1000/h,name=hourly 5,held"), "OK");
  EXPECT_EQ(Show("RL.RESERVE k 10/h,name=burst @p AND l 20/h COST 4 HOLD a TTL 60000"),
            "1 4 0 720000 2");
  EXPECT_EQ(Show("RL.COMMIT k 10/h,cost=1,name=burst @p,cost=2 AND l HOLD a WITHLIMITS"),
            "1 5 0 360000 2\n"
            "[[\"burst\" 1 10 9 0 360000 0 1 0]\n"
            " [\"@p#0\" 1 1000 998 0 7200 0 2 0]\n"
            " [\"@p#1\" 1 5 5 0 0 0 1 0]]");
  EXPECT_EQ(Show("RL.PEEK l 20/h COST 0"), "1 16 0 720000 0") << "as reserved";
}

// --- Held limits ---

TEST_F(HoldCommandsTest, OtherCommandsSayWhatHeldLimitsNeed) {
  EXPECT_EQ(Show("RL.POLICY SET p 10/s 5,held"), "OK");
  EXPECT_EQ(Show("RL.POLICY GET p"), "\"10/s\" \"5,held\"");
  EXPECT_EQ(Show("RL.POLICY SET q 10/s"), "OK");
  EXPECT_EQ(Show("RL.POLICY OVERRIDE q k 5,held"), "OK");
  for (const std::string limit : {"5,held", "10/s 5,held", "@p", "@q"}) {
    for (const std::string& command :
         {"RL.ALLOW k " + limit, "RL.TAKE k " + limit + " UPTO 1",
          "RL.WAIT k " + limit + " TIMEOUT 10", "RL.CHARGE k " + limit, "RL.REFUND k " + limit}) {
      EXPECT_EQ(Show(command), "ERR a held limit needs RL.RESERVE") << command;
    }
  }
  EXPECT_EQ(Show("RL.PEEK k 5,held COST 5"), "1 0 0 0 0");
  EXPECT_EQ(Show("RL.RESET k 5,held"), "0");
}

TEST_F(HoldCommandsTest, L22SlotsAreOutAsLongAsTheirHolds) {
  EXPECT_EQ(Show("RL.RESERVE k 2,held 10/h HOLD a TTL 60000"), "1 1 0 360000 0");
  EXPECT_EQ(Show("RL.RESERVE k 2,held 10/h HOLD b TTL 10000"), "1 0 0 720000 0");
  EXPECT_EQ(Show("RL.RESERVE k 2,held 10/h HOLD c TTL 10000"), "0 0 60000 720000 0")
      << "a request without a slot takes no rate";
  EXPECT_EQ(Show("RL.INSPECT k"), "[\"2,held\" 0 60000 2 0]\n[\"10/h\" 8 720000 2 0]");
  EXPECT_EQ(Show("RL.COMMIT k HOLD a"), "1 8 0 720000 0");
  EXPECT_EQ(Show("RL.RESERVE k 2,held 10/h HOLD c TTL 10000"), "1 0 0 1080000 0");
  Advance(seconds{10});
  EXPECT_EQ(Show("RL.PEEK k 2,held COST 0"), "1 2 0 0 0");
}

// --- Other commands about a key with holds ---

TEST_F(HoldCommandsTest, ForgettingAKeyForgetsItsHolds) {
  for (const std::string forget : {"RL.RESET k", "DEL k", "FLUSHALL"}) {
    EXPECT_EQ(Show("RL.RESERVE k 10/h 5,held COST 2 HOLD a TTL 1000"), "1 3 0 720000 1");
    Show(forget);
    EXPECT_EQ(Show("RL.COMMIT k COST 9 HOLD a"), kNoHold) << forget;
    EXPECT_EQ(Show("RL.PEEK k 10/h 5,held COST 0"), "1 5 0 0 1") << forget;
    EXPECT_EQ(InfoOf("holds"), "0") << forget;
  }
}

TEST_F(HoldCommandsTest, DeletedPolicyTakesItsHoldsAlong) {
  EXPECT_EQ(Show("RL.POLICY SET p 10/h"), "OK");
  EXPECT_EQ(Show("RL.RESERVE k @p 5,held HOLD a TTL 1000"), "1 4 0 360000 1");
  EXPECT_EQ(Show("RL.POLICY DEL p"), "OK");
  EXPECT_EQ(Show("RL.COMMIT k HOLD a"), kNoHold);
  EXPECT_EQ(Show("RL.PEEK k 5,held COST 5"), "1 0 0 0 0");
}

TEST_F(HoldCommandsTest, ASlotComesBackWhileThePolicyHasNoSlots) {
  EXPECT_EQ(Show("RL.POLICY SET p 10/h 1,held"), "OK");
  EXPECT_EQ(Show("RL.RESERVE k @p HOLD a TTL 60000"), "1 0 0 360000 1");
  EXPECT_EQ(Show("RL.POLICY SET p 10/h"), "OK");
  EXPECT_EQ(Show("RL.CANCEL k HOLD a").substr(0, 1), "1");
  EXPECT_EQ(Show("RL.POLICY SET p 10/h 1,held"), "OK");
  EXPECT_EQ(Show("RL.RESERVE k @p HOLD b TTL 60000").substr(0, 1), "1");
}

// The words name the policy, not its numbers.
TEST_F(HoldCommandsTest, PolicyMayChangeUnderAHold) {
  EXPECT_EQ(Show("RL.POLICY SET p 10/h,cost=2"), "OK");
  EXPECT_EQ(Show("RL.RESERVE k @p HOLD a TTL 1000"), "1 8 0 720000 0");
  EXPECT_EQ(Show("RL.POLICY SET p 100/h,cost=5 1/h"), "OK");
  EXPECT_EQ(Show("RL.RESERVE k @p HOLD a TTL 1000").substr(0, 2), "1 ") << "the same request";
  EXPECT_EQ(Show("RL.INSPECT k HOLDS"), "[[\"a\" 1000 0 \"@p#0\" 2]]");
  EXPECT_EQ(Show("RL.COMMIT k @p,cost=0 HOLD a").substr(0, 2), "1 ");
  EXPECT_EQ(Show("RL.COMMIT k @nosuch HOLD a"),
            "ERR unknown policy 'nosuch': RL.POLICY SET makes one");
}

TEST_F(HoldCommandsTest, OverrideSaysWhatACommitIsWorth) {
  EXPECT_EQ(Show("RL.POLICY SET p 10/h"), "OK");
  EXPECT_EQ(Show("RL.POLICY OVERRIDE p k 100/h"), "OK");
  EXPECT_EQ(Show("RL.RESERVE k @p COST 50 HOLD a TTL 1000"), "1 50 0 1800000 0");
  EXPECT_EQ(Show("RL.COMMIT k @p COST 80 HOLD a"), "1 20 0 2880000 0");
  EXPECT_EQ(Show("RL.PEEK k @p COST 0"), "1 20 0 2880000 0");
}

TEST_F(HoldCommandsTest, InspectShowsOpenHoldsAndThenSettledOnes) {
  EXPECT_EQ(Show("RL.RESERVE k 10/h 5,held HOLD b TTL 500"), "1 4 0 360000 1");
  EXPECT_EQ(Show("RL.RESERVE k 100/h COST 7 HOLD a TTL 1000"), "1 93 0 252000 0");
  EXPECT_EQ(Show("RL.COMMIT k HOLD a"), "1 93 0 252000 0");
  EXPECT_EQ(Show("RL.INSPECT k holds"),
            "[\"b\" 500 0 \"10/h\" 1 \"5,held\" 1]\n[\"a\" 1000 1 \"100/h\" 7]");
  EXPECT_EQ(Show("RL.INSPECT k HOLD"), "ERR syntax error");
}

TEST_F(HoldCommandsTest, InfoCountsHolds) {
  EXPECT_EQ(InfoOf("holds"), "0");
  for (const std::string id : {"a", "b", "c", "d"}) {
    Show("RL.RESERVE k 10/h AND l 10/h HOLD " + id + " TTL 1000");
  }
  EXPECT_EQ(InfoOf("holds"), "8");
  Show("RL.COMMIT k AND l HOLD a");
  Show("RL.COMMIT k AND l HOLD a");
  Show("RL.CANCEL k HOLD b");
  Advance(seconds{1});
  Show("RL.PEEK k 1/s AND l 1/s");
  EXPECT_EQ(InfoOf("holds"), "0");
  EXPECT_EQ(InfoOf("holds_committed"), "2");
  EXPECT_EQ(InfoOf("holds_cancelled"), "1");
  EXPECT_EQ(InfoOf("holds_expired"), "5");
}

TEST_F(HoldCommandsTest, StatsCountReservationsAsRequests) {
  Show("RL.RESERVE k 10/h,name=x HOLD a TTL 1000");
  Show("RL.RESERVE k 10/h,name=x COST 10 HOLD b TTL 1000");
  Show("RL.COMMIT k COST 5 HOLD a");
  Show("RL.COMMIT k HOLD nosuch");
  EXPECT_EQ(StatsText(client_), "(total) 1 1 0 0;x 1 1 0 0;");
}

TEST_F(HoldCommandsTest, TransactionReservesAndSettles) {
  EXPECT_EQ(Show("MULTI"), "OK");
  EXPECT_EQ(Show("RL.RESERVE k 10/h 5,held COST 5 HOLD a TTL 1000"), "QUEUED");
  EXPECT_EQ(Show("RL.COMMIT k COST 2 HOLD a"), "QUEUED");
  EXPECT_EQ(Show("RL.RESERVE l 5,held HOLD a TTL 1000"), "QUEUED");
  EXPECT_EQ(Show("RL.CANCEL k AND l HOLD a"), "QUEUED");
  EXPECT_EQ(Show("EXEC"), "[1 0 0 1800000 1]\n[1 8 0 720000 0]\n[1 4 0 1000 0]\n[1 8 0 720000 0]");
  EXPECT_EQ(Show("RL.PEEK l 5,held COST 5"), "1 0 0 0 0");
}

// Ids and keys that spell keywords: the read-ahead of a pipeline finds the same keys as the
// grammar.
TEST_F(HoldCommandsTest, PipelineOfWordsThatSpellKeywords) {
  const std::string replies = client_.Send(
      "RL.RESERVE HOLD 9/h AND AND 9/h COST 2 HOLD AND TTL 5\r\n"
      "RL.COMMIT HOLD AND AND COST 1 HOLD AND\r\n"
      "RL.CANCEL HOLD AND AND HOLD HOLD\r\n"
      "RL.COMMIT HOLD COST 4 AND AND HOLD AND\r\n");
  EXPECT_EQ(replies, Five("1 7 0 800000 1") + Five("1 8 0 400000 0") + Five(kNoHold) +
                         Five("1 8 0 400000 0"));
  EXPECT_EQ(Show("COMMAND GETKEYS RL.COMMIT HOLD AND AND COST 1 HOLD AND"), "\"HOLD\" \"AND\"");
  EXPECT_EQ(Show("COMMAND GETKEYS RL.RESERVE k 1/s HOLD AND TTL 5"), "[\"k\"]");
  EXPECT_EQ(Show("COMMAND GETKEYS RL.COMMIT HOLD AND HOLD AND k HOLD AND WITHLIMITS"),
            "\"HOLD\" \"HOLD\" \"k\"");
}

// --- Bounds ---

class FewHoldsTest : public HoldCommandsTest {
 protected:
  FewHoldsTest() : HoldCommandsTest({.max_holds = 2}) {}
};

TEST_F(FewHoldsTest, TooManyHoldsAreRefusedBeforeAnythingIsCharged) {
  EXPECT_EQ(Show("RL.RESERVE a 10/h HOLD 1 TTL 1000"), "1 9 0 360000 0");
  const std::string error = "OOM too many holds";
  EXPECT_EQ(Show("RL.RESERVE b 10/h AND c 10/h HOLD 2 TTL 1000"), error);
  EXPECT_EQ(Show("RL.TAKE b 10/h AND c 10/h UPTO 4 HOLD 2 TTL 1000"), error);
  EXPECT_EQ(Show("EXISTS b c"), "0");
  EXPECT_EQ(Show("RL.RESERVE b 10/h HOLD 2 TTL 1000"), "1 9 0 360000 0");
  EXPECT_EQ(Show("RL.RESERVE b 10/h COST 99 HOLD 3 TTL 1000"), "0 9 -1 360000 0")
      << "a denial needs no room";
  EXPECT_THAT(client_.Ask("INFO errorstats").text, HasSubstr("errorstat_OOM:count=2"));
}

// A limit without buckets is forgotten when many others are in use, also if the key on which it was
// asked has a hold, which names other limits. The key's state then named a limit that was given the
// same id since, or the module ended.
TEST_F(HoldCommandsTest, LimitThatNoHoldNamesIsForgottenBesideOpenHolds) {
  constexpr int kManyLimits = 4200;
  EXPECT_EQ(Show("RL.RESERVE k 5/365d COST 2 HOLD a TTL 3600000"), "1 3 0 12614400000 0");
  EXPECT_EQ(Show("RL.ALLOW k 100/s COST 50"), "1 50 0 500 0");
  EXPECT_EQ(Show("RL.REFUND k 100/s COST 10"), "1 60 0 400 0");
  Advance(seconds{1});
  EXPECT_EQ(Show("RL.CHARGE k 5/365d"), "1 2 0 18921599000 0") << "the full bucket is dropped";
  const auto state = [this] { return Host::IsModule() ? client_.Ask("DUMP k").text : ""; };
  const std::string before = state();
  for (int i = 1; i <= kManyLimits; ++i) Show(absl::StrCat("RL.ALLOW other:", i, " ", i, "/365d"));
  EXPECT_EQ(state(), before);
  EXPECT_EQ(Show("RL.CHARGE k 5/365d"), "1 1 0 25228799000 0");
  EXPECT_EQ(Show("RL.CANCEL k HOLD a"), "1 3 0 12614400000 0");
}

TEST_F(HoldCommandsTest, TimeOfAClientNeedsTheOption) {
  for (const std::string command : {"RL.RESERVE k 10/h HOLD a TTL 1000 AT 5",
                                    "RL.COMMIT k HOLD a AT 5", "RL.CANCEL k HOLD a AT 5"}) {
    EXPECT_EQ(Show(command), "ERR " + NoExplicitTime()) << command;
  }
}

}  // namespace
}  // namespace weir
