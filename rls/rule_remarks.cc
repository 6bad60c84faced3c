#include "rls/rule_remarks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "rls/wildcard.h"

namespace weir {
namespace {

struct PlacedPattern {
  const RuleFile* file;
  const Rule* rule;
  Wildcard key;
  Wildcard value;
};

PlacedPattern PatternOf(const RuleFile& file, const Rule& rule) {
  return {&file, &rule, Wildcard(rule.key), Wildcard(ValuePattern(rule))};
}

// A level: rules below one of a file, or those on the first level of a domain, whose files share
// it.
using LevelName = std::tuple<std::string_view, const RuleFile*, std::uint32_t>;

LevelName LevelOf(const RuleFile& file, const Rule& rule) {
  const bool is_first = rule.parent == Rule::kNoParent;
  return {file.domain, is_first ? nullptr : &file, rule.parent};
}

// The pattern that takes all that `rule` fits; null: none. The patterns of its level come in the
// order of the files, and before other rules without a value.
const PlacedPattern* TakerOf(const RuleFile& file, const Rule& rule,
                             const std::vector<PlacedPattern>& patterns) {
  if (!IsPattern(rule) && !rule.value.empty()) return nullptr;
  const PlacedPattern taken = PatternOf(file, rule);
  for (const PlacedPattern& pattern : patterns) {
    if (pattern.rule == &rule) return nullptr;
    if (pattern.key.Covers(taken.key) && pattern.value.Covers(taken.value)) return &pattern;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> RemarksOn(std::span<const RuleFile> files) {
  std::map<LevelName, std::vector<PlacedPattern>> patterns;
  std::map<std::string_view, std::set<std::string_view>> names;  // of limits, by domain
  for (const RuleFile& file : files) {
    for (const Rule& rule : file.rules) {
      if (IsPattern(rule)) patterns[LevelOf(file, rule)].push_back(PatternOf(file, rule));
      if (rule.limit) names[file.domain].insert(rule.limit->name);
    }
  }
  std::vector<std::string> lines;
  for (const RuleFile& file : files) {
    std::vector<RuleRemark> remarks = file.remarks;
    for (const Rule& rule : file.rules) {
      if (const PlacedPattern* const taker = TakerOf(file, rule, patterns[LevelOf(file, rule)])) {
        remarks.push_back({rule.line, absl::StrCat(DescriptorText(rule), " is never met: ",
                                                   DescriptorText(*taker->rule), " in ",
                                                   PlaceText(*taker->file, taker->rule->line),
                                                   " fits all that it fits")});
      }
      if (!rule.limit) continue;
      for (const std::string& name : rule.limit->replaces) {
        if (names[file.domain].contains(name)) continue;
        remarks.push_back({rule.line, absl::StrCat("replaces names ", Quote(name),
                                                   ", and no limit of the domain has this name")});
      }
    }
    std::ranges::stable_sort(remarks, {}, &RuleRemark::line);
    for (const RuleRemark& remark : remarks) {
      lines.push_back(absl::StrCat(file.path, ":", remark.line, ": ", remark.text));
    }
  }
  return lines;
}

}  // namespace weir
