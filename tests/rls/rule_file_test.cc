// Goal: a file of rules is read as envoyproxy/ratelimit reads it, with weir's own keys, and each
// mistake has its line and a text. Method: files, and a table of mistakes.
#include "rls/rule_file.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/rls/metadata_text.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RuleFile Read(std::string_view text) {
  absl::StatusOr<RuleFile> file = ParseRuleFile(text, "a.yaml");
  EXPECT_TRUE(file.ok()) << file.status() << "\n" << text;
  return file.ok() ? *std::move(file) : RuleFile();
}

std::string ErrorOf(std::string_view text) {
  const absl::StatusOr<RuleFile> file = ParseRuleFile(text, "a.yaml");
  return file.ok() ? "no error" : std::string(StdView(file.status().message()));
}

// A file of one rule with this limit, which begins in line 4.
std::string WithLimit(std::string_view limit) {
  return absl::StrCat("domain: d\ndescriptors:\n- key: a\n  rate_limit: ", AbslView(limit), "\n");
}

// The words of the limits of that rule.
std::vector<std::string> LimitsOf(std::string_view limit) {
  const RuleFile file = Read(WithLimit(limit));
  std::vector<std::string> words;
  for (const PolicyLimit& read : file.rules.at(0).limit->limits) {
    words.push_back(PolicyLimitText(read));
  }
  return words;
}

TEST(RuleFileTest, AFileIsRead) {
  const RuleFile file = Read(R"(
domain: shop
descriptors:
  - key: user
    rate_limit:
      unit: minute
      requests_per_unit: 20
      name: users
      replaces: [{name: all}, {name: none}]
    shadow_mode: true
    descriptors:
      - key: 'path'
        value: /api/*
        share_threshold: yes
        detailed_metric: On
  - {key: 404, value: 8.50, quota_mode: true, value_to_metric: TRUE}
)");
  EXPECT_EQ(file.path, "a.yaml");
  EXPECT_EQ(file.domain, "shop");
  EXPECT_EQ(file.domain_line, 2U);
  EXPECT_FALSE(file.on_no_match || file.hits);
  ASSERT_EQ(file.rules.size(), 3U);
  const Rule& user = file.rules[0];
  EXPECT_EQ(user.line, 4U);
  EXPECT_EQ(user.parent, Rule::kNoParent);
  EXPECT_EQ(user.key, "user");
  EXPECT_EQ(user.value, "");
  EXPECT_TRUE(user.shadow_mode && !user.quota_mode && !user.share_threshold);
  EXPECT_EQ(user.limit->unit, RuleUnit::kMinute);
  EXPECT_EQ(user.limit->requests_per_unit, 20U);
  EXPECT_EQ(user.limit->unit_multiplier, 1U);
  EXPECT_EQ(user.limit->name, "users");
  EXPECT_THAT(user.limit->replaces, ElementsAre("all", "none"));
  const Rule& path = file.rules[1];
  EXPECT_EQ(path.line, 12U);
  EXPECT_EQ(path.parent, 0U);
  EXPECT_EQ(path.value, "/api/*");
  EXPECT_TRUE(path.share_threshold && path.detailed_metric && !path.limit);
  const Rule& number = file.rules[2];
  EXPECT_EQ(number.key + "=" + number.value, "404=8.50");  // a scalar is its text
  EXPECT_TRUE(number.quota_mode && number.value_to_metric);
  EXPECT_THAT(file.remarks, IsEmpty());
}

TEST(RuleFileTest, NullIsAMissingKey) {
  const RuleFile file = Read(
      "domain: d\ndescriptors:\n- {key: a, value: , rate_limit: ~, descriptors: null, "
      "shadow_mode: , metadata: ~}\n- {key: b, value: '', rate_limit: {unit: day, limits: ~}}\n");
  EXPECT_EQ(file.rules[0].value, "");
  EXPECT_FALSE(file.rules[0].limit);
  EXPECT_TRUE(file.rules[1].limit);
  EXPECT_THAT(Read("domain: d\n").rules, IsEmpty());
  EXPECT_THAT(Read("domain: d\ndescriptors:\n").rules, IsEmpty());
}

TEST(RuleFileTest, AliasesAndMergesAreRead) {
  const RuleFile file = Read(R"(
domain: d
descriptors:
  - key: a
    rate_limit: &limit {unit: day, requests_per_unit: 1, name: x}
    descriptors: &below [{key: c}]
  - key: b
    rate_limit: {<<: *limit, name: y}
    descriptors: *below
)");
  ASSERT_EQ(file.rules.size(), 4U);
  EXPECT_EQ(file.rules[2].limit->name, "y");
  EXPECT_EQ(file.rules[2].limit->limits.front().limit.shape().count, 1);
  EXPECT_EQ(file.rules[3].key, "c");
  EXPECT_EQ(file.rules[3].parent, 2U);
}

// --- Limits ---

TEST(RuleFileTest, APlainNumberIsAnAlignedWindow) {
  EXPECT_THAT(LimitsOf("{unit: second, requests_per_unit: 5}"), ElementsAre("5/s,fixed,aligned"));
  EXPECT_THAT(LimitsOf("{unit: MINUTE, requests_per_unit: 5}"), ElementsAre("5/m,fixed,aligned"));
  EXPECT_THAT(LimitsOf("{unit: Hour, requests_per_unit: 5}"), ElementsAre("5/h,fixed,aligned"));
  EXPECT_THAT(LimitsOf("{unit: day, requests_per_unit: 5}"), ElementsAre("5/d,fixed,aligned"));
  EXPECT_THAT(LimitsOf("{unit: week, requests_per_unit: 5}"), ElementsAre("5/w,fixed,aligned"));
  EXPECT_THAT(LimitsOf("{unit: month, requests_per_unit: 5}"), ElementsAre("5/30d,fixed,aligned"));
  EXPECT_THAT(LimitsOf("{unit: year, requests_per_unit: 5}"), ElementsAre("5/365d,fixed,aligned"));
  EXPECT_THAT(LimitsOf("{unit: day, requests_per_unit: 0}"), ElementsAre("none"));
  EXPECT_THAT(LimitsOf("{unit: day}"), ElementsAre("none"));
  EXPECT_THAT(LimitsOf("{unlimited: true}"), ElementsAre("unlimited"));
  EXPECT_THAT(LimitsOf("{unlimited: true, requests_per_unit: 7}"), ElementsAre("unlimited"));
  EXPECT_THAT(LimitsOf("{unlimited: false, unit: day, requests_per_unit: 7}"),
              ElementsAre("7/d,fixed,aligned"));
}

TEST(RuleFileTest, AGreatNumberIsShownAsWrittenAndDecidedAsTheGreatestOfAWindow) {
  const RuleFile file = Read(WithLimit("{unit: day, requests_per_unit: 4294967295}"));
  EXPECT_EQ(file.rules[0].limit->requests_per_unit, 4'294'967'295U);
  EXPECT_EQ(file.rules[0].limit->limits[0].limit.shape().count, 2'147'483'647);
}

TEST(RuleFileTest, WeirsOwnKeysMakeOtherLimits) {
  EXPECT_THAT(LimitsOf("{unit: minute, unit_multiplier: 5, requests_per_unit: 10}"),
              ElementsAre("10/5m,fixed,aligned"));
  EXPECT_THAT(LimitsOf("{unit: month, unit_multiplier: 3, requests_per_unit: 10}"),
              ElementsAre("10/90d,fixed,aligned"));
  EXPECT_THAT(LimitsOf("{unit: year, unit_multiplier: 9, requests_per_unit: 1}"),
              ElementsAre("1/3285d,fixed,aligned"));
  EXPECT_THAT(LimitsOf("{unit: minute, requests_per_unit: 3, algorithm: bucket}"),
              ElementsAre("3/m"));
  EXPECT_THAT(LimitsOf("{unit: minute, requests_per_unit: 3, algorithm: bucket, burst: 9}"),
              ElementsAre("3/m,burst=9"));
  EXPECT_THAT(LimitsOf("{unit: minute, requests_per_unit: 3, algorithm: sliding}"),
              ElementsAre("3/m,sliding"));
  EXPECT_THAT(LimitsOf("{unit: minute, requests_per_unit: 3, algorithm: fixed}"),
              ElementsAre("3/m,fixed,aligned"));
  EXPECT_THAT(LimitsOf("{limits: [10/s, '1000/h,keep=5', '5/day,tz=UTC']}"),
              ElementsAre("10/s", "1000/h,keep=5", "5/day"));
  const RuleFile file = Read("domain: d\non_no_match: deny\nhits: ask\n");
  EXPECT_EQ(file.on_no_match, OnNoMatch::kDeny);
  EXPECT_EQ(file.hits, HitsWay::kAsk);
  EXPECT_EQ(Read("domain: d\non_no_match: ok\nhits: report\n").hits, HitsWay::kReport);
}

// --- Metadata ---

std::string MetadataOf(std::string_view text) {
  const RuleFile file =
      Read(absl::StrCat("domain: d\ndescriptors:\n- key: a\n  metadata: ", AbslView(text), "\n"));
  return TextOf(Metadata{.value = file.rules.at(0).metadata});
}

TEST(RuleFileTest, MetadataHasTheTypesOfYaml) {
  EXPECT_EQ(
      MetadataOf("{a: ~, b: yes, c: 'yes', d: 1.5, e: '1.5', f: x, g: [1, {h: off}], 4: -2e1}"),
      "{a=null;b=true;c=\"yes\";d=1.5;e=\"1.5\";f=\"x\";g=[1;{h=false;};];4=-20;}");
}

TEST(RuleFileTest, WhatIsNoNumberIsAText) {
  EXPECT_EQ(MetadataOf("{a: [1.2.3, +5, 1e999, nan, .inf, -, ., 0x1f, .5, e5, !!str 7, 1 2]}"),
            "{a=[\"1.2.3\";5;\"1e999\";\"nan\";\".inf\";\"-\";\".\";\"0x1f\";0.5;\"e5\";\"7\";"
            "\"1 2\";];}");
}

TEST(RuleFileTest, MetadataIsBounded) {
  const auto nested = [](int levels) {
    std::string text;
    for (int i = 1; i < levels; ++i) text += "{a: ";
    text += "{}" + std::string(static_cast<std::size_t>(levels - 1), '}');
    return text;
  };
  EXPECT_THAT(MetadataOf(nested(kMetadataLevelsMax)), HasSubstr("a={};"));
  const std::string begin = "domain: d\ndescriptors:\n- key: a\n  metadata: ";
  EXPECT_EQ(ErrorOf(begin + nested(kMetadataLevelsMax + 1)),
            "a.yaml:4: metadata is more than 16 deep");
  EXPECT_EQ(ErrorOf(begin + "&a {x: *a}"), "a.yaml:4: metadata is more than 16 deep");
  EXPECT_EQ(ErrorOf(begin + "\n    a: " + std::string(kMetadataBytesMax, 'x')),
            "a.yaml:5: metadata has more than 16384 bytes");
  EXPECT_EQ(ErrorOf(begin + "{a: " + std::string(kMetadataBytesMax - 9, 'x') + "}"), "no error");
  EXPECT_EQ(ErrorOf(begin + "[a]"), "a.yaml:4: expected a map, got a list");
}

// --- Mistakes ---

struct Mistake {
  std::string text;
  std::string_view error;  // behind "a.yaml:"
};

void CheckMistakes(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    EXPECT_EQ(ErrorOf(mistake.text), "a.yaml:" + std::string(mistake.error)) << mistake.text;
  }
}

TEST(RuleFileTest, MistakesOfAFile) {
  CheckMistakes({
      {"", "1: domain is missing or empty"},
      {"# nothing\n", "1: domain is missing or empty"},
      {"\ndescriptors: []\n", "2: domain is missing or empty"},
      {"domain: ''\n", "1: domain is missing or empty"},
      {"domain:\n", "1: domain is missing or empty"},
      {"a\n", "1: expected a map, got 'a'"},
      {"- domain: d\n", "1: expected a map, got a list"},
      {"domain: [d]\n", "1: expected a text, got a list"},
      {"domain: d\n b: c\n", "2: not YAML: illegal map value"},
      {"domain: d\n---\ndomain: e\n", "2: a second document"},
      {"domain: d\ndomain: e\n", "2: key 'domain' stands twice"},
      {"domain: d\nlimits: []\n",
       "2: unknown key 'limits' (domain, descriptors, on_no_match, hits)"},
      {"domain: d\ndescriptors: a\n", "2: expected a list, got 'a'"},
      {"domain: d\ndescriptors:\n- a\n", "3: expected a map, got 'a'"},
      {"domain: d\non_no_match: no\n", "2: on_no_match 'no': ok or deny"},
      {"domain: d\nhits: charge\n", "2: hits 'charge': report or ask"},
      {"domain: " + std::string(256, 'd'),
       "1: "
       "'dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
       "dddddddddddddddddddddddddddddddddddddddd...' has more than 255 bytes"},
  });
  EXPECT_EQ(ErrorOf("domain: " + std::string(255, 'd')), "no error");
}

TEST(RuleFileTest, MistakesOfADescriptor) {
  const std::string begin = "domain: d\ndescriptors:\n";
  CheckMistakes({
      {begin + "- value: x\n", "3: a descriptor has no key"},
      {begin + "- key: ''\n", "3: a descriptor has no key"},
      {begin + "-\n", "4: expected a map, got null"},
      {begin + "- key: a\n  ratelimit: {}\n",
       "4: unknown key 'ratelimit' (key, value, rate_limit, descriptors, shadow_mode, quota_mode, "
       "detailed_metric, value_to_metric, share_threshold, metadata)"},
      {begin + "- key: a\n  value: [b]\n", "4: expected a text, got a list"},
      {begin + "- key: a\n  shadow_mode: maybe\n", "4: shadow_mode 'maybe': true or false"},
      {begin + "- key: a\n  value: b\n  share_threshold: true\n",
       "5: share_threshold needs a '*' in the key or the value"},
      {begin + "- key: a\n  rate_limit: 5\n", "4: expected a map, got '5'"},
  });
  const std::string longest(kRuleTextBytesMax, 'x');
  EXPECT_EQ(ErrorOf(begin + "- {key: " + longest + ", value: " + longest + "}\n"), "no error");
  EXPECT_THAT(ErrorOf(begin + "- {key: x" + longest + "}\n"),
              HasSubstr("' has more than 1024 bytes"));
  EXPECT_THAT(ErrorOf(begin + "- {key: x, value: x" + longest + "}\n"),
              HasSubstr("' has more than 1024 bytes"));
}

TEST(RuleFileTest, MistakesOfALimit) {
  CheckMistakes({
      {WithLimit("{unit: foo, requests_per_unit: 5}"),
       "4: unknown unit 'foo' (second, minute, hour, day, week, month, year)"},
      {WithLimit("{requests_per_unit: 5}"),
       "4: unknown unit '' (second, minute, hour, day, week, month, year)"},
      {WithLimit("{}"), "4: unknown unit '' (second, minute, hour, day, week, month, year)"},
      {WithLimit("\n    unit: day\n    unlimited: true"), "5: unit stands beside unlimited"},
      {WithLimit("\n    unlimited: true\n    limits: [1/s]"), "6: limits stands beside unlimited"},
      {WithLimit("\n    unit: day\n    unit: day"), "6: key 'unit' stands twice"},
      {WithLimit("{unit: day, requests_per_unit: 5x}"),
       "4: requests_per_unit '5x': must be a whole number from 0 to 4294967295 (unlimited: true "
       "for more)"},
      {WithLimit("{unit: day, requests_per_unit: 4294967296}"),
       "4: requests_per_unit '4294967296': must be a whole number from 0 to 4294967295 (unlimited: "
       "true for more)"},
      {WithLimit("{unit: day, requests_per_unit: -1}"),
       "4: requests_per_unit '-1': must be a whole number from 0 to 4294967295 (unlimited: true "
       "for more)"},
      {WithLimit("{unit: day, unit_multiplier: 0}"),
       "4: unit_multiplier '0': must be a whole number from 1 to 3335 (9 years)"},
      {WithLimit("{unit: year, unit_multiplier: 10}"),
       "4: unit_multiplier '10': must be a whole number from 1 to 9 (9 years)"},
      {WithLimit("{unit: day, algorithm: gcra}"),
       "4: unknown algorithm 'gcra' (fixed, bucket, sliding)"},
      {WithLimit("{unit: day, burst: 5}"), "4: burst needs algorithm: bucket"},
      {WithLimit("{unit: day, algorithm: bucket, burst: 0}"),
       "4: burst '0': must be a whole number from 1 to 9223372036854775807"},
      {WithLimit("{unit: year, requests_per_unit: 1, algorithm: bucket, burst: 100}"),
       "4: invalid limit '1/365d,burst=100': limit is too long: burst times period per token must "
       "be at most 2^60 ns (36 years)"},
      {WithLimit("{unit: day, name: x, replaces: [{name: x}]}"),
       "4: replaces names its own limit 'x'"},
      {WithLimit("{unit: day, replaces: [{}]}"), "4: replaces has an entry without a name"},
      {WithLimit("{unit: day, replaces: [x]}"), "4: expected a map, got 'x'"},
      {WithLimit("{unit: day, replaces: [{nam: x}]}"), "4: unknown key 'nam' (name)"},
      {WithLimit("{unit: day, limit: 5}"),
       "4: unknown key 'limit' (unit, requests_per_unit, unlimited, name, replaces, "
       "unit_multiplier, algorithm, burst, limits)"},
  });
}

TEST(RuleFileTest, MistakesOfLimitsThatAreSpelledOut) {
  const std::string_view why = ": a rule has no held, cost=, shadow, name=, none and unlimited";
  for (const std::string_view word :
       {"'5,held'", "'1/s,cost=2'", "'1/s,shadow'", "'1/s,name=x'", "none", "unlimited"}) {
    EXPECT_THAT(ErrorOf(WithLimit(absl::StrCat("{limits: [", AbslView(word), "]}"))),
                testing::AllOf(testing::StartsWith("a.yaml:4: invalid limit '"),
                               testing::EndsWith(std::string(why))))
        << word;
  }
  CheckMistakes({
      {WithLimit("{limits: ['@free']}"), "4: invalid limit '@free': a policy cannot hold another"},
      {WithLimit("\n    limits:\n    - 1/s\n    - 10/x"),
       "7: invalid limit '10/x': unknown unit 'x' (us, ms, s, m, h, d, w, or day, week, month, "
       "year)"},
      {WithLimit("{limits: []}"), "4: limits has 1 to 8 limits"},
      {WithLimit("{limits: [1/s, 1/s, 1/s, 1/s, 1/s, 1/s, 1/s, 1/s, 1/s]}"),
       "4: limits has 1 to 8 limits"},
      {WithLimit("{limits: 1/s}"), "4: expected a list, got '1/s'"},
      {WithLimit("\n    limits: [1/s]\n    requests_per_unit: 5"),
       "6: requests_per_unit stands beside limits"},
  });
}

// --- Bounds ---

TEST(RuleFileTest, LevelsAreBounded) {
  const auto nested = [](int levels) {
    std::string text = "domain: d\n";
    for (int i = 0; i < levels; ++i) {
      const std::string indent(static_cast<std::size_t>(2 * i), ' ');
      absl::StrAppend(&text, indent, "descriptors:\n", indent, "- key: a\n");
    }
    return text;
  };
  EXPECT_EQ(Read(nested(kRuleLevelsMax)).rules.size(), 8U);
  EXPECT_EQ(ErrorOf(nested(kRuleLevelsMax + 1)), "a.yaml:18: more than 8 levels");
  EXPECT_EQ(ErrorOf("domain: d\ndescriptors: &a\n- {key: k, descriptors: *a}\n"),
            "a.yaml:3: more than 8 levels");
}

TEST(RuleFileTest, RulesAreBounded) {
  std::string text = "domain: d\ndescriptors:\n";
  for (std::size_t i = 0; i < kRulesMax; ++i) absl::StrAppend(&text, "- {key: k", i, "}\n");
  EXPECT_EQ(Read(text).rules.size(), kRulesMax);
  EXPECT_EQ(ErrorOf(text + "- {key: one_more}\n"), "a.yaml:10003: more than 10000 rules");
  EXPECT_EQ(ErrorOf(text + std::string(5'000'000, '#')), "a.yaml:1: more than 4194304 bytes");
}

TEST(RuleFileTest, AliasesThatMultiplyEnd) {
  std::string text = "domain: d\ndescriptors:\n- key: a0\n  descriptors: &a0 [{key: x}]\n";
  for (int i = 1; i < 7; ++i) {
    const std::string below = absl::StrCat("descriptors: *a", i - 1, "}");
    absl::StrAppend(&text, "- key: a", i, "\n  descriptors: &a", i, " [");
    for (int j = 0; j < 10; ++j) absl::StrAppend(&text, "{key: k", j, ", ", below, ",");
    absl::StrAppend(&text, "]\n");
  }
  EXPECT_THAT(ErrorOf(text), HasSubstr("more than 10000 rules"));
}

// --- Files ---

TEST(RuleFileTest, AFileThatCannotBeReadIsNamed) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("a.yaml", "domain: d\n");
  EXPECT_EQ(ReadRuleFile(path)->domain, "d");
  EXPECT_EQ(ReadRuleFile("/nonexistent").status().message(),
            "cannot read the rule file /nonexistent: No such file or directory");
  directory.Write("a.yaml", "domain: [\n");
  EXPECT_THAT(std::string(StdView(ReadRuleFile(path).status().message())),
              testing::StartsWith(path + ":2: not YAML: "));
}

}  // namespace
}  // namespace weir
