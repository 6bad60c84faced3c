// Goal: L31, a descriptor meets the rule, and has the key, that a second and naive implementation
// of the rules of matching says. Method: random trees over few texts, in one file or several, and
// descriptors over these texts.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "rls/rule_tree.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

// A rule with those below it, and the number by which it is known.
struct NestedRule {
  std::uint32_t number = 0;
  std::string key;
  std::string value;
  bool has_limit = false;
  bool shares = false;
  std::vector<NestedRule> below;
};
using NestedRules = std::vector<NestedRule>;

// --- The second implementation ---

bool FitsNaively(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (FitsNaively(pattern.substr(1), text.substr(i))) return true;
    }
    return false;
  }
  return !text.empty() && text[0] == pattern[0] && FitsNaively(pattern.substr(1), text.substr(1));
}

bool HasStar(const std::string& text) { return text.find('*') != std::string::npos; }

const NestedRule* MetNaively(const NestedRules& rules, const DescriptorEntry& entry) {
  for (const NestedRule& rule : rules) {
    if (!rule.value.empty() && rule.key == entry.key && rule.value == entry.value) return &rule;
  }
  for (const NestedRule& rule : rules) {
    if (!HasStar(rule.key) && !HasStar(rule.value)) continue;
    const bool fits_value = rule.value.empty() || FitsNaively(rule.value, entry.value);
    if (fits_value && FitsNaively(rule.key, entry.key)) return &rule;
  }
  for (const NestedRule& rule : rules) {
    if (rule.value.empty() && rule.key == entry.key) return &rule;
  }
  return nullptr;
}

// The rules of all entries; empty if the descriptor matches nothing.
std::vector<const NestedRule*> PathNaively(const NestedRules& rules,
                                           const std::vector<DescriptorEntry>& entries) {
  std::vector<const NestedRule*> path;
  const NestedRules* level = &rules;
  for (const DescriptorEntry& entry : entries) {
    const NestedRule* const rule = MetNaively(*level, entry);
    if (rule == nullptr) return {};
    path.push_back(rule);
    level = &rule->below;
  }
  const bool matches = !path.empty() && (path.back()->has_limit || path.back()->below.empty());
  return matches ? path : std::vector<const NestedRule*>{};
}

// The key of a descriptor whose texts need no escapes.
std::string KeyNaively(const std::vector<const NestedRule*>& path,
                       const std::vector<DescriptorEntry>& entries) {
  std::string key = "rls:d";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    key += i == 0 ? ":" : ",";
    if (!path.empty() && path[i]->shares) {
      key += path[i]->key + "=" + (path[i]->value.empty() ? "*" : path[i]->value);
    } else {
      key += std::string(entries[i].key) + "=" + std::string(entries[i].value);
    }
  }
  return key;
}

// --- Random trees ---

std::string TextAmong(const std::vector<std::string_view>& texts) {
  return std::string(texts[static_cast<std::size_t>(
      *Between<std::int64_t>(0, static_cast<std::int64_t>(texts.size()) - 1))]);
}

NestedRules AnyLevel(int levels, std::uint32_t& numbers) {
  static const std::vector<std::string_view> kKeys = {"a", "a", "ab", "b", "a*", "*b", "*"};
  static const std::vector<std::string_view> kValues = {"", "", "x", "xy", "x*", "*y", "x*y", "*"};
  NestedRules rules;
  const int count = *Between(0, 7);
  for (int i = 0; i < count; ++i) {
    NestedRule rule{.key = TextAmong(kKeys), .value = TextAmong(kValues), .below = {}};
    const bool stands_twice = std::ranges::any_of(rules, [&](const NestedRule& other) {
      return other.key == rule.key && other.value == rule.value;
    });
    if (stands_twice) continue;
    rule.number = ++numbers;
    rule.has_limit = *Between(0, 1) == 1;
    rule.shares = (HasStar(rule.key) || HasStar(rule.value)) && *Between(0, 1) == 1;
    if (levels > 1 && *Between(0, 2) > 0) rule.below = AnyLevel(levels - 1, numbers);
    rules.push_back(std::move(rule));
  }
  return rules;
}

void AddTo(RuleFile& file, const NestedRule& rule, std::uint32_t parent) {
  file.rules.push_back({.line = rule.number,
                        .parent = parent,
                        .key = rule.key,
                        .value = rule.value,
                        .limit = {},
                        .share_threshold = rule.shares,
                        .metadata = {}});
  if (rule.has_limit) {
    file.rules.back().limit =
        RuleLimit{.limits = {{.limit = Limit::None(), .cost = {}, .keep = {}, .label = {}}},
                  .name = {},
                  .replaces = {}};
  }
  const auto place = static_cast<std::uint32_t>(file.rules.size() - 1);
  for (const NestedRule& below : rule.below) AddTo(file, below, place);
}

// The same rules as files, in their order.
std::vector<RuleFile> FilesOf(const NestedRules& rules) {
  std::vector<RuleFile> files(1);
  for (const NestedRule& rule : rules) {
    if (*Between(0, 3) == 0) files.emplace_back();
    AddTo(files.back(), rule, Rule::kNoParent);
  }
  for (RuleFile& file : files) {
    file.path = "a.yaml";
    file.domain = "d";
  }
  return files;
}

std::vector<DescriptorEntry> AnyEntries() {
  static constexpr std::string_view kKeys[] = {"a", "a", "ab", "b", "abb", "a*", "c"};
  static constexpr std::string_view kValues[] = {"", "x", "x", "xy", "xzy", "y", "x*", "z"};
  std::vector<DescriptorEntry> entries;
  const int count = *Between(0, 2) + *Between(0, 1);
  for (int i = 0; i < count; ++i) {
    entries.push_back({kKeys[*Between(0, 6)], kValues[*Between(0, 7)]});
  }
  return entries;
}

TEST(RuleTreeLawTest, L31ADescriptorMeetsTheRuleThatTheTextOfTheLawSays) {
  std::int64_t met = 0;
  std::int64_t asked = 0;
  CheckLaw(20'000, [&] {
    std::uint32_t numbers = 0;
    const NestedRules rules = AnyLevel(3, numbers);
    absl::StatusOr<RuleTree> created = RuleTree::Create(FilesOf(rules), true);
    RC_ASSERT(created.ok());
    const RuleTree tree = *std::move(created);  // a tree that has moved keeps its look-ups
    RC_ASSERT(tree.rules().size() == numbers);
    for (int i = 0; i < 8; ++i) {
      const std::vector<DescriptorEntry> entries = AnyEntries();
      const std::vector<const NestedRule*> path = PathNaively(rules, entries);
      const RuleMatch match = tree.Match("d", entries);
      RC_ASSERT(match.domain != nullptr);
      RC_ASSERT((match.rule == nullptr) == path.empty());
      if (match.rule != nullptr) RC_ASSERT(match.rule->line == path.back()->number);
      std::string key;
      tree.AppendKey("d", match.rule, entries, key);
      RC_ASSERT(key == KeyNaively(path, entries));
      met += path.empty() ? 0 : 1;
      ++asked;
    }
  });
  EXPECT_GE(met, InWholeRuns(asked / 10));
}

}  // namespace
}  // namespace weir
