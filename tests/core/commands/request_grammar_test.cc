// Goal: the words of a request are parsed according to the grammar, and the error of an invalid
// request names the wrong word and what would be right. Method: examples for each rule, a table of
// bad requests, and random requests that are printed and read back.
#include "core/commands/request_grammar.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "core/policies/policies.h"
#include "core/table/hold.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/bad_requests.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

using testing::ElementsAre;

// Parses a request; owns its words and the result.
class RequestGrammarTest : public testing::Test {
 protected:
  const ParsedRequest& Parse(std::vector<std::string> words) {
    words_ = std::move(words);
    views_.assign(words_.begin(), words_.end());
    absl::StatusOr<ParsedRequest> parsed = ParseRequest(views_, memo_, KeyHashes(hasher_));
    WEIR_CHECK(parsed.ok());
    parsed_ = *std::move(parsed);
    WEIR_CHECK(parsed_.checks.size() == parsed_.limits.size());
    return parsed_;
  }
  const ParsedRequest& Parse(std::string_view line) {
    return Parse(bad_requests_internal::Words(line));
  }

  std::vector<std::string_view> Keys() const {
    std::vector<std::string_view> keys;
    for (const Check& check : parsed_.checks) keys.push_back(check.key);
    return keys;
  }
  std::vector<std::int64_t> Costs() const {
    std::vector<std::int64_t> costs;
    for (const Check& check : parsed_.checks) costs.push_back(check.cost);
    return costs;
  }
  std::vector<std::string> Limits() const {
    std::vector<std::string> limits;
    for (const Check& check : parsed_.checks) limits.push_back(LimitText(*check.limit));
    return limits;
  }

  const KeyHasher hasher_{HashSecret{}};

  LimitMemo memo_;
  std::vector<std::string> words_;
  std::vector<std::string_view> views_;
  ParsedRequest parsed_;
};

TEST_F(RequestGrammarTest, OneKeyAndItsLimits) {
  const ParsedRequest& request = Parse("user:42 10/s 1000/h");
  EXPECT_THAT(Keys(), ElementsAre("user:42", "user:42"));
  EXPECT_THAT(Limits(), ElementsAre("10/s", "1000/h"));
  EXPECT_THAT(Costs(), ElementsAre(1, 1));
  EXPECT_FALSE(request.with_limits);
  EXPECT_FALSE(request.at.has_value());
}

TEST_F(RequestGrammarTest, AndBeginsAnotherKey) {
  Parse("ip 100/s AND user 10/s 1000/h and tenant 1M/d And ip 100/s");
  EXPECT_THAT(Keys(), ElementsAre("ip", "user", "user", "tenant", "ip"));
  EXPECT_THAT(Limits(), ElementsAre("100/s", "10/s", "1000/h", "1M/d", "100/s"));
}

// A check's cost: its word's, else its group's, else 1.
TEST_F(RequestGrammarTest, CostsOfWordsAndGroups) {
  Parse("a 1/s COST 7");
  EXPECT_THAT(Costs(), ElementsAre(7));
  Parse("a 1/s 2/s,cost=5 3/s COST 7 AND b 4/s 5/s,cost=0 AND c 6/s COST 0");
  EXPECT_THAT(Costs(), ElementsAre(7, 5, 7, 1, 0, 0));
  Parse("a 1/s cost 9223372036854775807 AND b 1/s,cost=9223372036854775807 CoSt 1");
  EXPECT_THAT(Costs(), ElementsAre(INT64_MAX, INT64_MAX));
}

// A check keeps what its word says, else nothing; a group is a key of the command.
TEST_F(RequestGrammarTest, KeepsAndGroups) {
  Parse("a 1/s,keep=5 2/s COST 7 AND a 3/s,keep=0,cost=2 AND b 4/s,fixed,keep=9223372036854775807");
  EXPECT_THAT(
      parsed_.checks,
      ElementsAre(testing::Field(&Check::keep, 5), testing::Field(&Check::keep, 0),
                  testing::Field(&Check::keep, 0), testing::Field(&Check::keep, INT64_MAX)));
  EXPECT_THAT(
      (std::array{parsed_.GroupOf(0), parsed_.GroupOf(1), parsed_.GroupOf(2), parsed_.GroupOf(3)}),
      ElementsAre(0, 0, 1, 2));
}

TEST_F(RequestGrammarTest, AlternativesOfGroups) {
  const ParsedRequest& request = Parse("a 1/s AND b 1/s 2/s COST 2 OR a 3/s or c 1/s AND OR 1/s");
  EXPECT_THAT(Keys(), ElementsAre("a", "b", "b", "a", "c", "OR"));
  std::vector<std::size_t> alternatives;
  std::vector<std::uint32_t> groups;
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    alternatives.push_back(request.checks.AlternativeOf(i));
    groups.push_back(request.GroupOf(i));
  }
  EXPECT_THAT(alternatives, ElementsAre(0, 0, 0, 1, 2, 2));
  EXPECT_THAT(groups, ElementsAre(0, 1, 1, 2, 3, 4));
  EXPECT_THAT(Costs(), ElementsAre(1, 2, 2, 1, 1, 1));
  EXPECT_FALSE(Parse("OR 1/s AND OR 1/s").checks.has_alternatives());
}

// The memo must not keep options that belong to one request only.
TEST_F(RequestGrammarTest, AGroupsCostIsForgottenWithTheRequest) {
  Parse("a 1/s COST 7");
  Parse("a 1/s");
  EXPECT_THAT(Costs(), ElementsAre(1));
}

TEST_F(RequestGrammarTest, OptionsStandInAnyOrderAndCase) {
  for (const char* line : {"k 1/s WITHLIMITS AT 5", "k 1/s AT 5 WITHLIMITS",
                           "k 1/s withlimits at 5", "k 1/s At 5 WithLimits"}) {
    const ParsedRequest& request = Parse(line);
    EXPECT_TRUE(request.with_limits) << line;
    EXPECT_EQ(request.at, Instant{Nanos{5}}) << line;
  }
  EXPECT_EQ(Parse("k 1/s AT 0").at, Instant{});
  EXPECT_EQ(Parse("k 1/s AT " + std::to_string(kInstantMax.time_since_epoch().count())).at,
            kInstantMax);
  EXPECT_TRUE(Parse("k 1/s COST 2 AND k2 1/s COST 3 WITHLIMITS").with_limits);
}

// A key is recognised by its position.
TEST_F(RequestGrammarTest, KeysMaySpellKeywords) {
  Parse(
      "AND 1/s AND COST 2/s COST 3 AND WITHLIMITS 4/s AND AT 5/s AND 10/s 6/s AND  7/s WITHLIMITS "
      "AT 1");
  EXPECT_THAT(Keys(), ElementsAre("AND", "COST", "WITHLIMITS", "AT", "10/s", ""));
  EXPECT_THAT(Costs(), ElementsAre(1, 3, 1, 1, 1, 1));
  EXPECT_TRUE(parsed_.with_limits);
}

TEST_F(RequestGrammarTest, NamesComeFromTheWord) {
  const ParsedRequest& request = Parse("k 1000/24h 10/s,name=login,cost=2 10/s,burst=20,cost=3");
  std::vector<std::string> names;
  for (const CachedLimit* limit : request.limits) names.push_back(limit->name);
  EXPECT_THAT(names, ElementsAre("1000/d", "login", "10/s,burst=20"));
}

TEST_F(RequestGrammarTest, ViewsAndHintsAreTheCallersAndTheMemos) {
  const ParsedRequest& request = Parse("key 10/s 10/s,cost=2 AND key 10/s");
  EXPECT_EQ(request.checks[0].key.data(), words_[0].data());
  EXPECT_EQ(request.checks[2].key.data(), words_[4].data());
  EXPECT_EQ(request.checks[0].limit, &request.limits[0]->limit);
  // One word has one hint of its limit's id; another word has its own hint.
  EXPECT_NE(request.checks[0].hint, nullptr);
  EXPECT_EQ(request.checks[0].hint, request.checks[2].hint);
  EXPECT_NE(request.checks[0].hint, request.checks[1].hint);
}

// A limit that was read lately has a way of its own.
TEST_F(RequestGrammarTest, SecondReadingIsTheSame) {
  const auto parse = [this](std::string_view line, RequestKind kind) {
    words_ = bad_requests_internal::Words(line);
    views_.assign(words_.begin(), words_.end());
    return ParseRequest(views_, memo_, KeyHashes(hasher_), kind);
  };
  for (const std::string_view line :
       {"k 10/s", "k 10/s,cost=3,keep=2", "k 10/s,name=a,shadow", "cost 10/s", "k 1/h,fixed",
        "k unlimited", "k 5,held", "k cost", "k @none", "k 10", "k 10/s and"}) {
    for (const RequestKind kind : {RequestKind::kDecide, RequestKind::kChange, RequestKind::kLook,
                                   RequestKind::kTake, RequestKind::kReserve, RequestKind::kWait}) {
      const absl::StatusOr<ParsedRequest> first = parse(line, kind);
      static_cast<void>(parse(line, RequestKind::kLook));  // even if the first has failed
      const absl::StatusOr<ParsedRequest> second = parse(line, kind);
      ASSERT_EQ(first.status(), second.status()) << line;
      if (!first.ok()) continue;
      ASSERT_EQ(first->checks.size(), 1U);
      ASSERT_EQ(second->checks.size(), 1U);
      const Check& a = first->checks[0];
      const Check& b = second->checks[0];
      EXPECT_EQ(b.key, words_[0]);
      EXPECT_EQ(b.hash, hasher_(words_[0]));
      EXPECT_EQ(std::tuple(a.limit, a.cost, a.hint, a.keep),
                std::tuple(b.limit, b.cost, b.hint, b.keep))
          << line;
      EXPECT_EQ(first->limits, second->limits);
      EXPECT_EQ(second->GroupOf(0), 0U);
      EXPECT_FALSE(second->with_limits || second->at || second->checks.has_alternatives());
    }
  }
}

// A policy may have several limits, and others for one key, so its word alone decides nothing.
TEST(RequestGrammarPoliciesTest, SecondReadingLooksForOverrides) {
  const KeyHasher hasher{HashSecret{}};
  Policies policies;
  LimitMemo memo(&policies);
  ASSERT_TRUE(policies.Set("p", LimitsOf({"10/s", "100/m"})).ok());
  ASSERT_TRUE(policies.Override("p", "l", LimitsOf({"7/s"})).ok());
  for (const auto& [key, limits] :
       std::vector<std::pair<std::string_view, std::size_t>>{{"k", 2}, {"l", 1}, {"k", 2}}) {
    const std::array<std::string_view, 2> words = {key, "@p"};
    const absl::StatusOr<ParsedRequest> parsed = ParseRequest(words, memo, KeyHashes(hasher));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed->checks.size(), limits) << key;
  }
}

TEST_F(RequestGrammarTest, SixtyFourChecksAreARequest) {
  EXPECT_EQ(Parse(bad_requests_internal::ManyLimits(kChecksMax)).checks.size(), kChecksMax);
  EXPECT_EQ(Parse(bad_requests_internal::ManyGroups(kChecksMax / 2)).checks.size(), kChecksMax);
}

TEST_F(RequestGrammarTest, InvalidRequestsSayWhy) {
  for (const BadRequest& bad : BadRequests()) {
    const std::vector<std::string_view> words(bad.words.begin(), bad.words.end());
    const absl::StatusOr<ParsedRequest> parsed = ParseRequest(words, memo_, KeyHashes(hasher_));
    ASSERT_FALSE(parsed.ok()) << testing::PrintToString(bad.words);
    EXPECT_EQ(StdView(parsed.status().message()), bad.error);
  }
}

TEST_F(RequestGrammarTest, AnUnknownPolicyIsNotInvalid) {
  const std::vector<std::string_view> words = {"k", "@free"};
  EXPECT_EQ(ParseRequest(words, memo_, KeyHashes(hasher_)).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ParseLimits("k", std::span(words).subspan(1), memo_).status().code(),
            absl::StatusCode::kNotFound);
}

// The arity of every command refuses a key alone; the grammar has an error of its own for it.
TEST_F(RequestGrammarTest, AKeyAloneIsNoRequest) {
  const std::vector<std::string_view> words = {"k"};
  EXPECT_EQ(StdView(ParseRequest(words, memo_, KeyHashes(hasher_)).status().message()),
            "expected a limit as in 10/s after the key 'k'");
}

TEST_F(RequestGrammarTest, LimitsAlone) {
  EXPECT_TRUE(ParseLimits("k", {}, memo_)->empty());
  const std::vector<std::string_view> words = {"10/s", "1000/24h,name=x,cost=5", "10/s"};
  const auto limits = ParseLimits("k", words, memo_);
  ASSERT_TRUE(limits.ok());
  EXPECT_THAT(*limits, ElementsAre(LimitOf("10/s"), LimitOf("1000/d"), LimitOf("10/s")));
}

TEST_F(RequestGrammarTest, LimitsAloneAreCapped) {
  const std::vector<std::string> many = bad_requests_internal::ManyLimits(kChecksMax + 1);
  const std::vector<std::string_view> words(many.begin() + 1, many.end());
  EXPECT_TRUE(ParseLimits("k", std::span(words).first(kChecksMax), memo_).ok());
  EXPECT_EQ(StdView(ParseLimits("k", words, memo_).status().message()),
            "too many limits: at most 64");
  const std::vector<std::string_view> keyword = {"10/s", "COST", "5"};
  EXPECT_EQ(StdView(ParseLimits("k", keyword, memo_).status().message()),
            "invalid limit 'COST': expected count/period, as in 10/s");
}

// --- Holds ---

class HoldGrammarTest : public RequestGrammarTest {
 protected:
  absl::StatusOr<ParsedRequest> Read(std::string_view line, RequestKind kind) {
    words_ = bad_requests_internal::Words(line);
    views_.assign(words_.begin(), words_.end());
    return ParseRequest(views_, memo_, KeyHashes(hasher_), kind);
  }
  AskedHold HoldOf(std::string_view line, RequestKind kind = RequestKind::kReserve) {
    const absl::StatusOr<ParsedRequest> read = Read(line, kind);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->hold : AskedHold{};
  }
  std::string ErrorOf(std::string_view line, RequestKind kind) {
    return std::string(Read(line, kind).status().message());
  }
};

TEST_F(HoldGrammarTest, ReservationHasAnIdAndATime) {
  const AskedHold hold = HoldOf("k 10/s 5,held HOLD req-81 TTL 86400000");
  EXPECT_EQ(hold.id, "req-81");
  EXPECT_EQ(hold.ttl, kHoldMax);
  EXPECT_EQ(HoldOf("k 10/s ttl 1 withlimits hold AND").id, "AND");
  EXPECT_EQ(HoldOf("k 10/s UPTO 5 HOLD id TTL 1", RequestKind::kTake).ttl,
            std::chrono::milliseconds{1});
  EXPECT_EQ(HoldOf("k 10/s UPTO 5", RequestKind::kTake).id, "");
}

// Law: the hash tells apart keys, limits, costs and UPTO, and nothing else of a request.
TEST_F(HoldGrammarTest, HashIsThatOfTheWordsBeforeTheOptions) {
  const std::uint64_t words = HoldOf("k 10/s 5/m COST 3 HOLD a TTL 5").words;
  EXPECT_EQ(HoldOf("k 10/s 5/m COST 3 TTL 900 AT 7 WITHLIMITS HOLD b").words, words);
  for (const char* other :
       {"l 10/s 5/m COST 3", "k 10/s 5/m COST 4", "k 10/s 5/m", "k 5/m 10/s COST 3",
        "k 10/s,cost=3 5/m,cost=3", "k 10/s AND 5/m 5/m COST 3"}) {
    EXPECT_NE(HoldOf(std::string(other) + " HOLD a TTL 5").words, words) << other;
  }
  const auto taken = [&](const std::string& upto) {
    return HoldOf("k 10/s 5/m COST 3 HOLD a TTL 5 UPTO " + upto, RequestKind::kTake).words;
  };
  EXPECT_EQ(taken("5"), taken("5"));
  EXPECT_NE(taken("5"), taken("6"));
  EXPECT_NE(taken("5"), words);
}

TEST_F(HoldGrammarTest, AlternativesAreForDecisionsLooksAndReservations) {
  EXPECT_TRUE(Read("k 1/s OR l 1/s", RequestKind::kDecide).ok());
  EXPECT_TRUE(Read("k 1/s OR l 1/s", RequestKind::kLook).ok());
  EXPECT_NE(HoldOf("k 1/s OR l 1/s HOLD OR TTL 5").words,
            HoldOf("k 1/s AND l 1/s HOLD OR TTL 5").words);
  const std::string error = "OR stands in RL.ALLOW, RL.PEEK and RL.RESERVE only: name what was won";
  for (const RequestKind kind : {RequestKind::kChange, RequestKind::kTake, RequestKind::kWait}) {
    EXPECT_EQ(ErrorOf("k 1/s OR l 1/s UPTO 1 TIMEOUT 5", kind), error);
  }
}

TEST_F(HoldGrammarTest, HeldLimitsAreForHoldsAndLooks) {
  const std::string error = "a held limit needs RL.RESERVE";
  EXPECT_EQ(ErrorOf("k 10/s 5,held", RequestKind::kDecide), error);
  EXPECT_EQ(ErrorOf("k 10/s 5,held TIMEOUT 5", RequestKind::kWait), error);
  EXPECT_EQ(ErrorOf("k 10/s 5,held UPTO 5", RequestKind::kTake), error);
  EXPECT_TRUE(Read("k 10/s 5,held", RequestKind::kLook).ok());
  EXPECT_TRUE(Read("k 10/s 5,held UPTO 5 HOLD id TTL 5", RequestKind::kTake).ok());
}

TEST_F(HoldGrammarTest, MistakesAreNamed) {
  const std::string missing = "RL.RESERVE needs HOLD id TTL milliseconds";
  EXPECT_EQ(ErrorOf("k 10/s", RequestKind::kReserve), missing);
  EXPECT_EQ(ErrorOf("k 10/s HOLD id", RequestKind::kReserve), missing);
  EXPECT_EQ(ErrorOf("k 10/s TTL 5", RequestKind::kReserve), missing);
  const std::string of_take = "RL.TAKE with a hold needs HOLD id TTL milliseconds";
  EXPECT_EQ(ErrorOf("k 10/s UPTO 1 HOLD id", RequestKind::kTake), of_take);
  EXPECT_EQ(ErrorOf("k 10/s UPTO 1 TTL 5", RequestKind::kTake), of_take);
  EXPECT_EQ(ErrorOf("k 10/s TTL 5 HOLD", RequestKind::kReserve), "HOLD needs an id after it");
  EXPECT_EQ(ErrorOf("k 10/s HOLD id TTL", RequestKind::kReserve), "TTL needs a number after it");
  for (const std::string ttl : {"0", "-1", "86400001", "1s"}) {
    EXPECT_EQ(ErrorOf("k 10/s HOLD id TTL " + ttl, RequestKind::kReserve),
              "invalid TTL '" + ttl + "': value is not an integer or out of range (1 to 86400000)");
  }
  const std::string longest(64, 'x');
  EXPECT_EQ(HoldOf("k 10/s HOLD " + longest + " TTL 5").id, longest);
  EXPECT_EQ(ErrorOf("k 10/s HOLD x" + longest + " TTL 5", RequestKind::kReserve),
            "invalid HOLD 'x" + longest + "': an id has 1 to 64 bytes");
  EXPECT_EQ(ErrorOf("k 10/s HOLD a HOLD b TTL 5", RequestKind::kReserve),
            "unexpected 'HOLD': after the limits of a key come COST once, then AND or OR "
            "key limit ..., "
            "then HOLD, TTL, WITHLIMITS and AT once each");
}

// A random request reads back as the request that was printed.
TEST_F(RequestGrammarTest, ReadsBackWhatWasPrinted) {
  CheckLaw(1000, [this] {
    const std::vector<std::string> key_choices = {
        "k", "", "AND", "cost", "AT", "WITHLIMITS", "10/s", std::string("\0\r\n", 3)};
    std::vector<std::string> words;
    std::vector<std::string> keys;
    std::vector<std::string> limits;
    std::vector<std::int64_t> costs;
    const int groups = *Between(1, 8);
    for (int group = 0; group < groups; ++group) {
      if (group > 0) words.push_back(*rc::gen::element<std::string>("AND", "and", "aNd"));
      words.push_back(*rc::gen::elementOf(key_choices));
      const std::string key = words.back();
      const auto group_cost = *rc::gen::maybe(NumberUpTo(INT64_MAX));
      for (int i = *Between(1, 8); i > 0; --i) {
        const auto cost = *rc::gen::maybe(NumberUpTo(INT64_MAX));
        limits.push_back(LimitText(*NotableLimit()));
        words.push_back(limits.back() + (cost ? ",cost=" + std::to_string(*cost) : ""));
        keys.push_back(key);
        costs.push_back(cost ? *cost : group_cost ? *group_cost : 1);
      }
      if (group_cost)
        words.insert(words.end(),
                     {*rc::gen::element<std::string>("COST", "cost"), std::to_string(*group_cost)});
    }
    const bool with_limits = *rc::gen::arbitrary<bool>();
    if (with_limits) words.push_back("WITHLIMITS");
    const ParsedRequest& request = Parse(words);
    RC_ASSERT(Keys() == std::vector<std::string_view>(keys.begin(), keys.end()));
    RC_ASSERT(Limits() == limits);
    RC_ASSERT(Costs() == costs);
    RC_ASSERT(request.with_limits == with_limits);
  });
}

}  // namespace
}  // namespace weir
