// Goal: the memo answers as the parser does, remembers valid words, and never exceeds its caps.
// Method: words that are valid and words that are not; one more word than the caps allow.
#include "core/policies/limit_memo.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/check.h"
#include "core/words/request.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

using testing::HasSubstr;

std::string Word(std::size_t number) { return std::to_string(number + 1) + "/h"; }

LimitMemo::Entry* Read(LimitMemo& memo, std::string_view text) {
  const absl::StatusOr<LimitMemo::Entry*> entry = memo.Read(text);
  WEIR_CHECK(entry.ok());
  return *entry;
}

TEST(LimitMemoTest, AnswersAsTheParserDoes) {
  LimitMemo memo;
  for (const char* text :
       {"10/s", "1000/24h,cost=5,keep=2,name=x", "unlimited", "none", "10/s,fixed,aligned"}) {
    for (int time = 0; time < 2; ++time) {
      const LimitWord& word = Read(memo, text)->word;
      const LimitWord parsed = *ParseLimitWord(text);
      EXPECT_EQ(word.kind, parsed.kind);
      EXPECT_EQ(word.limit, parsed.limit);
      EXPECT_EQ(word.policy, parsed.policy);
      EXPECT_EQ(word.cost, parsed.cost);
      EXPECT_EQ(word.keep, parsed.keep);
      EXPECT_EQ(word.label, parsed.label);
    }
  }
}

TEST(LimitMemoTest, AWordIsReadOnce) {
  LimitMemo memo;
  memo.BeginRequest();
  LimitMemo::Entry* const first = Read(memo, "10/s");
  EXPECT_EQ(Read(memo, "10/s"), first);
  EXPECT_NE(Read(memo, "10/s,cost=1"), first);
  memo.BeginRequest();
  EXPECT_EQ(Read(memo, std::string("10/s")), first);
  EXPECT_EQ(memo.size(), 2U);
}

TEST(LimitMemoTest, AHintStaysWithItsWord) {
  LimitMemo memo;
  Read(memo, "10/s")->limits[0].hint = {.id = LimitId{7}, .generation = IdGeneration{3}};
  memo.BeginRequest();
  EXPECT_EQ(Read(memo, "10/s")->limits[0].hint.id, LimitId{7});
  EXPECT_EQ(Read(memo, "20/s")->limits[0].hint.generation, LimitHint{}.generation);
}

// --- Policies -----------------------------------------------------------------------------------

// The names of the limits that a word stands for; empty if there is no such policy.
std::vector<std::string> NamesOf(LimitMemo& memo, std::string_view text) {
  memo.BeginRequest();
  const absl::StatusOr<LimitMemo::Entry*> entry = memo.Read(text);
  std::vector<std::string> names;
  if (!entry.ok()) return names;
  for (const CachedLimit& known : (*entry)->limits) names.push_back(known.name);
  return names;
}

TEST(LimitMemoTest, APolicysWordFollowsThePolicy) {
  Policies policies;
  LimitMemo memo(&policies);
  EXPECT_THAT(NamesOf(memo, "@p"), testing::IsEmpty());
  EXPECT_TRUE(policies.Set("p", LimitsOf({"10/s", "5/m,name=slow"})).ok());
  EXPECT_THAT(NamesOf(memo, "@p"), testing::ElementsAre("10/s", "slow"));
  EXPECT_THAT(NamesOf(memo, "@p,shadow"), testing::ElementsAre("10/s,shadow", "slow"));
  EXPECT_THAT(NamesOf(memo, "@p,name=x"), testing::ElementsAre("x", "x"));
  EXPECT_TRUE(policies.Set("p", LimitsOf({"20/s"})).ok());
  EXPECT_THAT(NamesOf(memo, "@p"), testing::ElementsAre("20/s"));
  EXPECT_THAT(NamesOf(memo, "@p,shadow"), testing::ElementsAre("20/s,shadow"));
  EXPECT_TRUE(policies.Delete("p").ok());
  EXPECT_THAT(NamesOf(memo, "@p"), testing::IsEmpty());
  EXPECT_TRUE(policies.Set("p", LimitsOf({"30/s"})).ok());
  EXPECT_THAT(NamesOf(memo, "@p"), testing::ElementsAre("30/s"));
}

// What the word says counts before what the policy says, for all of the policy's limits.
// A service may ask for a policy before it is there, at full speed.
TEST(LimitMemoTest, ManyRequestsForUnknownPoliciesCompareFewNames) {
  constexpr int kMany = 6'000;
  Policies policies;
  for (int i = 0; i < kMany; ++i) {
    ASSERT_TRUE(policies.Set("customer-" + std::to_string(i), LimitsOf({"1/s"})).ok());
  }
  LimitMemo memo(&policies);
  const auto begin = [&](int requests) {
    for (int i = 0; i < requests; ++i) memo.BeginRequest();
  };
  const auto error = [&] { return std::string(memo.Read("@custmer-42").status().message()); };
  begin(10'000);
  EXPECT_THAT(error(), HasSubstr("did you mean @customer-42?"));
  int hints = 0;
  for (int i = 0; i < 4 * kMany; ++i) {
    begin(1);
    if (error().find("did you mean") != std::string::npos) ++hints;
  }
  EXPECT_GT(hints, 30);
  EXPECT_LT(hints, 80);  // of 24,000: 16 names a request
}

TEST(LimitMemoTest, AWordsKeepIsForAllLimitsOfItsPolicy) {
  Policies policies;
  LimitMemo memo(&policies);
  EXPECT_TRUE(policies.Set("p", LimitsOf({"10/s", "5/m,keep=2"})).ok());
  memo.BeginRequest();
  const auto keeps = [&](std::string_view text) {
    std::vector<std::optional<std::int64_t>> kept;
    for (const CachedLimit& known : Read(memo, text)->limits) kept.push_back(known.keep);
    return kept;
  };
  EXPECT_THAT(keeps("@p"), testing::ElementsAre(std::nullopt, 2));
  EXPECT_THAT(keeps("@p,keep=20"), testing::ElementsAre(20, 20));
  EXPECT_THAT(keeps("@p,keep=0"), testing::ElementsAre(0, 0));
}

// A change of a policy leaves the hints of other limits alone.
TEST(LimitMemoTest, OtherWordsStayThroughAChange) {
  Policies policies;
  LimitMemo memo(&policies);
  memo.BeginRequest();
  Read(memo, "10/s")->limits[0].hint = {.id = LimitId{7}, .generation = IdGeneration{3}};
  EXPECT_TRUE(policies.Set("p", LimitsOf({"20/s"})).ok());
  memo.BeginRequest();
  EXPECT_EQ(Read(memo, "10/s")->limits[0].hint.id, LimitId{7});
}

// The memo is bounded by the number of its limits, and words of deleted policies have none.
TEST(LimitMemoTest, WordsOfGonePoliciesAreNotKept) {
  Policies policies;
  LimitMemo memo(&policies);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(policies.Set("p", LimitsOf({"10/s"})).ok());
    for (int i = 0; i < 100; ++i) NamesOf(memo, "@p,cost=" + std::to_string(100 * round + i));
    EXPECT_EQ(memo.size(), 100U);
    EXPECT_TRUE(policies.Delete("p").ok());
    for (int i = 0; i < 100; ++i) NamesOf(memo, "@p,cost=" + std::to_string(100 * round + i));
    EXPECT_EQ(memo.size(), 0U);
  }
}

TEST(LimitMemoTest, APolicyCountsForItsLimits) {
  Policies policies;
  LimitMemo memo(&policies);
  EXPECT_TRUE(policies.Set("p", LimitsOf(std::vector<std::string_view>(64, "10/s"))).ok());
  for (std::size_t i = 0; i < kMemoLimitsMax / 64; ++i) {
    NamesOf(memo, "@p,cost=" + std::to_string(i));
    EXPECT_EQ(memo.size(), i + 1);
  }
  memo.BeginRequest();
  EXPECT_EQ(memo.size(), 0U);
}

// --- Bounds -------------------------------------------------------------------------------------

// The caller's text may be freed: the memo has a copy.
TEST(LimitMemoTest, KeepsItsOwnCopyOfTheWord) {
  LimitMemo memo;
  auto text = std::make_unique<std::string>(
      "999999999/365d,burst=1,name=longer-than-any-string-kept-inline");
  LimitMemo::Entry* const entry = Read(memo, *text);
  const std::string copy = *text;
  text.reset();
  EXPECT_EQ(Read(memo, copy), entry);
}

TEST(LimitMemoTest, ErrorsAreTheParsersAndAreNotKept) {
  LimitMemo memo;
  for (const std::string& text : {std::string("10/x"), std::string(""), std::string(70'000, '1')}) {
    const absl::StatusOr<LimitMemo::Entry*> entry = memo.Read(text);
    ASSERT_FALSE(entry.ok());
    EXPECT_EQ(entry.status(), ParseLimitWord(text).status());
  }
  EXPECT_EQ(memo.size(), 0U);
}

TEST(LimitMemoTest, IsEmptiedWhenFull) {
  LimitMemo memo;
  for (std::size_t i = 0; i < kMemoLimitsMax; ++i) {
    memo.BeginRequest();
    Read(memo, Word(i));
    ASSERT_EQ(memo.size(), i + 1);
  }
  memo.BeginRequest();
  EXPECT_EQ(memo.size(), 0U);
  Read(memo, Word(0));
  EXPECT_EQ(memo.size(), 1U);
}

// One request may bring as many words as it has checks; all of them stay in place until the next
// request.
TEST(LimitMemoTest, WordsOfARequestStayWhereTheyAre) {
  LimitMemo memo;
  for (std::size_t i = 0; i + 1 < kMemoLimitsMax; ++i) Read(memo, Word(i));
  memo.BeginRequest();
  std::vector<LimitMemo::Entry*> entries;
  for (std::size_t i = 0; i < kChecksMax; ++i)
    entries.push_back(Read(memo, Word(kMemoLimitsMax + i)));
  EXPECT_EQ(memo.size(), kMemoLimitsMax - 1 + kChecksMax);
  for (std::size_t i = 0; i < kChecksMax; ++i) {
    EXPECT_EQ(Read(memo, Word(kMemoLimitsMax + i)), entries[i]);
    EXPECT_EQ(entries[i]->limits[0].name,
              LimitText(*ParseLimitWord(Word(kMemoLimitsMax + i))->limit));
  }
  memo.BeginRequest();
  EXPECT_EQ(memo.size(), 0U);
}

// The bound on the memo's memory: the longest valid word has every number with its most digits,
// every option and the longest label.
TEST(LimitMemoTest, EveryValidWordIsShort) {
  const std::string label(kLabelBytesMax, 'x');
  const std::string tail = ",cost=9223372036854775807,shadow,name=" + label;
  for (const std::string& text :
       {"1000000000000000000/100000000000000us,bucket,burst=1000000000000000000" + tail,
        "@" + label + tail}) {
    EXPECT_TRUE(ParseLimitWord(text).ok()) << ParseLimitWord(text).status();
    EXPECT_LE(text.size(), 256U);
  }
}

}  // namespace
}  // namespace weir
