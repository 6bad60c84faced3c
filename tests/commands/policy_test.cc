// Goal: RL.POLICY stores named limits; a change is in force with the next request of every client,
// and keeps every caller's debt as a time. Method: requests at one instant, where every number can
// be computed by hand.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"
#include "tests/commands/differences.h"
#include "tests/support/policy_changes.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kOk[] = "+OK\r\n";

class RlPolicyTest : public testing::Test {
 protected:
  std::string Run(std::string_view line) { return client_.Run(line); }
  // Runs "RL.POLICY <line>", which must succeed.
  void Policy(const std::string& line) { EXPECT_EQ(Run("RL.POLICY " + line), kOk) << line; }
  // The reply to a request of cost 0: the buckets as they are.
  std::string Look(const std::string& line) { return Run("RL.PEEK " + line + " COST 0"); }

  std::string List(std::string_view line) {
    const RespValue reply = client_.Ask(line);
    std::string text;
    for (const RespValue& value : reply.elements) text += value.text + "|";
    return reply.is_error() ? reply.text : text;
  }

  Client client_;
};

// --- The commands -------------------------------------------------------------------------------

TEST_F(RlPolicyTest, IsMadeShownListedAndDeleted) {
  EXPECT_EQ(Run("RL.POLICY LIST"), "*0\r\n");
  EXPECT_EQ(Run("RL.POLICY SET free 10/s 1000/24h,cost=5,name=daily 5/m,fixed,shadow"), kOk);
  EXPECT_EQ(Run("rl.policy set Free none"), kOk);
  EXPECT_EQ(Run("RL.POLICY GET free"),
            "*3\r\n$4\r\n10/s\r\n$24\r\n1000/d,cost=5,name=daily\r\n$16\r\n5/m,fixed,shadow\r\n");
  EXPECT_EQ(Run("RL.POLICY GET Free"), "*1\r\n$4\r\nnone\r\n");
  EXPECT_EQ(Run("RL.POLICY LIST"), "*2\r\n$4\r\nFree\r\n$4\r\nfree\r\n");
  EXPECT_EQ(Run("RL.POLICY DEL free"), kOk);
  EXPECT_EQ(Run("RL.POLICY GET free"), "$-1\r\n");
  EXPECT_EQ(Run("RL.POLICY DEL free"),
            "-ERR unknown policy 'free': did you mean Free? RL.POLICY SET makes one\r\n");
  EXPECT_EQ(List("RL.POLICY LIST"), "Free|");
}

// The policy that was probably meant is named as these commands take it, without the @.
TEST_F(RlPolicyTest, AnUnknownNameHintsTheNearest) {
  EXPECT_EQ(Run("RL.POLICY SET free 10/s"), kOk);
  for (const char* line : {"RL.POLICY DEL fre", "RL.POLICY OVERRIDE fre k 1/s",
                           "RL.POLICY OVERRIDES fre", "RL.POLICY UNOVERRIDE fre k"}) {
    EXPECT_EQ(Run(line),
              "-ERR unknown policy 'fre': did you mean free? RL.POLICY SET makes one\r\n")
        << line;
  }
  for (const char* line : {"RL.POLICY DEL gold", "RL.POLICY OVERRIDE gold k 1/s",
                           "RL.POLICY OVERRIDES gold", "RL.POLICY UNOVERRIDE gold k"}) {
    EXPECT_EQ(Run(line), "-ERR unknown policy 'gold': RL.POLICY SET makes one\r\n") << line;
  }
  EXPECT_EQ(Run("RL.POLICY GET free"), "*1\r\n$4\r\n10/s\r\n");
}

TEST_F(RlPolicyTest, OverridesAreMadeShownAndRemoved) {
  Policy("SET p 10/s");
  EXPECT_EQ(Run("RL.POLICY OVERRIDES p"), "*0\r\n");
  EXPECT_EQ(Run("RL.POLICY OVERRIDE p b 20/s 1000/h,cost=2"), kOk);
  EXPECT_EQ(Run("RL.POLICY OVERRIDE p a none"), kOk);
  EXPECT_EQ(Run("RL.POLICY OVERRIDE p a unlimited"), kOk);
  EXPECT_EQ(Run("RL.POLICY OVERRIDES p"),
            "*2\r\n*2\r\n$1\r\na\r\n$9\r\nunlimited\r\n"
            "*3\r\n$1\r\nb\r\n$4\r\n20/s\r\n$13\r\n1000/h,cost=2\r\n");
  EXPECT_EQ(Run("RL.POLICY UNOVERRIDE p a"), ":1\r\n");
  EXPECT_EQ(Run("RL.POLICY UNOVERRIDE p a"), ":0\r\n");
  const std::string none = "-ERR unknown policy 'q': RL.POLICY SET makes one\r\n";
  EXPECT_EQ(Run("RL.POLICY OVERRIDE q a 1/s"), none);
  EXPECT_EQ(Run("RL.POLICY UNOVERRIDE q a"), none);
  EXPECT_EQ(Run("RL.POLICY OVERRIDES q"), none);
}

TEST_F(RlPolicyTest, ManyOverridesAreListedUpToABound) {
  Policy("SET p 10/s");
  for (int i = 0; i < 1001; ++i) Policy("OVERRIDE p key" + std::to_string(10'000 + i) + " 1/s");
  const RespValue listed = client_.Ask("RL.POLICY OVERRIDES p");
  ASSERT_EQ(listed.elements.size(), 1000U);
  EXPECT_EQ(listed.elements.front().elements[0].text, "key10000");
  EXPECT_EQ(listed.elements.back().elements[0].text, "key10999");
}

// The keys of overrides may be long: the list ends with the one that goes over 256 KiB.
TEST_F(RlPolicyTest, LongOverridesAreListedUpToTheReplysBound) {
  Policy("SET p 10/s");
  for (int i = 0; i < 9; ++i) {
    client_.Call(
        {"RL.POLICY", "OVERRIDE", "p", std::to_string(i) + std::string(60'000, 'x'), "1/s"});
  }
  const RespValue listed = client_.Ask("RL.POLICY OVERRIDES p");
  ASSERT_EQ(listed.elements.size(), 5U);
  EXPECT_EQ(listed.elements.back().elements[0].text.front(), '4');
}

TEST_F(RlPolicyTest, InResp3OnlyNullAndTheLimitsOfAReplyDiffer) {
  Policy("SET p 10/s,name=x");
  Policy("OVERRIDE p k2 20/s");
  const std::vector<const char*> same = {"RL.POLICY GET p",       "RL.POLICY LIST",
                                         "RL.POLICY OVERRIDES p", "RL.POLICY UNOVERRIDE p k",
                                         "RL.PEEK k @p",          "RL.INSPECT k"};
  std::vector<std::string> replies;
  for (const char* line : same) replies.push_back(Run(line));
  Run("HELLO 3");
  for (std::size_t i = 0; i < same.size(); ++i) EXPECT_EQ(Run(same[i]), replies[i]) << same[i];
  EXPECT_EQ(Run("RL.POLICY GET absent"), "_\r\n");
  EXPECT_THAT(Run("RL.PEEK k @p WITHLIMITS"), HasSubstr("*1\r\n%9\r\n$4\r\nname\r\n$1\r\nx\r\n"));
}

TEST_F(RlPolicyTest, ErrorsChangeNothing) {
  Policy("SET p 10/s");
  Policy("OVERRIDE p k 20/s");
  const std::string long_name(65, 'x');
  const std::string must = "' must be 1 to 64 of letters, digits, _ - . :";
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "wrong number of arguments for 'rl.policy' command"},
      {"GET", "wrong number of arguments for 'rl.policy|get' command"},
      {"SET p", "wrong number of arguments for 'rl.policy|set' command"},
      {"OVERRIDE p k", "wrong number of arguments for 'rl.policy|override' command"},
      {"GET p q", "wrong number of arguments for 'rl.policy|get' command"},
      {"SET p 5/s 10/x",
       "invalid limit '10/x': unknown unit 'x' (us, ms, s, m, h, d, w, or day, week, month, year)"},
      {"SET p 5/s @p", "invalid limit '@p': a policy cannot hold another"},
      {"SET a @p", "invalid limit '@p': a policy cannot hold another"},
      {"SET @a 5/s", "policy name '@a" + must},
      {"SET 'a b' 5/s", "policy name 'a b" + must},
      {"SET '' 5/s", "policy name '" + must},
      {"SET " + long_name + " 5/s", "policy name '" + long_name + must},
      {"OVERRIDE p k 10/s @p", "invalid limit '@p': a policy cannot hold another"},
      {"OVERRIDE p k 10", "invalid limit '10': expected count/period, as in 10/s"},
      {"RELOAD", NoPolicyFile()},
      {"RENAME p q", "unknown subcommand 'RENAME'. Try RL.POLICY HELP."},
  };
  for (const auto& [line, error] : bad) {
    EXPECT_EQ(Run("RL.POLICY " + line), "-ERR " + error + "\r\n") << line;
    EXPECT_EQ(List("RL.POLICY LIST"), "p|");
    EXPECT_EQ(List("RL.POLICY GET p"), "10/s|");
    EXPECT_EQ(Run("RL.POLICY OVERRIDES p"), "*1\r\n*2\r\n$1\r\nk\r\n$4\r\n20/s\r\n");
  }
  std::string many = "RL.POLICY SET p";
  for (int i = 0; i < 65; ++i) many += " 10/s";
  EXPECT_EQ(Run(many), "-ERR a policy has 1 to 64 limits\r\n");
}

TEST_F(RlPolicyTest, HelpListsTheSubcommands) {
  const std::string help = Run("RL.POLICY HELP");
  for (const char* name :
       {"DEL", "GET", "HELP", "LIST", "OVERRIDE", "OVERRIDES", "RELOAD", "SET", "UNOVERRIDE"}) {
    EXPECT_THAT(help, HasSubstr(std::string("\r\n+") + name)) << help;
  }
}

// --- In a request -------------------------------------------------------------------------------

TEST_F(RlPolicyTest, StandsForItsLimits) {
  Policy("SET free 10/s 1000/h");
  EXPECT_EQ(Run("RL.ALLOW a @free"), Five("1 9 0 3600 0"));
  EXPECT_EQ(Run("RL.ALLOW b 10/s 1000/h"), Five("1 9 0 3600 0"));
  // They are other buckets than those of the same limits spelled out.
  EXPECT_EQ(Run("RL.ALLOW a 10/s 1000/h"), Five("1 9 0 3600 0"));
  EXPECT_EQ(Run("RL.ALLOW a @free COST 10"), Five("0 9 100 3600 0"));
  EXPECT_EQ(Run("RL.TAKE a @free UPTO 50"), Five("9 0 0 36000 0"));
  EXPECT_EQ(Run("RL.REFUND a @free COST 4"), Five("1 4 0 21600 0"));
}

// Goal: numbers that are lowered for a moment give no token back.
TEST_F(RlPolicyTest, LoweredAndRaisedAgainForgivesNothing) {
  Policy("SET p 5/h");
  EXPECT_EQ(Run("RL.ALLOW e @p COST 5"), Five("1 0 0 3600000 0"));
  Policy("SET p 1/s");
  EXPECT_EQ(Run("RL.ALLOW e @p"), Five("0 0 3600000 3600000 0"));
  EXPECT_EQ(Run("RL.REFUND e @p COST 60"), Five("1 0 0 3540000 0"));
  Policy("SET p 5/h");
  EXPECT_EQ(Run("RL.ALLOW e @p"), Five("0 0 660000 3540000 0"));
}

TEST_F(RlPolicyTest, AnOverrideThatIsRemovedLeavesItsDebt) {
  Policy("SET p 1/s");
  Policy("OVERRIDE p e 5/h");
  EXPECT_EQ(Run("RL.ALLOW e @p COST 5"), Five("1 0 0 3600000 0"));
  EXPECT_EQ(Run("RL.POLICY UNOVERRIDE p e"), ":1\r\n");
  EXPECT_EQ(Run("RL.ALLOW e @p"), Five("0 0 3600000 3600000 0"));
  Policy("OVERRIDE p e 5/h");
  EXPECT_EQ(Run("RL.ALLOW e @p"), Five("0 0 720000 3600000 0"));
}

TEST_F(RlPolicyTest, UnknownPoliciesAreErrorsThatChargeNothing) {
  Policy("SET p 10/s");
  for (const char* command : {"RL.ALLOW k 10/s @q", "RL.PEEK k 10/s @p @q", "RL.RESET k @p @q",
                              "RL.TAKE k @q UPTO 5", "RL.ALLOW k @p AND l @q,cost=0"}) {
    EXPECT_EQ(Run(command), "-ERR unknown policy 'q': RL.POLICY SET makes one\r\n") << command;
  }
  EXPECT_EQ(Run("DBSIZE"), ":0\r\n");
  EXPECT_THAT(Run("RL.ALLOW k @" + std::string(65, 'x')), StartsWith("-ERR invalid limit '@xxx"));
  EXPECT_THAT(Run("RL.ALLOW k @p,burst=5"), StartsWith("-ERR invalid limit '@p,burst=5': "));
}

// The word's, else the policy's, else the group's, else 1.
TEST_F(RlPolicyTest, ACostIsTheWordsOrThePolicysOrTheGroups) {
  Policy("SET p 100/s 200/s,cost=3 300/s,cost=0");
  const auto remaining = [this](std::string_view line) {
    std::string numbers;
    const RespValue reply = client_.Ask(line);
    for (const RespValue& limit : reply.elements[5].elements) {
      numbers += std::to_string(limit.elements[3].number) + " ";
    }
    return numbers;
  };
  EXPECT_EQ(remaining("RL.PEEK k @p WITHLIMITS"), "99 197 300 ");
  EXPECT_EQ(remaining("RL.PEEK k @p COST 7 WITHLIMITS"), "93 197 300 ");
  EXPECT_EQ(remaining("RL.PEEK k @p,cost=5 WITHLIMITS"), "95 195 295 ");
  EXPECT_EQ(remaining("RL.PEEK k @p,cost=5 COST 7 WITHLIMITS"), "95 195 295 ");
  EXPECT_EQ(remaining("RL.PEEK k @p,cost=0 50/s COST 7 WITHLIMITS"), "100 200 300 43 ");
  // Of one request nothing stays for the next.
  EXPECT_EQ(remaining("RL.PEEK k @p WITHLIMITS"), "99 197 300 ");
}

TEST_F(RlPolicyTest, TheIndexCountsExpandedLimits) {
  Policy("SET p 50/s 5/s 40/s");
  EXPECT_EQ(Run("RL.PEEK k 100/s @p 30/s"), Five("1 4 0 200 2"));
  EXPECT_EQ(Run("RL.PEEK k @p @p 3/s AND l 2/s"), Five("1 1 0 500 7"));
  EXPECT_EQ(Run("RL.PEEK k 100/s @p 30/s COST 6"), Five("0 5 -1 0 2"));
}

TEST_F(RlPolicyTest, NamedTwiceIsOneCheckOfTheSummedCost) {
  Policy("SET p 10/s");
  EXPECT_EQ(Run("RL.ALLOW k @p @p,cost=2"), Five("1 7 0 300 0"));
  EXPECT_EQ(Run("RL.ALLOW k @p AND k @p AND l @p"), Five("1 5 0 500 0"));
  EXPECT_EQ(Run("RL.ALLOW k @p,cost=3 @p,cost=3"), Five("0 5 100 500 0"));
  Policy("OVERRIDE p k 20/s");
  EXPECT_EQ(Run("RL.ALLOW k @p AND k @p"), Five("1 8 0 600 0"));
}

TEST_F(RlPolicyTest, AShadowHasBucketsOfItsOwn) {
  Policy("SET p 2/s");
  EXPECT_EQ(Run("RL.ALLOW k @p,shadow 10/s COST 2"), Five("1 8 0 200 1"));
  EXPECT_EQ(Run("RL.ALLOW k @p"), Five("1 1 0 500 0"));
  EXPECT_EQ(Run("RL.ALLOW k 10/s @p,shadow WITHLIMITS"),
            "*6\r\n:1\r\n:7\r\n:0\r\n:300\r\n:0\r\n*2\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:7\r\n:0\r\n:300\r\n:0\r\n:1\r\n:0\r\n"
            "*9\r\n$10\r\n2/s,shadow\r\n:0\r\n:2\r\n:0\r\n:500\r\n:1000\r\n:0\r\n:1\r\n:0\r\n");
  EXPECT_EQ(List("RL.STATS"), "||||");
  const std::string stats = client_.Show("RL.STATS");
  EXPECT_THAT(stats, HasSubstr("\"@p#0\""));
  EXPECT_THAT(stats, HasSubstr("\"@p#0,shadow\""));
}

TEST_F(RlPolicyTest, BesideOtherLimitsItIsAllOrNothing) {
  Policy("SET p 10/s 1/h");
  EXPECT_EQ(Run("RL.ALLOW k @p AND l 5/s"), Five("1 0 0 3600000 1"));
  const std::string state = Run("RL.INSPECT k") + Run("RL.INSPECT l");
  EXPECT_EQ(Run("RL.ALLOW l 5/s AND k @p"), Five("0 0 3600000 3600000 2"));
  EXPECT_EQ(Run("RL.INSPECT k") + Run("RL.INSPECT l"), state);
}

// Sixty-four after expansion, wherever the words stand.
TEST_F(RlPolicyTest, TooManyLimitsAfterExpansion) {
  std::string limits;
  for (int i = 1; i <= 64; ++i) limits += " " + std::to_string(i) + "/h";
  Policy("SET p" + limits);
  Policy("SET small 10/s");
  Policy("OVERRIDE small k" + limits);
  const std::string error = "-ERR too many limits: a request has at most 64\r\n";
  for (const char* line : {"RL.ALLOW k @p 1/s", "RL.ALLOW k 1/s @p", "RL.ALLOW k @p AND l 1/s",
                           "RL.ALLOW l 1/s AND k @small", "RL.ALLOW k @small @small"}) {
    EXPECT_EQ(Run(line), error) << line;
  }
  EXPECT_EQ(Run("DBSIZE"), ":0\r\n");
  EXPECT_EQ(Run("RL.ALLOW k @p"), Five("1 0 0 3600000 0"));
  EXPECT_EQ(Run("DBSIZE"), DbSize(1, 64));
  EXPECT_EQ(Run("RL.ALLOW l 1/s @small"), Five("1 0 0 1000 0"));
}

// --- A change -----------------------------------------------------------------------------------

TEST_F(RlPolicyTest, AChangeIsInForceForTheNextRequestOfEveryClient) {
  Client other(client_.host());
  ExpectChangesAreInForce(client_, other);
}

// A chunk of commands has one execution time, but not one policy.
TEST_F(RlPolicyTest, AChangeIsInForceInTheSameChunk) {
  EXPECT_EQ(client_.Send("RL.POLICY SET p 10/s\r\nRL.PEEK k @p\r\nRL.POLICY SET p 20/s\r\n"
                         "RL.PEEK k @p\r\nRL.POLICY DEL p\r\nEXISTS k\r\n"),
            kOk + Five("1 9 0 100 0") + kOk + Five("1 19 0 50 0") + kOk + ":0\r\n");
}

// The bucket is the time at which it is full again, and that stays: a second of debt is a second,
// whatever a token is worth.
TEST_F(RlPolicyTest, DebtsStayInTime) {
  Policy("SET p 10/s");
  EXPECT_EQ(Run("RL.ALLOW k @p COST 10"), Five("1 0 0 1000 0"));
  Policy("SET p 100/s");
  EXPECT_EQ(Run("RL.ALLOW k @p"), Five("0 0 10 1000 0"));
  Policy("SET p 100/s,burst=200");
  EXPECT_EQ(Look("k @p"), Five("1 100 0 1000 0"));
  Policy("SET p 10/m");
  EXPECT_EQ(Run("RL.ALLOW k @p"), Five("1 8 0 7000 0"));
  Policy("SET p 1/s");
  EXPECT_EQ(Run("RL.ALLOW k @p"), Five("0 0 7000 7000 0"));
  client_.clock().Advance(milliseconds{7000});
  EXPECT_EQ(Run("RL.ALLOW k @p"), Five("1 0 0 1000 0"));
}

// A third of a nanosecond is cut where the new limit knows no thirds.
TEST_F(RlPolicyTest, AFractionIsCutToTheNewLimit) {
  Policy("SET p 3/s");
  EXPECT_EQ(Run("RL.ALLOW k @p COST 2"), Five("1 1 0 667 0"));
  Policy("SET p 1/s,burst=2");
  EXPECT_EQ(Run("RL.ALLOW k @p"), Five("1 0 0 1667 0"));
  Policy("SET p 7/s");
  EXPECT_EQ(Run("RL.PEEK k @p"), Five("0 0 810 1667 0"));
}

TEST_F(RlPolicyTest, WindowsKeepWhatIsUsed) {
  for (const std::string kind : {",fixed", ",sliding"}) {
    SCOPED_TRACE(kind);
    const std::string key = "k" + kind;
    Policy("SET w 10/m" + kind);
    EXPECT_THAT(Run("RL.ALLOW " + key + " @w COST 8"), StartsWith("*5\r\n:1\r\n:2\r\n:0\r\n"));
    Policy("SET w 5/m" + kind);
    EXPECT_THAT(Run("RL.ALLOW " + key + " @w"), StartsWith("*5\r\n:0\r\n:0\r\n"));
    Policy("SET w 20/m" + kind);
    EXPECT_THAT(Look(key + " @w"), StartsWith("*5\r\n:1\r\n:12\r\n"));
    // Another period is another bucket.
    Policy("SET w 20/h" + kind);
    EXPECT_THAT(Look(key + " @w"), StartsWith("*5\r\n:1\r\n:20\r\n"));
  }
}

TEST_F(RlPolicyTest, CalendarWindowsKeepWhatIsUsed) {
  Policy("SET w 10/month,tz=Europe/Berlin");
  EXPECT_THAT(Run("RL.ALLOW k @w COST 8"), StartsWith("*5\r\n:1\r\n:2\r\n:0\r\n"));
  Policy("SET w 20/month,tz=Europe/Berlin");
  EXPECT_THAT(Look("k @w"), StartsWith("*5\r\n:1\r\n:12\r\n"));
  // Another unit, zone or anchor is another bucket.
  for (const std::string other : {"year,tz=Europe/Berlin", "month,tz=Europe/Paris", "month",
                                  "month,tz=Europe/Berlin,from=2"}) {
    Policy("SET w 20/" + other);
    EXPECT_THAT(Look("k @w"), StartsWith("*5\r\n:1\r\n:20\r\n")) << other;
  }
  Policy("SET w 20/month,tz=Europe/Berlin");
  EXPECT_THAT(Look("k @w"), StartsWith("*5\r\n:1\r\n:12\r\n"));
  Policy("OVERRIDE w k 9/month,tz=Europe/Berlin");
  EXPECT_THAT(Look("k @w"), StartsWith("*5\r\n:1\r\n:1\r\n"));
}

// By position, not by what stands there.
TEST_F(RlPolicyTest, PositionsKeepTheirBuckets) {
  Policy("SET p 10/s 100/s");
  EXPECT_EQ(Run("RL.ALLOW k @p COST 10"), Five("1 0 0 1000 0"));
  Policy("SET p 100/s 10/s 5/s");
  EXPECT_EQ(Run("RL.PEEK k @p COST 0 WITHLIMITS"),
            "*6\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:0\r\n*3\r\n"
            "*9\r\n$5\r\n100/s\r\n:1\r\n:100\r\n:0\r\n:0\r\n:1000\r\n:0\r\n:0\r\n:0\r\n"
            "*9\r\n$4\r\n10/s\r\n:1\r\n:10\r\n:9\r\n:0\r\n:100\r\n:0\r\n:0\r\n:0\r\n"
            "*9\r\n$3\r\n5/s\r\n:1\r\n:5\r\n:5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n");
  // What is taken away comes back with its bucket, if that is not full meanwhile.
  Policy("SET p 5/s,fixed");
  EXPECT_EQ(Look("k @p"), Five("1 5 0 0 0"));
  Policy("SET p 10/s");
  EXPECT_EQ(Look("k @p"), Five("1 0 0 1000 0"));
}

TEST_F(RlPolicyTest, AnOverrideKeepsTheDebtOfItsPositions) {
  Policy("SET p 10/s");
  EXPECT_EQ(Run("RL.ALLOW k @p COST 10"), Five("1 0 0 1000 0"));
  Policy("OVERRIDE p k 100/s,burst=200 5/s");
  EXPECT_EQ(
      Run("RL.PEEK k @p COST 0 WITHLIMITS"),
      "*6\r\n:1\r\n:5\r\n:0\r\n:1000\r\n:1\r\n*2\r\n"
      "*9\r\n$15\r\n100/s,burst=200\r\n:1\r\n:200\r\n:100\r\n:0\r\n:1000\r\n:0\r\n:0\r\n:0\r\n"
      "*9\r\n$3\r\n5/s\r\n:1\r\n:5\r\n:5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n");
  EXPECT_EQ(Run("RL.ALLOW k @p COST 5"), Five("1 0 0 1050 1"));
  EXPECT_EQ(Run("RL.POLICY UNOVERRIDE p k"), ":1\r\n");
  EXPECT_EQ(Run("RL.PEEK k @p"), Five("0 0 150 1050 0"));
  // No other client has any of it.
  EXPECT_EQ(Run("RL.PEEK l @p"), Five("1 9 0 100 0"));
}

TEST_F(RlPolicyTest, AnOverrideMayLetInAlwaysOrNever) {
  Policy("SET p 10/s");
  Policy("OVERRIDE p friend unlimited");
  Policy("OVERRIDE p foe none");
  EXPECT_EQ(Run("RL.ALLOW friend @p COST 1000"), Five("1 9223372036854775807 0 0 0"));
  EXPECT_EQ(Run("RL.ALLOW foe @p"), Five("0 0 -1 0 0"));
  EXPECT_EQ(Run("DBSIZE"), ":0\r\n");
}

// A policy on trial denies nothing, whatever it says.
TEST_F(RlPolicyTest, AShadowDoesNotBan) {
  Policy("SET p 10/s");
  Policy("OVERRIDE p foe none");
  EXPECT_EQ(Run("RL.ALLOW foe @p,shadow"), Five("1 0 0 0 0"));
  EXPECT_EQ(Run("RL.ALLOW foe 5/s @p,shadow WITHLIMITS"),
            "*6\r\n:1\r\n:4\r\n:0\r\n:200\r\n:0\r\n*2\r\n"
            "*9\r\n$3\r\n5/s\r\n:1\r\n:5\r\n:4\r\n:0\r\n:200\r\n:0\r\n:1\r\n:0\r\n"
            "*9\r\n$4\r\nnone\r\n:0\r\n:0\r\n:0\r\n:-1\r\n:0\r\n:0\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Run("RL.WAIT foe 5/s @p,shadow TIMEOUT 1000"), Five("1 3 0 400 0"));
  EXPECT_EQ(Run("RL.TAKE foe 5/s @p,shadow UPTO 9"), Five("3 0 0 1000 0"));
  Policy("SET p unlimited");
  EXPECT_EQ(Run("RL.ALLOW k 5/s @p,shadow"), Five("1 4 0 200 0"));
}

TEST_F(RlPolicyTest, OverridesStayThroughAChangeOfThePolicy) {
  Policy("SET p 10/s");
  Policy("OVERRIDE p k 7/s");
  Policy("SET p 20/s 30/s");
  EXPECT_EQ(Run("RL.PEEK k @p"), Five("1 6 0 143 0"));
  Policy("DEL p");
  Policy("SET p 20/s");
  EXPECT_EQ(Run("RL.PEEK k @p"), Five("1 19 0 50 0"));
}

TEST_F(RlPolicyTest, DeletionEndsTheBuckets) {
  Policy("SET p 10/s 5/m,fixed");
  Policy("SET q 10/s");
  Policy("OVERRIDE p l 1/h 2/h 3/h");
  Run("RL.ALLOW k @p 10/s AND l @p AND k @q AND k @p,shadow");
  EXPECT_EQ(Run("DBSIZE"), DbSize(2, 9));
  Policy("DEL p");
  EXPECT_EQ(Run("RL.INSPECT k"),
            "*2\r\n*5\r\n$4\r\n10/"
            "s\r\n:9\r\n:100\r\n:1\r\n:0\r\n*5\r\n$4\r\n@q#0\r\n:9\r\n:100\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Run("RL.INSPECT l"), "*0\r\n");
  Policy("SET p 10/s");
  EXPECT_EQ(Run("RL.ALLOW k @p"), Five("1 9 0 100 0"));
}

// --- Keeping ------------------------------------------------------------------------------------

TEST_F(RlPolicyTest, InspectShowsPoliciesByNameAndPosition) {
  Policy("SET p 10/s 5/m,fixed");
  Run("RL.ALLOW k @p 10/s");
  Run("RL.ALLOW k @p,shadow");
  const auto shown = [this] {
    std::string text;
    for (const RespValue& row : client_.Ask("RL.INSPECT k").elements) {
      text += row.elements[0].text + " " + std::to_string(row.elements[1].number) + " " +
              std::to_string(row.elements[2].number) + "|";
    }
    return text;
  };
  EXPECT_EQ(shown(), "@p#0 9 100|@p#1 4 60000|10/s 9 100|@p#0,shadow 9 100|@p#1,shadow 4 60000|");
  Policy("SET p 20/s,burst=100 9/m,fixed");
  EXPECT_EQ(shown(), "@p#0 98 100|@p#1 8 60000|10/s 9 100|@p#0,shadow 98 100|@p#1,shadow 8 60000|");
  Policy("OVERRIDE p k 1/s,burst=3");
  EXPECT_EQ(shown(), "@p#0 2 100|10/s 9 100|@p#0,shadow 2 100|");
}

TEST_F(RlPolicyTest, ResetForgetsThePolicysBucketsOfTheKey) {
  Policy("SET p 10/s 5/m,fixed");
  Run("RL.ALLOW k @p 10/s AND l @p");
  Run("RL.ALLOW k @p,shadow");
  EXPECT_EQ(Run("RL.RESET k @p"), ":2\r\n");
  EXPECT_EQ(Run("RL.ALLOW k @p"), Five("1 4 0 60000 1"));
  EXPECT_EQ(Run("RL.RESET k @p,shadow"), ":2\r\n");
  EXPECT_EQ(Run("RL.PEEK l @p"), Five("1 3 0 60000 1"));
  // Those of an override, and those that the key had before.
  Policy("OVERRIDE p k 20/s 5/s 7/s");
  Run("RL.ALLOW k @p");
  EXPECT_EQ(Run("RL.RESET k @p"), ":4\r\n");
  EXPECT_EQ(Run("RL.INSPECT k"), "*1\r\n*5\r\n$4\r\n10/s\r\n:9\r\n:100\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Run("RL.RESET k"), ":1\r\n");
}

}  // namespace
}  // namespace weir
