// Goal: a call charges its asks all or none, its reports in any case, and tells each rule's numbers
// as Envoy's clients know them. Method: a table of facts, in which each row begins with nothing
// used and stays within one window; and single cases for times, bans and shared buckets.
#include "core/plans/call_plan.h"

#include <chrono>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/core/plans/call_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;

// What a row asks: calls in turn with their answers, and then the tokens used by keys.
struct Fact {
  std::string name;
  std::vector<std::pair<std::string, std::string>> calls;
  std::vector<std::pair<std::string, std::int64_t>> used;
  bool all_shadow = false;
  bool all_quota = false;

  friend std::ostream& operator<<(std::ostream& out, const Fact& fact) { return out << fact.name; }
};

class CallPlanTest : public CallFixture {
 protected:
  CallPlanTest() {
    const auto plain = [](const std::string& number) {
      return std::vector{number + ",fixed,aligned"};
    };
    SetRule("key1", {plain("5/s")});
    SetRule("key2", {plain("20/m")});
    SetRule("key3", {plain("1/h")});
    SetRule("ten", {plain("10/h")});
    SetRule("foo", {plain("2/m")});
    SetRule("bar", {plain("3/m")});
    SetRule("mock", {plain("1/m")});
    SetRule("banned", {{"none"}});
    SetRule("opens", {.limits = {"2/m,fixed"}});
    SetRule("shady", {.limits = plain("3/m"), .shadow = true});
    SetRule("quota1", {.limits = plain("1/m"), .quota = true});
    SetRule("quota2", {.limits = plain("2/m"), .quota = true});
    SetRule("trial", {.limits = plain("1/m"), .shadow = true, .quota = true});
    SetRule("bucket", {{"3/m"}});
    SetRule("sliding", {{"4/m,sliding"}});
    SetRule("two", {{"2/h,fixed,aligned", "3/d,fixed,aligned"}});
    SetRule("equal", {{"2/h,fixed,aligned", "2/d,fixed,aligned"}});
    SetRule("shut", {{"2/m,ban=1h", "100/d,fixed"}});
    SetRule("tried", {{"1/m,shadow", "5/m"}});
  }
};

class CallFactTest : public CallPlanTest, public testing::WithParamInterface<Fact> {};

TEST_P(CallFactTest, Holds) {
  all_shadow_ = GetParam().all_shadow;
  all_quota_ = GetParam().all_quota;
  for (const auto& [call, answer] : GetParam().calls) EXPECT_EQ(Call(call), answer) << call;
  for (const auto& [key, tokens] : GetParam().used) EXPECT_EQ(Used(key), tokens) << key;
}

std::vector<Fact> FactsOfAsks() {
  return {
      {"DeniedCallChargesNothing",
       {{"key2=a; key3=a", "r19 r0 OK"},
        {"key2=a; key3=a", "r19 OVER OVER"},
        {"key2=a; key3=a", "r19 OVER OVER"}},
       {{"key2=a", 1}, {"key3=a", 2}}},
      {"TenOfTwenty",
       {{"key2=a*9; ten=a*9", "r11 r1 OK"},
        {"key2=a; ten=a", "r10 r0 OK"},
        {"key2=a; ten=a", "r10 OVER OVER"}},
       {{"key2=a", 10}}},
      {"WithoutARuleItPasses", {{"key2=a; -", "r19 - OK"}}, {{"key2=a", 1}}},
      {"DeniedWithoutARule", {{"deny; key2=a", "OVER r20 OVER"}, {"deny", "OVER OVER"}}, {}},
      {"None",
       {{"banned=b", "OVER OVER"},
        {"banned=b; mock=m", "OVER r1 OVER"},
        {"banned=b+0", "OVER OVER"},
        {"banned=b+1", "OVER OVER"},
        {"banned=b-1", "r0 OK"}},
       {{"mock=m", 0}, {"banned=b", 0}}},
      {"SeveralTokens",
       {{"key2=a*15", "r5 OK"},
        {"key2=a*6", "OVER OVER"},
        {"key2=a+0", "r5 OK"},
        {"key2=a*5", "r0 OK"}},
       {{"key2=a", 20}}},
      {"Bucket",
       {{"bucket=1*2", "r1 OK"},
        {"bucket=1", "r0 OK"},
        {"bucket=1", "OVER OVER"},
        {"bucket=1+0", "r0 OK"}},
       {{"bucket=1", 3}}},
      {"Sliding",
       {{"sliding=1*4", "r0 OK"},
        {"sliding=1", "OVER OVER"},
        {"sliding=1+0", "r0 OK"},
        {"sliding=1+1", "OVER OVER"},
        {"sliding=1+0", "OVER OVER"},
        {"sliding=1-1", "r0 OK"}},
       {{"sliding=1", 4}}},
      {"TwoLimits",
       {{"two=1", "r1 OK"}, {"two=1", "r0 OK"}, {"two=1", "OVER OVER"}, {"two=1+0", "r0 OK"}},
       {{"two=1", 2}}},
      {"MarkIsOneToken",
       {{"key3=a", "r0 OK"},
        {"key3=a+0", "r0 OK"},
        {"key3=a", "OVER OVER"},
        {"key3=a", "OVER OVER"},
        {"key3=a+0", "OVER OVER"},
        {"key3=a-1", "r0 OK"},
        {"key3=a+0", "r0 OK"}},
       {{"key3=a", 1}}},
      {"OnlyAnAlignedWindowIsMarked",
       {{"opens=a*2", "r0 OK"}, {"opens=a", "OVER OVER"}, {"opens=a+0", "r0 OK"}},
       {{"opens=a", 2}}},
      {"LimitThatIsAShadow", {{"tried=1", "r4 OK"}, {"tried=1", "r3 OK"}}, {{"tried=1", 1}}},
  };
}

std::vector<Fact> FactsOfReports() {
  return {
      {"ReportBeyond", {{"key2=a+25", "OVER OVER"}, {"key2=a", "OVER OVER"}}, {{"key2=a", 25}}},
      {"ReportThenAsk", {{"key2=a+5", "r15 OK"}, {"key2=a", "r14 OK"}}, {{"key2=a", 6}}},
      {"LooksAndReports",
       {{"key3=a+0", "r1 OK"},
        {"key3=a+1", "r0 OK"},
        {"key3=a+0", "r0 OK"},
        {"key3=a+1", "OVER OVER"},
        {"key3=a+0", "OVER OVER"}},
       {{"key3=a", 2}}},
      {"DebtIsBounded",
       {{"key3=a+1", "r0 OK"},
        {"key3=a+1", "OVER OVER"},
        {"key3=a+1", "OVER OVER"},
        {"key3=a-1", "r0 OK"},
        {"key3=a+0", "r0 OK"},
        {"key3=a", "OVER OVER"}},
       {{"key3=a", 2}}},
      {"RefundOfNothing", {{"key3=a-5", "r1 OK"}}, {{"key3=a", 0}}},
      {"RefundOfZeroIsNoLook",
       {{"key3=a+2", "OVER OVER"}, {"key3=a-0", "r0 OK"}, {"key3=a-0; key3=a+0", "OVER OVER OVER"}},
       {{"key3=a", 2}}},
      {"ReportInADeniedCall",
       {{"key2=a+18; key3=a", "r2 r0 OK"}, {"key2=a+1; key3=a", "r1 OVER OVER"}},
       {{"key2=a", 19}}},
      {"RefundInADeniedCall",
       {{"key2=a+18; key3=a", "r2 r0 OK"}, {"key2=a-2; key3=a", "r4 OVER OVER"}},
       {{"key2=a", 16}}},
      {"ReportOfTwoLimits",
       {{"two=1+3", "OVER OVER"}, {"two=1-1", "r0 OK"}, {"two=1+0", "r0 OK"}},
       {{"two=1", 2}}},
  };
}

std::vector<Fact> FactsOfSharedBuckets() {
  return {
      {"TwoAsksOfOne", {{"key3=a; key3=a", "OVER OVER OVER"}}, {{"key3=a", 0}}},
      {"TwoAsks", {{"key2=a; key2=a", "r18 r18 OK"}}, {{"key2=a", 2}}},
      {"AskReportAndRefund",
       {{"key2=a; key2=a+2; key2=a-1", "r18 r18 r18 OK"},
        {"deny; key2=a; key2=a+2; key2=a-1", "OVER r16 r16 r16 OVER"}},
       {{"key2=a", 4}}},
      {"MoreIsGivenBack",
       {{"key2=a+9", "r11 OK"}, {"key2=a; key2=a-3; banned=b", "r13 r13 OVER OVER"}},
       {{"key2=a", 7}}},
      {"HugeSums",
       {{"key2=a+9223372036854775807; key2=a+9223372036854775807; key2=a-9223372036854775807; "
         "key2=a-9223372036854775807; key2=a",
         "r19 r19 r19 r19 r19 OK"}},
       {{"key2=a", 1}}},
      {"AsMuchIsGivenBack",
       {{"key3=a", "r0 OK"}, {"key3=a; key3=a-1", "r0 r0 OK"}},
       {{"key3=a", 1}}},
      {"LooksAtWhatIsAsked", {{"key2=a+0; key2=a", "r19 r19 OK"}}, {{"key2=a", 1}}},
      {"TwoLimitsTwice",
       {{"two=1; two=1", "r0 r0 OK"}, {"two=1; two=1", "OVER OVER OVER"}},
       {{"two=1", 2}}},
      {"InlineLimits",
       {{"key1=v@10/d", "r9 OK"},
        {"key1=v@4/d", "r2 OK"},
        {"key1=v@42/h", "r41 OK"},
        {"key1=w@42/h", "r41 OK"},
        {"key1=w@0/d", "OVER OVER"}},
       {{"key1=v", 2}}},
      {"InlineLimitOfZeroStandsAlone",
       {{"key1=v@0/d; key1=v@10/d", "OVER r10 OVER"}},
       {{"key1=v", 0}}},
      {"SmallestInlineLimitCounts",
       {{"key1=v@10/d; key1=v@4/d", "r2 r2 OK"},
        {"key1=v@2/d; key1=v@10/d", "OVER OVER OVER"},
        {"key1=v@10/d", "r6 OK"}},
       {{"key1=v", 4}}},
  };
}

std::vector<Fact> FactsOfQuotasAndShadows() {
  return {
      {"Shadow",
       {{"shady=x*2", "r1 OK"}, {"shady=x", "r0 OK"}, {"shady=x; key2=a", "r0 r19 OK"}},
       {{"shady=x", 4}, {"key2=a", 1}}},
      {"TwoQuotas",
       {{"quota1=s; quota2=s", "r0 r1 OK"},
        {"quota1=s; quota2=s", "OVER r0 OK"},
        {"quota1=s; quota2=s", "OVER OVER OVER"},
        {"quota1=s; quota2=s", "OVER OVER OVER"}},
       {{"quota1=s", 2}, {"quota2=s", 3}}},
      {"LookingAtQuotas",
       {{"quota1=s+0; quota2=s+0", "r1 r2 OK"},
        {"quota2=s+1", "r1 OK"},
        {"quota1=s+0; quota2=s+0", "r1 r1 OK"},
        {"quota2=s+2", "OVER OVER"},
        {"quota1=s+0; quota2=s+0", "r1 OVER OK"}},
       {{"quota2=s", 3}}},
      {"LookingAtOneQuota",
       {{"quota2=s+0", "r2 OK"},
        {"quota2=s+2", "r0 OK"},
        {"quota2=s+0", "r0 OK"},
        {"quota2=s+1", "OVER OVER"},
        {"quota2=s+0", "OVER OVER"}},
       {{"quota2=s", 3}}},
      {"AnOrdinaryRuleBesides",
       {{"quota1=s; quota2=s; foo=x", "r0 r1 r1 OK"},
        {"quota1=s; quota2=s; foo=x", "OVER r0 r0 OK"},
        {"quota1=s; quota2=s; foo=x", "OVER OVER OVER OVER"},
        {"quota2=t; foo=x", "r2 OVER OVER"}},
       {{"foo=x", 3}}},
      {"AnOrdinaryRuleDenies", {{"quota1=s; banned=x", "r1 OVER OVER"}}, {{"quota1=s", 0}}},
      {"WithoutARuleIsNoQuota", {{"quota1=s; -", "r0 - OK"}, {"quota1=s; -", "OVER - OVER"}}, {}},
      {"QuotaThatIsAShadowPasses",
       {{"trial=t; quota1=s", "r0 r0 OK"},
        {"trial=t; quota1=s", "r0 OVER OK"},
        {"trial=t", "r0 OK"}},
       {}},
      {"AllAreQuotas",
       {{"quota1=s; -", "r0 - OK"},
        {"quota1=s; -", "OVER - OK"},
        {"foo=q*2", "r0 OK"},
        {"foo=q", "OVER OVER"},
        {"foo=q; bar=q", "OVER r2 OK"},
        {"-", "- OK"}},
       {{"bar=q", 1}},
       false,
       true},
      {"AllAreShadows",
       {{"foo=s", "r1 OK"}, {"foo=s; bar=s", "r0 r2 OK"}, {"foo=s; bar=s", "OVER r1 OK"}},
       {{"bar=s", 2}},
       true},
  };
}

std::vector<Fact> AllFacts() {
  std::vector<Fact> all;
  for (const auto& facts :
       {FactsOfAsks(), FactsOfReports(), FactsOfSharedBuckets(), FactsOfQuotasAndShadows()}) {
    all.insert(all.end(), facts.begin(), facts.end());
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, CallFactTest, testing::ValuesIn(AllFacts()),
                         [](const auto& fact) { return fact.param.name; });

TEST_F(CallPlanTest, ChangedNumberKeepsWhatIsUsed) {
  EXPECT_EQ(Call("key2=a*3"), "r17 OK");
  SetRule("key2", {{"5/m,fixed,aligned"}});
  EXPECT_EQ(Call("key2=a"), "r1 OK");
  EXPECT_EQ(Call("key2=a"), "r0 OK");
  EXPECT_EQ(Call("key2=a"), "OVER OVER");
  SetRule("key2", {{"20/h,fixed,aligned"}});
  EXPECT_EQ(Call("key2=a"), "r19 OK");
}

// --- Times --------------------------------------------------------------------------------------

TEST_F(CallPlanTest, FixedWindowTellsItsEndEvenIfNothingIsUsed) {
  now_ += seconds{20} + Nanos{1};
  const Nanos left = seconds{40} - Nanos{1};
  EXPECT_EQ(VerdictOf("key2=a; banned=b").parts[0].decision, (Decision{true, 20, Nanos{0}, left}));
  EXPECT_EQ(VerdictOf("key2=a+0").parts[0].decision.reset_after, left);
  EXPECT_EQ(VerdictOf("key2=a").parts[0].decision, (Decision{true, 19, Nanos{0}, left}));
  EXPECT_EQ(VerdictOf("key2=a-1").parts[0].decision, (Decision{true, 20, Nanos{0}, left}));
  EXPECT_EQ(VerdictOf("key2=a*20").parts[0].decision.reset_after, left);
  EXPECT_EQ(VerdictOf("key2=a").parts[0].decision, (Decision{false, 0, left, left}));
}

TEST_F(CallPlanTest, OthersTellWhenTheSameWouldPass) {
  EXPECT_EQ(VerdictOf("bucket=1*3").parts[0].decision, (Decision{true, 0, Nanos{0}, seconds{60}}));
  EXPECT_EQ(VerdictOf("bucket=1*2").parts[0].decision,
            (Decision{false, 0, seconds{40}, seconds{60}}));
  EXPECT_EQ(VerdictOf("bucket=1+1").parts[0].decision,
            (Decision{false, 0, seconds{40}, seconds{80}}));
  EXPECT_EQ(VerdictOf("bucket=1+0").parts[0].decision,
            (Decision{false, 0, seconds{20}, seconds{80}}));
  now_ += seconds{20};
  EXPECT_EQ(VerdictOf("bucket=1+0").parts[0].decision, (Decision{true, 0, Nanos{0}, seconds{60}}));
  EXPECT_EQ(VerdictOf("bucket=1*4").parts[0].decision.retry_after, kNever);
}

TEST_F(CallPlanTest, OfSeveralLimitsTheOneThatDecidesIsTold) {
  EXPECT_EQ(VerdictOf("two=1*2").parts[0].decider, 0u);
  EXPECT_EQ(VerdictOf("equal=1").parts[0].decider, 0u) << "the first of equals";
  const CallVerdict denied = VerdictOf("two=1");
  EXPECT_EQ(denied.parts[0].decider, 0u);
  EXPECT_EQ(denied.decisions[1].remaining, 1);
  now_ += hours{1};
  EXPECT_EQ(VerdictOf("two=1").parts[0].decider, 1u);
  EXPECT_EQ(VerdictOf("two=1").parts[0].decider, 1u);
  EXPECT_EQ(VerdictOf("key1=v@10/d; key1=v@4/d").parts[0].decider, 1u);
}

// --- Bans, and what statistics need -------------------------------------------------------------

TEST_F(CallPlanTest, AskThatIsDeniedBansAsRlAllowDoes) {
  EXPECT_EQ(Call("shut=1*2"), "r0 OK");
  EXPECT_EQ(VerdictOf("shut=1+1").banned, 0u);
  EXPECT_EQ(VerdictOf("shut=1-1").banned, 0u);
  const CallVerdict denied = VerdictOf("banned=b; shut=1");
  EXPECT_EQ(denied.banned, 0b10u);
  EXPECT_EQ(denied.parts[1].decision.retry_after, hours{1});
  EXPECT_EQ(VerdictOf("shut=1").banned, 0u);
  EXPECT_EQ(Call("shut=1+0"), "OVER OVER");
  now_ += hours{1} - Nanos{1};
  EXPECT_EQ(Call("shut=1+0"), "OVER OVER");
  now_ += Nanos{1};
  EXPECT_EQ(Call("shut=1+0"), "r1 OK");
}

TEST_F(CallPlanTest, BitsTellWhatWasTaken) {
  const CallVerdict first = VerdictOf("key2=a; key2=a; key3=a+2; bar=a+0; foo=a-1; foo=b+2");
  EXPECT_EQ(first.repeated, 0b000010u);
  EXPECT_EQ(first.taken, 0b100100u);
  EXPECT_EQ(first.beyond, 0b000100u);
  EXPECT_TRUE(first.over);
  EXPECT_EQ(first.now, now_);
  EXPECT_EQ(VerdictOf("key2=a; key2=a").taken, 0b1u);
  EXPECT_EQ(VerdictOf("tried=1; tried=1").taken, 0b10u);
}

}  // namespace
}  // namespace weir
