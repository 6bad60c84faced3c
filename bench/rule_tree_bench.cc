// The cost of finding the rule of a descriptor, and of loading rules.
//
// A match has two entries. `rules` are of four levels, so that the answer is the same with few and
// with many; with `patterns` it is the last of as many on one level, with one '*' at the end or
// between two others. The load reads YAML of as many rules and makes their tree.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <benchmark/benchmark.h>

#include "core/base/check.h"
#include "rls/rule_file.h"
#include "rls/rule_tree.h"

namespace weir {
namespace {

RuleTree TreeOf(const std::string& text) {
  std::vector<RuleFile> files;
  files.push_back(ParseRuleFile(text, "a.yaml").value());
  return RuleTree::Create(std::move(files), false).value();
}

// Tenants with nine rules each below them, on three levels.
std::string RulesOf(std::size_t rules) {
  std::string text = "domain: d\ndescriptors:\n";
  for (std::size_t i = 0; i < rules / 10; ++i) {
    absl::StrAppend(&text, "- key: tenant\n  value: t", i, "\n  descriptors:\n");
    for (int j = 0; j < 3; ++j) {
      absl::StrAppend(&text, "  - key: path\n    value: p", j,
                      "\n    rate_limit: {unit: minute, requests_per_unit: 20}\n"
                      "    descriptors:\n    - key: user\n      descriptors:\n"
                      "      - key: method\n        rate_limit: {unit: hour, "
                      "requests_per_unit: 100}\n");
    }
  }
  return text;
}

std::string PatternsOf(std::size_t patterns, const char* begin) {
  std::string text = "domain: d\ndescriptors: [{key: tenant, value: t0, descriptors: [\n";
  for (std::size_t i = 0; i < patterns; ++i) {
    absl::StrAppend(&text, "{key: path, value: '", begin, "/api/", i,
                    "/*', rate_limit: ", "{unit: day, requests_per_unit: 1}},\n");
  }
  return text + "]}]\n";
}

void Match(benchmark::State& state, const RuleTree& tree, std::string_view path) {
  const std::vector<DescriptorEntry> entries = {{"tenant", "t0"}, {"path", path}};
  WEIR_CHECK(tree.Match("d", entries).rule != nullptr);
  for (auto _ : state) benchmark::DoNotOptimize(tree.Match("d", entries));
}

void BM_Match(benchmark::State& state) {
  Match(state, TreeOf(RulesOf(static_cast<std::size_t>(state.range(0)))), "p2");
}

void BM_MatchPattern(benchmark::State& state) {
  const auto patterns = static_cast<std::size_t>(state.range(0));
  Match(state, TreeOf(PatternsOf(patterns, "")), absl::StrCat("/api/", patterns - 1, "/users/7"));
}

void BM_MatchInnerPattern(benchmark::State& state) {
  const auto patterns = static_cast<std::size_t>(state.range(0));
  Match(state, TreeOf(PatternsOf(patterns, "*")),
        absl::StrCat("/shop/v1/api/", patterns - 1, "/users/7"));
}

void BM_AppendKey(benchmark::State& state) {
  const RuleTree tree = TreeOf(RulesOf(10));
  const std::vector<DescriptorEntry> entries = {{"tenant", "t0"}, {"path", "p2"}};
  const RuleMatch match = tree.Match("d", entries);
  std::string key;
  for (auto _ : state) {
    key.clear();
    tree.AppendKey("d", match.rule, entries, key);
    benchmark::DoNotOptimize(key);
  }
}

void BM_Load(benchmark::State& state) {
  const std::string text = RulesOf(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(TreeOf(text));
}

BENCHMARK(BM_Match)->ArgName("rules")->Arg(10)->Arg(10'000);
BENCHMARK(BM_MatchPattern)->ArgName("patterns")->Arg(1)->Arg(100);
BENCHMARK(BM_MatchInnerPattern)->ArgName("patterns")->Arg(1)->Arg(100);
BENCHMARK(BM_AppendKey);
BENCHMARK(BM_Load)->ArgName("rules")->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir
