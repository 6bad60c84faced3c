// Goal: the words of RL.COMMIT and RL.CANCEL are parsed according to the grammar, and the error of
// an invalid one names the wrong word and what would be right. Method: examples for each rule, and
// a table of mistakes.
#include "core/commands/settlement_grammar.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/rules/limit.h"
#include "core/words/limit_grammar.h"
#include "tests/support/bad_requests.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

using testing::ElementsAre;

// Owns the words and the result.
class SettlementGrammarTest : public testing::Test {
 protected:
  absl::StatusOr<ParsedSettlement> Read(const std::vector<std::string>& words,
                                        SettlementKind kind) {
    words_ = words;
    views_.assign(words_.begin(), words_.end());
    return ParseSettlement(views_, memo_, policies_, KeyHashes(hasher_), kind);
  }
  const ParsedSettlement& Commit(std::string_view line) {
    absl::StatusOr<ParsedSettlement> read =
        Read(bad_requests_internal::Words(line), SettlementKind::kCommit);
    WEIR_CHECK(read.ok());
    parsed_ = *std::move(read);
    return parsed_;
  }
  std::string ErrorOf(std::string_view line, SettlementKind kind = SettlementKind::kCommit) {
    return std::string(Read(bad_requests_internal::Words(line), kind).status().message());
  }

  std::vector<std::string_view> Keys() const {
    std::vector<std::string_view> keys;
    for (const SettledKey& key : parsed_.keys) keys.push_back(key.key.text);
    return keys;
  }
  std::vector<std::optional<std::int64_t>> CostsOfKeys() const {
    std::vector<std::optional<std::int64_t>> costs;
    for (const SettledKey& key : parsed_.keys) costs.push_back(key.cost);
    return costs;
  }
  std::vector<std::optional<std::int64_t>> CostsOfNamed() const {
    std::vector<std::optional<std::int64_t>> costs;
    for (const TrueCost& named : parsed_.named) costs.push_back(named.cost);
    return costs;
  }

  const KeyHasher hasher_{HashSecret{}};
  Policies policies_;
  LimitMemo memo_{&policies_};
  std::vector<std::string> words_;
  std::vector<std::string_view> views_;
  ParsedSettlement parsed_;
};

TEST_F(SettlementGrammarTest, KeyAloneSettlesAsReserved) {
  const ParsedSettlement& settlement = Commit("team:7 HOLD req-81");
  EXPECT_EQ(settlement.id, "req-81");
  EXPECT_THAT(Keys(), ElementsAre("team:7"));
  EXPECT_THAT(CostsOfKeys(), ElementsAre(std::nullopt));
  EXPECT_TRUE(settlement.named.empty());
  EXPECT_FALSE(settlement.with_limits);
  EXPECT_FALSE(settlement.at.has_value());
  EXPECT_EQ(settlement.keys[0].key.hash, hasher_("team:7"));
}

TEST_F(SettlementGrammarTest, CostWithoutLimitsIsForAllOfTheKey) {
  Commit("a COST 7 AND b AND c 10/s COST 3 HOLD id");
  EXPECT_THAT(Keys(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(CostsOfKeys(), ElementsAre(7, std::nullopt, std::nullopt));
  EXPECT_THAT(CostsOfNamed(), ElementsAre(3));
}

TEST_F(SettlementGrammarTest, CostOfAWordPrecedesThatOfItsGroup) {
  Commit("a 10/s 100/m,cost=5 1000/h,cost=0 COST 7 AND b 10/s HOLD id");
  EXPECT_THAT(CostsOfNamed(), ElementsAre(7, 5, 0, std::nullopt));
  EXPECT_THAT(parsed_.names, ElementsAre("10/s", "100/m", "1000/h", "10/s"));
}

TEST_F(SettlementGrammarTest, CostPassesOverHeldLimits) {
  Commit("a 5,held 10/s COST 7 HOLD id");
  EXPECT_THAT(CostsOfNamed(), ElementsAre(std::nullopt, 7));
}

TEST_F(SettlementGrammarTest, NameIsTheLabelOrElseTheText) {
  ASSERT_TRUE(policies_.Set("p", LimitsOf({"10/s"})).ok());
  Commit("a 60/60s,name=login,cost=3 60/60s @p @p,name=x HOLD id");
  EXPECT_THAT(parsed_.names, ElementsAre("login", "60/m", "@p", "x"));
}

TEST_F(SettlementGrammarTest, KeyInSeveralGroupsIsOneKey) {
  Commit("a 10/s AND b AND a 100/m,cost=2 HOLD id");
  EXPECT_THAT(Keys(), ElementsAre("a", "b"));
  EXPECT_EQ(parsed_.named[1].key.hash, hasher_("a"));
}

TEST_F(SettlementGrammarTest, PolicyIsFoundByNameEvenIfItIsRetired) {
  const absl::Status made = policies_.ReplaceFile({{"p", LimitsOf({"10/s"})}}).status();
  ASSERT_TRUE(made.ok()) << made;
  const PolicyId id = policies_.Find("p")->id;
  ASSERT_TRUE(policies_.ReplaceFile({}).ok());
  Commit("a @p,cost=4 HOLD id");
  EXPECT_EQ(parsed_.named[0].policy, id);
  EXPECT_EQ(parsed_.named[0].limit, nullptr);
  EXPECT_EQ(parsed_.named[0].cost, 4);
}

TEST_F(SettlementGrammarTest, OptionsStandInAnyOrderAndCase) {
  for (const char* line : {"k HOLD id WITHLIMITS AT 5", "k at 5 hold id withlimits",
                           "k 1/s COST 2 WithLimits At 5 Hold id"}) {
    const ParsedSettlement& settlement = Commit(line);
    EXPECT_EQ(settlement.id, "id") << line;
    EXPECT_TRUE(settlement.with_limits) << line;
    EXPECT_EQ(settlement.at, Instant{Nanos{5}}) << line;
  }
}

TEST_F(SettlementGrammarTest, KeysAndIdsMaySpellKeywords) {
  Commit("AND AND HOLD AND COST COST 3 HOLD HOLD");
  EXPECT_THAT(Keys(), ElementsAre("AND", "HOLD", "COST"));
  EXPECT_THAT(CostsOfKeys(), ElementsAre(std::nullopt, std::nullopt, 3));
  EXPECT_EQ(parsed_.id, "HOLD");
  EXPECT_EQ(Commit("k HOLD AND").id, "AND");
  EXPECT_EQ(Commit("k HOLD OR").id, "OR");
}

TEST_F(SettlementGrammarTest, NamesWhatWasWon) {
  for (const SettlementKind kind : {SettlementKind::kCommit, SettlementKind::kCancel}) {
    EXPECT_EQ(Read({"a", "OR", "b", "HOLD", "id"}, kind).status().message(),
              "OR stands in RL.ALLOW, RL.PEEK and RL.RESERVE only: name what was won");
  }
}

TEST_F(SettlementGrammarTest, CancelTakesKeysOnly) {
  const absl::StatusOr<ParsedSettlement> read =
      Read({"a", "AND", "b", "HOLD", "id"}, SettlementKind::kCancel);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->keys.size(), 2U);
  EXPECT_EQ(read->keys[0].cost, 0);
  EXPECT_EQ(read->keys[1].cost, 0);
  const std::string after =
      ": after a key come AND key ..., then HOLD, WITHLIMITS and AT once each";
  EXPECT_EQ(ErrorOf("a 10/s HOLD id", SettlementKind::kCancel), "unexpected '10/s'" + after);
  EXPECT_EQ(ErrorOf("a COST 1 HOLD id", SettlementKind::kCancel), "unexpected 'COST'" + after);
}

TEST_F(SettlementGrammarTest, MistakesAreNamed) {
  const std::string after =
      ": after the limits of a key come COST once, then AND key [limit ...] ..., then HOLD, "
      "WITHLIMITS and AT once each";
  const std::string id_rule = ": an id has 1 to 64 bytes";
  ASSERT_TRUE(policies_.Set("golden", LimitsOf({"1/s"})).ok());
  for (const auto& [line, error] : std::vector<std::pair<std::string, std::string>>{
           {"k", "RL.COMMIT needs HOLD id"},
           {"k 10/s WITHLIMITS", "RL.COMMIT needs HOLD id"},
           {"k HOLD", "HOLD needs an id after it"},
           {"k HOLD " + std::string(65, 'x'),
            "invalid HOLD '" + std::string(65, 'x') + "'" + id_rule},
           {"k AND", "expected a key after AND"},
           {"k COST 1 COST 2 HOLD id", "unexpected 'COST'" + after},
           {"k COST 1 AND k COST 2 HOLD id", "COST of the key 'k' is given twice"},
           {"k HOLD id HOLD id", "unexpected 'HOLD'" + after},
           {"k HOLD id TTL 5", "unexpected 'TTL'" + after},
           {"k HOLD id AND l", "unexpected 'AND'" + after},
           {"k COST x HOLD id",
            "invalid COST 'x': value is not an integer or out of range (0 to "
            "9223372036854775807)"},
           {"k 10/x HOLD id",
            "invalid limit '10/x': unknown unit 'x' (us, ms, s, m, h, d, w, or day, week, month, "
            "year)"},
           {"k 10 60 HOLD id",
            "invalid limit '10': expected count/period, as in 10/s: did you mean 10/60s?"},
           {"k 10 HOLD 60", "invalid limit '10': expected count/period, as in 10/s"},
           {"k @nosuch HOLD id", "unknown policy 'nosuch': RL.POLICY SET makes one"},
           {"k @goldn HOLD id",
            "unknown policy 'goldn': did you mean @golden? RL.POLICY SET makes one"},
           {"k @p,burst=4 HOLD id",
            "invalid limit '@p,burst=4': unknown option 'burst=4' (cost=, keep=, shadow, name=)"},
       }) {
    EXPECT_EQ(ErrorOf(line), error) << line;
  }
  EXPECT_EQ(Read({"k", "HOLD", ""}, SettlementKind::kCommit).status().message(),
            "invalid HOLD ''" + id_rule);
}

TEST_F(SettlementGrammarTest, KeysAndLimitsAreBounded) {
  std::vector<std::string> keys = {"k0"};
  for (std::size_t i = 1; i < kChecksMax; ++i) {
    keys.insert(keys.end(), {"AND", "k" + std::to_string(i)});
  }
  std::vector<std::string> too_many = keys;
  keys.insert(keys.end(), {"HOLD", "id"});
  EXPECT_TRUE(Read(keys, SettlementKind::kCancel).ok());
  too_many.insert(too_many.end(), {"AND", "more", "HOLD", "id"});
  EXPECT_EQ(Read(too_many, SettlementKind::kCancel).status().message(),
            "too many keys: a hold has at most 64");
  std::vector<std::string> limits = bad_requests_internal::ManyLimits(kChecksMax + 1);
  limits.insert(limits.end(), {"HOLD", "id"});
  EXPECT_EQ(Read(limits, SettlementKind::kCommit).status().message(),
            "too many limits: a request has at most 64");
}

}  // namespace
}  // namespace weir
