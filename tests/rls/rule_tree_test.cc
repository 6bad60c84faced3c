// Goal: a descriptor meets the rule, and has the key of buckets, that the tables of facts say.
// Method: their rules as files, and a row for each descriptor.
#include "rls/rule_tree.h"

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "rls/rule_file.h"
#include "tests/protocol/allocations.h"

namespace weir {
namespace {

constexpr std::string_view kShared = R"(
domain: test-domain
descriptors:
  - {key: files, value: files/*, share_threshold: true,
     rate_limit: {unit: minute, requests_per_unit: 100}}
  - key: route
    value: api/*
    share_threshold: true
    descriptors:
      - {key: method, rate_limit: {unit: minute, requests_per_unit: 60}}
  - key: path
    value: path/*
    share_threshold: true
    descriptors:
      - key: file
        value: file/*
        share_threshold: true
        descriptors:
          - {key: type, rate_limit: {unit: minute, requests_per_unit: 120}}
  - {key: own, value: own/*, rate_limit: {unit: hour, requests_per_unit: 10}}
  - {key: k*y, share_threshold: true, rate_limit: {unit: hour, requests_per_unit: 11}}
  - {key: v*y, value: one, share_threshold: true, rate_limit: {unit: hour, requests_per_unit: 12}}
)";

// The rules of a file that tests/e2e/rls/ reads, too.
std::string RulesIn(const std::string& name) {
  std::ifstream file(WEIR_SOURCE_DIR "/tests/rls/rules/" + name + ".yaml");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

RuleFile FileOf(std::string_view text, const std::string& path = "a.yaml") {
  absl::StatusOr<RuleFile> file = ParseRuleFile(text, path);
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

RuleTree TreeOf(std::string_view text) {
  std::vector<RuleFile> files;
  files.push_back(FileOf(text));
  absl::StatusOr<RuleTree> tree = RuleTree::Create(std::move(files), false);
  EXPECT_TRUE(tree.ok()) << tree.status();
  return *std::move(tree);
}

// "key1=value1/subkey1=x" as entries; a value may have a '/' between quotes: "path='/a/z'".
std::vector<DescriptorEntry> EntriesOf(std::string_view text) {
  std::vector<DescriptorEntry> entries;
  while (!text.empty()) {
    const std::size_t equals = text.find('=');
    const std::string_view key = text.substr(0, equals);
    text.remove_prefix(equals + 1);
    const bool is_quoted = text.starts_with('\'');
    const std::size_t end = is_quoted ? text.find('\'', 1) : text.find('/');
    entries.push_back({key, text.substr(is_quoted ? 1 : 0, is_quoted ? end - 1 : end)});
    text.remove_prefix(std::min(text.size(), is_quoted          ? end + 2
                                             : end == text.npos ? end
                                                                : end + 1));
  }
  return entries;
}

// "20/m" with its name; "exempt", "-" or "unknown domain".
std::string MetBy(const RuleMatch& match) {
  if (match.domain == nullptr) return "unknown domain";
  if (match.rule == nullptr) return "-";
  if (!match.rule->limit) return "exempt";
  const Limit& limit = match.rule->limit->limits.front().limit;
  std::string text = limit.shape().algorithm == Algorithm::kUnlimited ? "unlimited"
                     : limit.shape().algorithm == Algorithm::kNone    ? "none"
                                                                      : LimitText(limit);
  if (text.ends_with(",fixed,aligned")) text.resize(text.size() - 14);
  const std::string& name = match.rule->limit->name;
  return name.empty() ? text : text + " " + name;
}

std::string KeyOf(const RuleTree& tree, std::string_view domain, const Rule* rule,
                  const std::vector<DescriptorEntry>& entries) {
  std::string key;
  tree.AppendKey(domain, rule, entries, key);
  return key;
}

struct Row {
  int number;  // of the facts in the design
  std::string_view descriptor;
  std::string_view limit;
  std::string_view key = "";  // behind rls:DOMAIN: ; empty: that of the entries
};

void CheckRows(std::string_view file, std::string_view domain, const std::vector<Row>& rows) {
  const RuleTree tree = TreeOf(file);
  for (const Row& row : rows) {
    SCOPED_TRACE(testing::Message() << row.number << " " << row.descriptor);
    const std::vector<DescriptorEntry> entries = EntriesOf(row.descriptor);
    const RuleMatch match = tree.Match(domain, entries);
    EXPECT_EQ(MetBy(match), row.limit);
    if (row.key.empty()) continue;
    EXPECT_EQ(KeyOf(tree, domain, match.rule, entries),
              absl::StrCat("rls:", AbslView(domain), ":", AbslView(row.key)));
  }
}

TEST(RuleTreeTest, MetricsHaveValuesWhereRulesSaySo) {
  const RuleTree tree = TreeOf(R"(
domain: d.e
descriptors:
- {key: plain, rate_limit: {unit: day}}
- key: a
  value_to_metric: true
  descriptors:
  - key: b
    rate_limit: {unit: day}
    descriptors: [{key: c, value: x*, detailed_metric: true, rate_limit: {unit: day}}]
- {key: s, value: y*, share_threshold: true, detailed_metric: true, rate_limit: {unit: day}}
)");
  const auto name_of = [&](const std::vector<DescriptorEntry>& entries) {
    const Rule* const rule = tree.Match("d.e", entries).rule;
    std::string name;
    if (tree.HasMetricValues(*rule)) tree.AppendMetricName(*rule, entries, name);
    return name;
  };
  EXPECT_EQ(name_of({{"plain", "1"}}), "");
  EXPECT_EQ(name_of({{"a", "1:2"}, {"b", "2"}}), "rls:d%2Ee.a=1%3A2.b");
  EXPECT_EQ(name_of({{"a", "1"}, {"b", "2"}, {"c", "x3"}}), "rls:d%2Ee.a=1.b=2.c=x3");
  EXPECT_EQ(name_of({{"a", "1.b"}, {"b", "2"}}), "rls:d%2Ee.a=1%2Eb.b");
  EXPECT_EQ(name_of({{"s", "y7"}}), "rls:d%2Ee.s:y*");
}

TEST(RuleTreeTest, ExactRulesAndThoseWithoutValue) {
  CheckRows(RulesIn("basic"), "foo_domain", {{1, "key1=value1", "unknown domain"}});
  CheckRows(RulesIn("basic"), "test-domain",
            {{2, "key1=value1", "-"},
             {2, "key1=something", "-"},
             {2, "key2=value2/subkey=subvalue", "-"},
             {2, "key5=value5/subkey5=subvalue", "-"},
             {3, "key1=value1/subkey1=something", "5/s", "key1=value1,subkey1=something"},
             {4, "key1=value1/subkey1=subvalue1", "10/s", "key1=value1,subkey1=subvalue1"},
             {5, "key2=something", "20/m", "key2=something"},
             {5, "key2=value2", "30/m", "key2=value2"},
             {5, "key2=value3", "exempt"},
             {6, "key2=", "20/m", "key2="},
             {8, "key3=foo", "1/h", "key3=foo"},
             {9, "key4=foo", "1/d key4_rate_limit", "key4=foo"},
             {9, "key5=value5", "15/d", "key5=value5"},
             {9, "key5=value5/subkey5=subvalue5", "25/d", "key5=value5,subkey5=subvalue5"},
             {10, "key6=foo", "unlimited"},
             {11, "key7=x", "70/m", "key7=x"},
             {12, "", "-"}});
}

TEST(RuleTreeTest, Patterns) {
  CheckRows(RulesIn("wildcards"), "test-domain",
            {{29, "wild=foo1", "20/m", "wild=foo1"},
             {29, "wild=foo2", "20/m", "wild=foo2"},
             {29, "wild=bar", "-"},
             {29, "noWild=foo1", "-"},
             {29, "noVal=x", "20/m"},
             {30, "midWild=barab", "20/m"},
             {30, "midWild=barb", "20/m"},
             {30, "midWild=bara", "-"},
             {30, "midWild=xbarb", "-"},
             {30, "midWild=bar", "-"},
             {31, "any=", "3/d", "any="},
             {31, "any=x", "3/d"},
             {32, "path='/a/b/z'", "4/d", "path=/a/b/z"},
             {32, "ph='/a//z'", "4/d"},
             {32, "path='/a/z'", "-"},
             {32, "pth='/b/c/z'", "-"},
             {33, "pre=aab", "5/d"},
             {33, "pre=ab", "6/d"},
             {33, "pre=b", "7/d"}});
}

TEST(RuleTreeTest, SharedThresholds) {
  CheckRows(kShared, "test-domain",
            {{34, "files='files/a.pdf'", "100/m", "files=files/*"},
             {34, "files='files/b.csv'", "100/m", "files=files/*"},
             {35, "own='own/a'", "10/h", "own=own/a"},
             {35, "own='own/b'", "10/h", "own=own/b"},
             {36, "route='api/v1'/method=GET", "60/m", "route=api/*,method=GET"},
             {36, "route='api/v2'/method=PUT", "60/m", "route=api/*,method=PUT"},
             {37, "path='path/a'/file='file/x'/type=t", "120/m", "path=path/*,file=file/*,type=t"},
             {0, "key=x", "11/h", "k*y=*"},
             {0, "kay=y", "11/h", "k*y=*"},
             {0, "vary=one", "12/h", "v*y=one"}});
}

TEST(RuleTreeTest, TheExampleOfEnvoy) {
  CheckRows(RulesIn("envoy"), "rl",
            {{38, "foo=pelle", "2/m"},
             {39, "foo=pelle/baz=shady", "3/m"},
             {40, "foo=pelle/bay=x", "unlimited"},
             {41, "foo=b/bar=banned", "none banned_limit"},
             {44, "foo=m/bar=bkthomps", "1/m bkthomps", "foo=m,bar=bkthomps"},
             {44, "source_cluster=proxy/destination_cluster=bkthomps", "2/m"},
             {45, "source_cluster=proxy/destination_cluster=other", "-"},
             {53, "service=service_9", "-"}});
}

TEST(RuleTreeTest, ThereIsNoWayBack) {
  CheckRows(R"(
domain: d
descriptors:
  - {key: a, value: x}
  - {key: a, descriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 1}}]}
  - {key: p, value: x*, descriptors: [{key: c}]}
  - {key: p, value: xy*, descriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 2}}]}
)",
            "d",
            {{0, "a=y/b=1", "1/d"},
             {0, "a=x/b=1", "-"},   // `a: x` has no such child, and `a` is not tried
             {0, "p=xy/b=1", "-"},  // the first pattern takes it
             {0, "a=x", "exempt"},
             {0, "a=y", "-"}});
}

// A pattern is a text, too: a request that spells it means the rule itself.
TEST(RuleTreeTest, AnExactStarComesBeforePatterns) {
  CheckRows(R"(
domain: d
descriptors:
  - {key: a, value: '*', rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: a, value: x*, rate_limit: {unit: day, requests_per_unit: 2}}
)",
            "d", {{0, "a=x*", "2/d"}, {0, "a=xy", "1/d"}});
}

// On each level of a descriptor's way, its patterns count with the bytes of the entry.
TEST(RuleTreeTest, AMatchTellsWhatPatternsHaveCost) {
  const RuleTree tree = TreeOf(
      "domain: d\n"
      "descriptors:\n"
      "- {key: a, value: x*, rate_limit: {unit: day, requests_per_unit: 1}}\n"
      "- key: b\n"
      "  value: \"*y*\"\n"
      "  descriptors: [{key: c, value: z*, rate_limit: {unit: day, requests_per_unit: 1}}]\n");
  const auto visits = [&](std::string_view descriptor) {
    return tree.Match("d", EntriesOf(descriptor)).visits;
  };
  EXPECT_EQ(visits("a=xyz"), 2U * (64 + 4));
  EXPECT_EQ(visits("b=y/c=z12"), 2U * (64 + 2) + (64 + 4));
  EXPECT_EQ(visits("none=1/c=z12"), 2U * (64 + 5));
  EXPECT_EQ(TreeOf(RulesIn("basic")).Match("test-domain", EntriesOf("key2=a")).visits, 0U);
}

TEST(RuleTreeTest, AMatchAllocatesNothing) {
  const RuleTree tree = TreeOf(RulesIn("wildcards"));
  for (const std::string_view descriptor : {"midWild=barxb", "pre=b", "path='/a/b/z'", "none=x"}) {
    const std::vector<DescriptorEntry> entries = EntriesOf(descriptor);
    const std::size_t before = allocations;
    const RuleMatch match = tree.Match("test-domain", entries);
    EXPECT_EQ(allocations, before) << descriptor << " " << MetBy(match);
  }
}

// --- Keys ---

TEST(RuleTreeTest, BytesWithAMeaningAreEscapedInKeys) {
  const RuleTree tree = TreeOf("domain: a:b\n");
  EXPECT_EQ(tree.Match("a:b", {}).domain->name, "a:b");
  const std::string value("\0 %:,=\x7f/*\xff", 10);
  EXPECT_EQ(KeyOf(tree, "a:b", nullptr, {{"k=", value}, {"", ""}}),
            "rls:a%3Ab:k%3D=%00%20%25%3A%2C%3D%7F/*\xff,=");
  EXPECT_EQ(KeyOf(tree, "a", nullptr, {}), "rls:a");
}

// The digest is that of Python's hashlib.blake2b(whole, digest_size=16).
TEST(RuleTreeTest, ALongKeyIsCut) {
  const RuleTree tree = TreeOf("domain: d\n");
  const std::string most(kDescriptorKeyBytesMax - 8, 'x');
  EXPECT_EQ(KeyOf(tree, "d", nullptr, {{"k", most}}), "rls:d:k=" + most);
  EXPECT_EQ(KeyOf(tree, "d", nullptr, {{"k", most + "x"}}),
            "rls:d:k=" + std::string(992, 'x') + "~" + "0a408d454deba5e8da62c79394e7aa86");
  std::string key = "before ";
  tree.AppendKey("d", nullptr, std::vector<DescriptorEntry>{{"k", most + "x"}}, key);
  EXPECT_EQ(key.substr(7), KeyOf(tree, "d", nullptr, {{"k", most + "x"}}));
  EXPECT_NE(KeyOf(tree, "d", nullptr, {{"k", most + "x"}}),
            KeyOf(tree, "d", nullptr, {{"k", most + "y"}}));
}

// --- Several files ---

std::string ErrorOf(const std::vector<std::string_view>& texts, bool merge_domains) {
  std::vector<RuleFile> files;
  for (const std::string_view text : texts) {
    files.push_back(
        FileOf(text, absl::StrCat(std::string(1, static_cast<char>('a' + files.size())), ".yaml")));
  }
  const absl::StatusOr<RuleTree> tree = RuleTree::Create(std::move(files), merge_domains);
  return tree.ok() ? "" : std::string(StdView(tree.status().message()));
}

TEST(RuleTreeTest, DescriptorsAreDistinctOnTheirLevel) {
  EXPECT_EQ(
      ErrorOf({"domain: d\ndescriptors:\n- {key: a, value: x}\n- {key: b}\n- {value: x, key: a}\n"},
              false),
      "a.yaml:5: the descriptor 'a: x' stands at line 3, too");
  EXPECT_EQ(
      ErrorOf({"domain: d\ndescriptors:\n- key: a\n  descriptors: [{key: a}, {key: a}]"}, false),
      "a.yaml:4: the descriptor 'a' stands at line 4, too");
  EXPECT_EQ(
      ErrorOf({"domain: d\ndescriptors:\n- key: a\n  descriptors: [{key: a}, {key: a, value: x}]"},
              false),
      "");
  // The error has one line, whatever the key has.
  EXPECT_EQ(ErrorOf({"domain: d\ndescriptors:\n- key: \"a\\nb\"\n- key: \"a\\nb\"\n"}, false),
            "a.yaml:4: the descriptor 'a?b' stands at line 3, too");
  // The reference takes these for one.
  EXPECT_EQ(
      ErrorOf({"domain: d\ndescriptors:\n- {key: a, value: b_c}\n- {key: a_b, value: c}\n"}, false),
      "");
}

TEST(RuleTreeTest, ADomainIsInOneFileUnlessTheyAreMerged) {
  const std::string_view a = "domain: d\ndescriptors: [{key: k1}]\n";
  const std::string_view b = "\ndomain: d\ndescriptors: [{key: k2}]\n";
  EXPECT_EQ(ErrorOf({a, b}, false),
            "b.yaml:2: domain 'd' stands in a.yaml:1, too (--rls-merge-domains joins them)");
  EXPECT_EQ(ErrorOf({a, b}, true), "");
  EXPECT_EQ(ErrorOf({b, a, b}, true), "c.yaml:3: the descriptor 'k2' stands in a.yaml:3, too");
  EXPECT_EQ(ErrorOf({"domain: d\non_no_match: deny\n", a, "domain: d\non_no_match: ok\n"}, true),
            "c.yaml:1: domain 'd' of a.yaml:1 has another on_no_match or hits");
}

TEST(RuleTreeTest, MergedFilesAreOneDomain) {
  std::vector<RuleFile> files;
  files.push_back(FileOf(R"(
domain: d
descriptors: [{key: k1, value: v1, rate_limit: {unit: minute, requests_per_unit: 10}}]
)"));
  files.push_back(FileOf(R"(
domain: other
hits: ask
descriptors: [{key: k1, rate_limit: {unit: minute, requests_per_unit: 15}}]
)"));
  files.push_back(FileOf(R"(
domain: d
on_no_match: deny
descriptors:
- {key: k2, value: v2, rate_limit: {unit: minute, requests_per_unit: 20}}
- {key: k1, value: '*', descriptors: [{key: k1, rate_limit: {unit: day, requests_per_unit: 5}}]}
)"));
  const absl::StatusOr<RuleTree> tree = RuleTree::Create(std::move(files), true);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(MetBy(tree->Match("d", EntriesOf("k1=v1"))), "10/m");
  EXPECT_EQ(MetBy(tree->Match("d", EntriesOf("k2=v2"))), "20/m");
  EXPECT_EQ(MetBy(tree->Match("d", EntriesOf("k1=v3/k1=v"))), "5/d");
  EXPECT_EQ(MetBy(tree->Match("other", EntriesOf("k1=v1"))), "15/m");
  ASSERT_EQ(tree->domains().size(), 2U);
  EXPECT_EQ(tree->domains()[0].on_no_match, OnNoMatch::kDeny);
  EXPECT_EQ(tree->domains()[0].hits, HitsWay::kReport);
  EXPECT_EQ(tree->domains()[1].hits, HitsWay::kAsk);
  EXPECT_EQ(tree->rules().size(), 5U);
}

TEST(RuleTreeTest, RulesAreBounded) {
  std::string text = "domain: d\ndescriptors:\n";
  for (std::size_t i = 0; i < kRulesMax; ++i) absl::StrAppend(&text, "- {key: k", i, "}\n");
  EXPECT_EQ(ErrorOf({text}, false), "");
  EXPECT_EQ(ErrorOf({text, "domain: e\ndescriptors:\n- {key: a}\n"}, false),
            "b.yaml:3: more than 10000 rules");
}

TEST(RuleTreeTest, ATreeOfNothingKnowsNoDomain) {
  const absl::StatusOr<RuleTree> tree = RuleTree::Create({}, false);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->Match("d", EntriesOf("a=b")).domain, nullptr);
}

}  // namespace
}  // namespace weir
