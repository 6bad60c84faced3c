// Goal: clients take slices, settle them and let them lapse as docs/commands.md says. Method:
// conversations with a clock that is stopped until a test moves it. The sizes of slices are tested
// in tests/core/rules/, their laws in tests/core/limiter/.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/commands/client.h"
#include "tests/commands/differences.h"
#include "tests/support/fake_clock.h"
#include "tests/support/stats_text.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::EndsWith;
using testing::StartsWith;

constexpr std::string_view kNoSlice = "0 0 0 0 0";

class SliceTest : public testing::Test {
 protected:
  std::string Show(std::string_view line) { return client_.Show(line); }
  void Advance(Nanos time) { client_.clock().Advance(time); }
  // The numbers before the rows; the last is that of the changes since the host began.
  std::string Numbers(std::string_view line) {
    const std::string reply = Show(line);
    std::string numbers = reply.substr(0, reply.find('\n'));
    const std::size_t last = numbers.rfind(' ') + 1;
    const std::int64_t begin = FakeClock::kStart.time_since_epoch() / std::chrono::microseconds{1};
    std::int64_t changes = 0;
    if (absl::SimpleAtoi(numbers.substr(last), &changes) && changes >= begin) {
      numbers.replace(last, std::string::npos, std::to_string(changes - begin));
    }
    return numbers;
  }
  std::string Slice(std::string_view limits, std::string_view wish, std::string_view id,
                    int ttl = 500) {
    return Numbers(absl::StrCat("RL.SLICE k ", AbslView(limits), " ", AbslView(wish), " HOLD ",
                                AbslView(id), " TTL ", ttl));
  }
  std::string Left(std::string_view limit) {
    return Show(absl::StrCat("RL.PEEK k ", AbslView(limit), " COST 0"));
  }
  std::string InfoOf(std::string_view field) {
    const std::string text = client_.Ask("INFO weir").text;
    const std::string line = "\r\n" + InfoName(field) + ":";
    const std::size_t begin = text.find(line);
    if (begin == std::string::npos) return "";
    const std::size_t value = begin + line.size();
    return text.substr(value, text.find('\r', value) - value);
  }
  std::string Slices() {
    return InfoOf("slices_open") + " " + InfoOf("slices_tokens_out") + " " +
           InfoOf("slices_granted") + " " + InfoOf("slices_lapsed");
  }

  Client client_;
};

constexpr std::string_view kWish = "NEED 1 UNIT 1 UPTO 50";

TEST_F(SliceTest, LapsesAtItsEnd) {
  EXPECT_EQ(Slice("100/m", kWish, "a"), "13 87 0 7800000 0 500000 0");
  EXPECT_EQ(Show("RL.INSPECT k HOLDS"), "[[\"a\" 500 0 \"100/m\" 13]]");
  EXPECT_EQ(Slices(), "1 13 1 0");
  Advance(milliseconds{500} - Nanos{1});
  EXPECT_EQ(Show("RL.INSPECT k HOLDS"), "[[\"a\" 1 0 \"100/m\" 13]]");
  Advance(Nanos{1});
  EXPECT_EQ(Show("RL.INSPECT k HOLDS"), "[]");
  EXPECT_EQ(Left("100/m"), "1 87 0 7300 0") << "nothing came back, but by time";
  EXPECT_EQ(Show("RL.COMMIT k COST 0 HOLD a"), kNoSlice);
  EXPECT_EQ(Slices(), "0 0 1 1");
  EXPECT_EQ(InfoOf("holds_expired"), "0");
}

TEST_F(SliceTest, IsSettledOnceInItsLife) {
  EXPECT_EQ(Slice("100/m", kWish, "a"), "13 87 0 7800000 0 500000 0");
  EXPECT_EQ(Show("RL.COMMIT k COST 3 HOLD a"), "1 97 0 1800 0");
  EXPECT_EQ(Show("RL.COMMIT k COST 0 HOLD a"), "1 97 0 1800 0");
  EXPECT_EQ(Slice("100/m", kWish, "a"), "ERR hold 'a' is settled");
  EXPECT_EQ(Slice("100/m", kWish, "b"), "13 84 0 9600000 0 500000 0");
  EXPECT_EQ(Show("RL.CANCEL k HOLD b"), "1 97 0 1800 0");
  Advance(milliseconds{500});
  EXPECT_EQ(Show("RL.COMMIT k COST 3 HOLD a"), kNoSlice);
  EXPECT_EQ(Slice("100/m", kWish, "a"), "13 84 0 9100000 0 500000 0") << "a free id again";
  EXPECT_EQ(Slices(), "1 13 3 0");
}

TEST_F(SliceTest, AnIdIsGoodForOneSlice) {
  EXPECT_EQ(Slice("100/m", kWish, "a"), "13 87 0 7800000 0 500000 0");
  EXPECT_EQ(Slice("100/m", kWish, "a"), "ERR hold 'a' is open");
  EXPECT_EQ(Show("RL.RESERVE k 100/m HOLD a TTL 500"), "ERR hold 'a' is another request");
  EXPECT_EQ(Show("RL.TAKE k 100/m UPTO 50 HOLD a TTL 500"), "ERR hold 'a' is another request");
  EXPECT_EQ(Show("RL.RESERVE k 100/m HOLD b TTL 500"), "1 86 0 8400 0");
  EXPECT_EQ(Slice("100/m", kWish, "b"), "ERR hold 'b' is open");
  EXPECT_EQ(Left("100/m"), "1 86 0 8400 0");
}

// What is not granted, or not in advance, cannot be settled.
TEST_F(SliceTest, NothingAndNoLifeOpenNoHold) {
  EXPECT_EQ(Show("RL.ALLOW k 100/m COST 99"), "1 1 0 59400 0");
  EXPECT_EQ(Slice("100/m", "NEED 3 UNIT 2 UPTO 9", "a"), "0 1 600000 59400000 0 500000 0");
  EXPECT_EQ(Show("RL.COMMIT k HOLD a"), kNoSlice);
  EXPECT_EQ(Slice("100/m", "NEED 0 UNIT 5 UPTO 9", "a"), "0 1 2400000 59400000 0 500000 0")
      << "an eighth of one is nothing";
  EXPECT_EQ(Slice("100/m", "NEED 3 UNIT 1 UPTO 9", "a"), "1 0 600000 60000000 0 500000 0");
  EXPECT_EQ(Show("RL.COMMIT k COST 0 HOLD a"), "1 1 0 59400 0");
  for (const std::string_view limit : {"9/m,ban=1h", "9/m,fixed,ban=1h", "9/m,shadow", "9/10ms"}) {
    EXPECT_THAT(Slice(limit, "NEED 2 UNIT 1 UPTO 9", "b"), StartsWith("2 7 0 ")) << limit;
    EXPECT_THAT(Slice(limit, "NEED 2 UNIT 1 UPTO 9", "b"), EndsWith(" 0 0 0")) << limit;
  }
  EXPECT_EQ(Show("RL.COMMIT k HOLD b"), kNoSlice);
  EXPECT_EQ(InfoOf("holds"), "0");
}

TEST_F(SliceTest, BeginsNoBan) {
  EXPECT_THAT(Slice("2/m,ban=1h", "NEED 2 UNIT 1 UPTO 2", "a"), StartsWith("2 0 30000000 "));
  EXPECT_THAT(Slice("2/m,ban=1h", "NEED 2 UNIT 1 UPTO 2", "b"), StartsWith("0 0 30000000 "));
  EXPECT_EQ(InfoOf("bans"), "0");
  EXPECT_EQ(Show("RL.ALLOW k 2/m,ban=1h"), "0 0 3600000 3630000 0");
  EXPECT_THAT(Slice("2/m,ban=1h", "NEED 2 UNIT 1 UPTO 2", "b"), StartsWith("0 0 3600000000 "));
}

TEST_F(SliceTest, EndsWithItsWindow) {
  EXPECT_EQ(Slice("100/m,fixed", kWish, "a", 60'000), "13 87 0 60000000 0 2000000 0")
      << "the server's slice-life";
  Advance(seconds{59});
  EXPECT_EQ(Slice("100/m,fixed", kWish, "b", 60'000), "11 76 0 1000000 0 1000000 0");
  Advance(seconds{1});
  EXPECT_EQ(Show("RL.COMMIT k COST 0 HOLD b"), kNoSlice);
  EXPECT_EQ(Left("100/m,fixed"), "1 100 0 0 0");
}

TEST_F(SliceTest, SeveralLimitsUnitsAndKeptTokens) {
  EXPECT_THAT(Show("RL.SLICE k 1000/m,cost=7 500/h,fixed,keep=420 NEED 2 UNIT 2 UPTO 50 HOLD a "
                   "TTL 500"),
              AllOf(StartsWith("12 488 0 3600000000 1 500000 "),
                    EndsWith("\n[[\"1000/m\" 1 1000 916 0 5040000 0 7 0]\n"
                             " [\"500/h,fixed\" 1 500 488 0 3600000000 0 1 420]]")));
  EXPECT_EQ(Show("RL.COMMIT k COST 10 HOLD a").substr(0, 2), "1 ");
  EXPECT_EQ(Left("500/h,fixed"), "1 490 0 3600000 0");
  EXPECT_EQ(Left("1000/m"), "1 930 0 4200 0");
}

TEST_F(SliceTest, HugeNumbers) {
  const std::string most = "9223372036854775807";
  EXPECT_EQ(Slice("unlimited", "NEED " + most + " UNIT " + most + " UPTO " + most, "a"),
            most + " " + most + " 0 0 0 500000 0");
  EXPECT_EQ(Slice("10/m", "NEED " + most + " UNIT 1 UPTO " + most, "b"),
            "10 0 6000000 60000000 0 500000 0");
  EXPECT_EQ(Slices(), "2 100000000010 2 0") << "of a slice at most 10^11 count";
  EXPECT_EQ(Show("RL.COMMIT k COST 0 HOLD a").substr(0, 2), "1 ");
  EXPECT_EQ(Slices(), "1 10 2 0");
  EXPECT_EQ(Slice("10/m", "NEED " + most + " UNIT " + most + " UPTO " + most, "c"),
            "0 0 -1 60000000 0 500000 0");
  EXPECT_EQ(Slice("10/m COST " + most, "NEED 0 UNIT " + most + " UPTO " + most, "c"),
            "0 0 -1 60000000 0 500000 0");
}

TEST_F(SliceTest, ErrorsChangeNothing) {
  const std::string needs =
      "ERR RL.SLICE needs NEED units UNIT units UPTO units HOLD id TTL milliseconds";
  EXPECT_EQ(Show("RL.SLICE k 10/m UNIT 1 UPTO 5 HOLD a TTL 500"), needs);
  EXPECT_EQ(Show("RL.SLICE k 10/m NEED 1 UPTO 5 HOLD a TTL 500"), needs);
  EXPECT_EQ(Show("RL.SLICE k 10/m NEED 1 UNIT 1 HOLD a TTL 500"), needs);
  EXPECT_EQ(Show("RL.SLICE k 10/m NEED 1 UNIT 1 UPTO 5 TTL 500"), needs);
  EXPECT_EQ(Show("RL.SLICE k 10/m NEED 1 UNIT 1 UPTO 5 HOLD a"), needs);
  EXPECT_EQ(Slice("10/m", "NEED 1 UNIT 2 UPTO 5", "a"),
            "ERR UNIT is above NEED, which it is a part of");
  EXPECT_EQ(Slice("10/m", "NEED 3 UNIT 1 UPTO 2", "a"),
            "ERR UPTO is below NEED, which is a part of it");
  EXPECT_EQ(Slice("10/m AND l 10/m", kWish, "a"),
            "ERR RL.SLICE is about one key: AND does not stand in it");
  EXPECT_EQ(Slice("10/m OR l 10/m", kWish, "a"),
            "ERR OR stands in RL.ALLOW, RL.PEEK and RL.RESERVE only: name what was won");
  EXPECT_EQ(Slice("10/m", "NEED 1 UNIT 1 UPTO 5 WITHLIMITS", "a"),
            "ERR RL.SLICE always has the rows of WITHLIMITS: leave it out");
  EXPECT_EQ(
      Slice("10/m", "NEED 1 UNIT 1 UPTO 5 need 1", "a"),
      "ERR unexpected 'need': after the limits of a key come COST once, then NEED, UNIT, UPTO, "
      "HOLD, TTL and AT once each");
  EXPECT_EQ(Show("RL.ALLOW k 10/m NEED 1"),
            "ERR unexpected 'NEED': after the limits of a key come COST once, then AND or OR key "
            "limit ..., then WITHLIMITS and AT once each");
  EXPECT_EQ(Show("RL.SLICE k 10/m UNIT 1 UPTO 5 HOLD a TTL 5 NEED"),
            "ERR NEED needs a number after it");
  EXPECT_THAT(Slice("10/m", "NEED -1 UNIT 1 UPTO 5", "a"), StartsWith("ERR invalid NEED '-1'"));
  EXPECT_THAT(Slice("10/m", "NEED 1 UNIT 0 UPTO 5", "a"), StartsWith("ERR invalid UNIT '0'"));
  EXPECT_THAT(Slice("10/m", "NEED 1 UNIT 1 UPTO 0", "a"), StartsWith("ERR invalid UPTO '0'"));
  EXPECT_EQ(Slice("10/m 5,held", kWish, "a"), "ERR a held limit needs RL.RESERVE");
  EXPECT_EQ(Left("10/m"), "1 10 0 0 0");
  EXPECT_EQ(Numbers("RL.SLICE need 10/m ttl 500 unit 1 hold UNIT need 1 upto 1"),
            "1 9 0 6000000 0 500000 0")
      << "a key and an id may read like a word";
  EXPECT_EQ(Slice("10/m", "NEED 0 UNIT 3 UPTO 1", "a"), "1 9 0 6000000 0 500000 0")
      << "nothing waits";
}

TEST_F(SliceTest, OperatorsChangesAreCounted) {
  EXPECT_EQ(Show("RL.POLICY SET p 100/m"), "OK");
  EXPECT_EQ(Slice("@p", kWish, "a"), "13 87 0 7800000 0 500000 1");
  EXPECT_EQ(Show("RL.POLICY OVERRIDE p k 200/m"), "OK");
  EXPECT_THAT(Slice("@p", "NEED 1 UNIT 1 UPTO 1", "b"), EndsWith(" 2"));
  EXPECT_EQ(Show("RL.COMMIT k COST 0 HOLD a").substr(0, 2), "1 ")
      << "settled by the shorter interval";
  EXPECT_EQ(Show("RL.POLICY UNOVERRIDE p k"), "1");
  EXPECT_EQ(Show("RL.RESET k"), "1");
  EXPECT_THAT(Slice("@p", "NEED 1 UNIT 1 UPTO 1", "c"), EndsWith(" 4"));
  EXPECT_EQ(Show("RL.COMMIT k HOLD b"), kNoSlice) << "reset";
  EXPECT_EQ(Show("RL.POLICY DEL p"), "OK");
  EXPECT_EQ(Show("RL.COMMIT k HOLD c"), kNoSlice);
}

// An ask with a NEED is one request, and one without is none.
TEST_F(SliceTest, StatsCountAsksThatNeed) {
  EXPECT_EQ(Slice("10/m,name=x", "NEED 0 UNIT 1 UPTO 9", "a"), "1 9 0 6000000 0 500000 0");
  EXPECT_EQ(StatsText(client_), "(total) 0 0 0 0;");
  EXPECT_EQ(Slice("10/m,name=x", "NEED 9 UNIT 1 UPTO 9", "b"), "9 0 6000000 60000000 0 500000 0");
  EXPECT_EQ(Slice("10/m,name=x", "NEED 2 UNIT 1 UPTO 9", "c"), "0 0 6000000 60000000 0 500000 0");
  EXPECT_EQ(StatsText(client_), "(total) 1 1 0 1;x 1 1 0 1;");
}

// The longest wait for UNIT, which the reply names, may be that of a limit which had all of NEED.
TEST_F(SliceTest, ALimitThatLackedWhatWasNeededIsTheOneThatDenied) {
  EXPECT_EQ(Slice("8/m,name=x 5/s,name=y", "NEED 8 UNIT 5 UPTO 8", "a"),
            "5 0 15000000 37500000 0 500000 0");
  EXPECT_EQ(Show("RL.TOP LIMIT x"), "[]");
  EXPECT_EQ(Show("RL.TOP LIMIT y"), "[[\"k\" 1 0]]");
}

TEST_F(SliceTest, TransactionSlicesAndSettles) {
  EXPECT_EQ(Show("MULTI"), "OK");
  EXPECT_EQ(Slice("100/m", kWish, "a"), "QUEUED");
  EXPECT_EQ(Show("RL.COMMIT k COST 3 HOLD a"), "QUEUED");
  EXPECT_THAT(Show("EXEC"), EndsWith("[1 97 0 1800 0]"));
}

}  // namespace
}  // namespace weir
