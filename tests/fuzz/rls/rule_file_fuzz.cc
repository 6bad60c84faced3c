// Property: any bytes are either a file of rules within its bounds, or get a bounded error of one
// line that begins with the place of the mistake. Rules that were read are a tree in which each
// rule is met by its own texts, or are refused in the same way.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "rls/rule_file.h"
#include "rls/rule_remarks.h"
#include "rls/rule_tree.h"

namespace weir {
namespace {

void CheckError(std::string_view error) {
  WEIR_CHECK(error.size() < 2048);
  WEIR_CHECK(error.starts_with("r.yaml:"));
  error.remove_prefix(7);
  const std::size_t colon = error.find(": ");
  WEIR_CHECK(colon != std::string_view::npos);
  WEIR_CHECK(ParseDigits(error.substr(0, colon)).value_or(0) > 0);
  WEIR_CHECK(error.size() > colon + 2);
  WEIR_CHECK(std::ranges::none_of(error, [](unsigned char c) { return c < 0x20; }));
}

void CheckRule(const RuleFile& file, const Rule& rule) {
  WEIR_CHECK(!rule.key.empty() && rule.key.size() <= kRuleTextBytesMax);
  WEIR_CHECK(rule.value.size() <= kRuleTextBytesMax);
  WEIR_CHECK(rule.parent == Rule::kNoParent || &file.rules[rule.parent] < &rule);
  WEIR_CHECK(!rule.share_threshold || IsPattern(rule));
  if (!rule.limit) return;
  WEIR_CHECK(!rule.limit->limits.empty() && rule.limit->limits.size() <= kRuleLimitsMax);
}

// The rule's own texts as a descriptor; the exact rule of each level comes first.
void CheckMatch(const RuleTree& tree, const Rule& rule) {
  std::vector<DescriptorEntry> entries;
  for (const Rule* at = &rule;; at = &tree.rules()[at->parent]) {
    if (at->value.empty()) return;
    entries.push_back({at->key, at->value});
    if (at->parent == Rule::kNoParent) break;
  }
  WEIR_CHECK(entries.size() <= static_cast<std::size_t>(kRuleLevelsMax));
  std::ranges::reverse(entries);
  const RuleMatch match = tree.Match(tree.domains()[0].name, entries);
  WEIR_CHECK(match.domain != nullptr);
  WEIR_CHECK(match.rule == &rule || (match.rule == nullptr && !rule.limit));
  std::string key;
  tree.AppendKey(match.domain->name, match.rule, entries, key);
  WEIR_CHECK(key.starts_with("rls:"));
  WEIR_CHECK(key.size() <= kDescriptorKeyHeadBytes + 33);
}

void FuzzOne(std::string_view text) {
  absl::StatusOr<RuleFile> file = ParseRuleFile(text, "r.yaml");
  if (!file.ok()) return CheckError(StdView(file.status().message()));
  WEIR_CHECK(!file->domain.empty() && file->domain.size() <= kDomainBytesMax);
  WEIR_CHECK(file->rules.size() <= kRulesMax);
  for (const Rule& rule : file->rules) CheckRule(*file, rule);
  std::vector<RuleFile> files;
  files.push_back(*std::move(file));
  if (files[0].rules.size() < 100) static_cast<void>(RemarksOn(files));
  const absl::StatusOr<RuleTree> tree = RuleTree::Create(std::move(files), false);
  if (!tree.ok()) return CheckError(StdView(tree.status().message()));
  for (const Rule& rule : tree->rules()) CheckMatch(*tree, rule);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
