// Goal: a question asks what its text says with the key and the costs of the log. Method: requests
// of one and several logged keys, printed; texts that are no request.
#include "replay/question.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/policies/policies.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

class QuestionTest : public testing::Test {
 protected:
  QuestionTest() {
    const std::vector<std::string_view> free = {"10/s", "1k/h,cost=5,name=hourly"};
    EXPECT_TRUE(policies_.Set("free", *ParsePolicyLimits(free)).ok());
  }

  std::unique_ptr<Question> Parse(std::string_view text) {
    auto question = Question::Parse(text, &policies_);
    EXPECT_TRUE(question.ok()) << question.status();
    return question.ok() ? *std::move(question) : nullptr;
  }

  std::string ErrorOf(std::string_view text) {
    return std::string(Question::Parse(text, &policies_).status().message());
  }

  // The checks for these logged keys: "k 10/s x1; k 5/m x2".
  std::string Asked(std::string_view text, std::vector<LoggedKey> keys) {
    const std::unique_ptr<Question> question = Parse(text);
    if (!question) return "";
    for (LoggedKey& key : keys) key.hash = hasher_(key.key);
    std::string asked;
    const Request& request = question->RequestFor({.keys = keys}, hasher_);
    for (std::size_t i = 0; i < request.size(); ++i) {
      const Check& check = request[i];
      EXPECT_EQ(check.hash, hasher_(check.key));
      const bool begins_alternative =
          i > 0 && request.AlternativeOf(i) != request.AlternativeOf(i - 1);
      asked += i == 0 ? "" : begins_alternative ? " OR " : "; ";
      asked += std::string(check.key) + " " + LimitText(*check.limit) + " x" +
               std::to_string(check.cost);
    }
    return asked;
  }

  const KeyHasher hasher_{HashSecret{}};
  Policies policies_;
};

TEST_F(QuestionTest, TheKeyStandsWhereverItsPlaceIs) {
  EXPECT_EQ(Asked("{key} 10/s", {{.key = "user:42"}}), "user:42 10/s x1");
  EXPECT_EQ(Asked("user:{key} 10/s 5/m AND all 1k/s", {{.key = "42"}}),
            "user:42 10/s x1; user:42 5/m x1; all 1000/s x1");
  EXPECT_EQ(Asked("a:{{key}} 10/s", {{.key = "42"}}), "a:{42} 10/s x1") << "a hash tag of Redis";
  EXPECT_EQ(Asked("{key}:{key} 10/s", {{.key = ""}}), ": 10/s x1");
  EXPECT_EQ(Asked("\"a b {key}\" 10/s and AND 5/s", {{.key = "{key}"}}),
            "a b {key} 10/s x1; AND 5/s x1");
}

TEST_F(QuestionTest, ALimitWithoutACostTakesTheLoggedOne) {
  const std::vector<std::int64_t> word_costs = {kNoCost, 7};
  const LoggedKey logged{.key = "k", .cost = 3, .hash = {}, .word_costs = word_costs};
  EXPECT_EQ(Asked("{key} 10/s 5/m 2/h", {logged}), "k 10/s x3; k 5/m x7; k 2/h x3");
  EXPECT_EQ(Asked("{key} 10/s,cost=2 5/m,cost=0", {logged}), "k 10/s x2; k 5/m x0");
  EXPECT_EQ(Asked("{key} 10/s 5/m,cost=9 COST 1 AND x 5/m", {logged}),
            "k 10/s x1; k 5/m x9; x 5/m x3");
  EXPECT_EQ(Asked("{key} @free", {logged}), "k 10/s x3; k 1000/h x5");
  EXPECT_EQ(Asked("{key} @free 1/m", {logged}), "k 10/s x3; k 1000/h x5; k 1/m x7");
  EXPECT_EQ(Asked("{key} @free,cost=4", {logged}), "k 10/s x4; k 1000/h x4");
}

TEST_F(QuestionTest, EachLoggedKeyIsAskedFor) {
  const std::vector<LoggedKey> keys = {
      {.key = "a", .cost = 2}, {.key = "b", .cost = 3}, {.key = "c", .cost = 4}};
  EXPECT_EQ(Asked("{key} 10/s 5/m", keys),
            "a 10/s x2; a 5/m x2; b 10/s x3; b 5/m x3; c 10/s x4; c 5/m x4");
}

TEST_F(QuestionTest, AKeyWithoutItsPlaceIsAskedForOnceARequest) {
  const std::vector<LoggedKey> keys = {{.key = "a", .cost = 2}, {.key = "b", .cost = 3}};
  EXPECT_EQ(Asked("{key} 10/s AND all 5/s AND x:{key} 1/m", keys),
            "a 10/s x2; all 5/s x2; x:a 1/m x2; b 10/s x3; x:b 1/m x3");
  EXPECT_EQ(Asked("all 5/s 9/m", keys), "all 5/s x2; all 9/m x2");

  const std::unique_ptr<Question> question = Parse("all 5/s AND {key} 10/s 9/m");
  const std::vector<LoggedKey> three = {{.key = "a"}, {.key = "b"}, {.key = "c"}};
  EXPECT_EQ(question->RequestFor({.keys = three}, hasher_).size(), 7u);
  const Question::Place wants[] = {{0, 0}, {1, 0}, {2, 0}, {1, 1}, {2, 1}, {1, 2}};
  for (std::size_t i = 0; i < std::size(wants); ++i) {
    EXPECT_EQ(question->PlaceOf(i).limit, wants[i].limit) << i;
    EXPECT_EQ(question->PlaceOf(i).key, wants[i].key) << i;
  }
}

TEST_F(QuestionTest, EachAlternativeAsksForEachKey) {
  const std::string_view text = "{key} 10/s AND all 5/s OR pool:{key} 1/m OR all 5/s 9/m,cost=4";
  EXPECT_EQ(Asked(text, {{.key = "a", .cost = 2}}),
            "a 10/s x2; all 5/s x2 OR pool:a 1/m x2 OR all 5/s x2; all 9/m x4");
  EXPECT_EQ(Asked(text, {{.key = "a", .cost = 2}, {.key = "b", .cost = 3}}),
            "a 10/s x2; all 5/s x2; b 10/s x3 OR pool:a 1/m x2; pool:b 1/m x3 OR "
            "all 5/s x2; all 9/m x4");
  EXPECT_EQ(Parse(text)->alternatives(), 3u);
  EXPECT_EQ(Parse("OR 10/s AND OR 5/s")->alternatives(), 1u);
}

TEST_F(QuestionTest, NamesAreThoseOfTheLimits) {
  EXPECT_THAT(Parse("{key} 60/60s 5/m,name=x AND {key} @free")->names(),
              testing::ElementsAre("60/m", "x", "10/s", "hourly"));
}

TEST_F(QuestionTest, SomeRequestsCannotBeAsked) {
  const auto error_of = [this](std::string_view text, LoggedAction action, std::size_t keys) {
    const std::vector<LoggedKey> logged(keys, {.key = "k"});
    return std::string(Parse(text)->MayAsk({.action = action, .keys = logged}).message());
  };
  EXPECT_EQ(error_of("{key} 10/s 5/m", LoggedAction::kAllow, 32), "");
  EXPECT_EQ(error_of("{key} 10/s 5/m", LoggedAction::kAllow, 33),
            "with 33 keys --ask '{key} 10/s 5/m' has more than 64 limits");
  EXPECT_EQ(error_of("{key} 10/s AND all 5/m", LoggedAction::kAllow, 63), "");
  EXPECT_EQ(error_of("{key} 10/s AND all 5/m", LoggedAction::kAllow, 64),
            "with 64 keys --ask '{key} 10/s AND all 5/m' has more than 64 limits");
  EXPECT_EQ(error_of("{key} 10/s", LoggedAction::kWait, 1), "");
  EXPECT_EQ(error_of("{key} 10/s", LoggedAction::kWait, 2), "");
  for (const std::size_t keys : {1, 2}) {
    EXPECT_THAT(error_of("{key} 10/s,fixed", LoggedAction::kWait, keys),
                testing::HasSubstr("a window cannot be waited for"));
    EXPECT_THAT(error_of("{key} 10/s,keep=1", LoggedAction::kWait, keys),
                testing::HasSubstr("keep= does not stand in RL.WAIT"));
  }
  EXPECT_EQ(error_of("{key} 10/s,fixed", LoggedAction::kTake, 1), "");
  EXPECT_EQ(error_of("{key} 10/s OR all 5/m", LoggedAction::kAllow, 2), "");
  EXPECT_EQ(error_of("{key} 10/s OR all 5/m", LoggedAction::kReset, 1), "");
  for (const LoggedAction action :
       {LoggedAction::kTake, LoggedAction::kWait, LoggedAction::kCharge, LoggedAction::kRefund}) {
    EXPECT_EQ(error_of("{key} 10/s OR all 5/m", action, 1),
              "an --ask with OR asks what RL.ALLOW asks, and nothing else");
  }
}

TEST_F(QuestionTest, OtherTextsAreErrors) {
  EXPECT_EQ(ErrorOf(""), "--ask '': expected a key and a limit");
  EXPECT_EQ(ErrorOf("{key}"), "--ask '{key}': expected a limit as in 10/s after the key '{key}'");
  EXPECT_EQ(ErrorOf("{key} 10/x"),
            "--ask '{key} 10/x': invalid limit '10/x': unknown unit 'x' (us, ms, s, m, h, d, w, "
            "or day, week, month, year)");
  EXPECT_EQ(ErrorOf("{key} @paid"),
            "--ask '{key} @paid': unknown policy 'paid': the file of --policies does not have it");
  EXPECT_EQ(ErrorOf("{key} 10/s WITHLIMITS"),
            "--ask '{key} 10/s WITHLIMITS': WITHLIMITS and AT have no place here");
  EXPECT_EQ(ErrorOf("{key} 10/s AT 5"),
            "--ask '{key} 10/s AT 5': WITHLIMITS and AT have no place here");
  EXPECT_EQ(ErrorOf("{nokey} 5/s"),
            "--ask '{nokey} 5/s': unknown placeholder '{nokey}': known is {key}");
  for (const char* key : {"{}", "{key}:{ip}", "}{ip}", "{{ip}}", "{ip", "ip}", "{KEY}"}) {
    const bool is_text = std::string_view(key) == "{ip" || std::string_view(key) == "ip}";
    for (const char* before : {"", "{key} 5/s AND all 1/s AND "}) {
      const std::string error = ErrorOf(absl::StrCat(before, key, " 5/s"));
      EXPECT_EQ(error.find("unknown placeholder") != std::string::npos, !is_text) << key;
    }
  }
  EXPECT_THAT(ErrorOf("{key} 10/s UPTO 5"), testing::HasSubstr("unexpected 'UPTO'"));
  EXPECT_THAT(ErrorOf("\"{key} 10/s"), testing::HasSubstr("unbalanced quotes"));
}

}  // namespace
}  // namespace weir
