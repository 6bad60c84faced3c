#include "rls/rule_tree.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include <sodium/crypto_generichash.h>

#include "core/base/check.h"
#include "core/base/file_text.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "rls/rule_checks.h"

namespace weir {
namespace {

constexpr std::size_t kKeyHashBytes = 16;

// `rule` of `file` has the key and value of `other` of `other_file`. `rules`: of all files.
absl::Status StandsTwice(std::span<const Rule> rules, const RuleFile& file, const Rule& rule,
                         const RuleFile& other_file, const Rule& other) {
  std::string where = absl::StrCat("in ", PlaceText(other_file, other.line), ", too");
  if (&file == &other_file) {
    where = other.line == 0 ? "twice" : absl::StrCat("at line ", other.line, ", too");
  }
  return WrongAt(PlaceText(file, rules, rule),
                 absl::StrCat("the descriptor ", DescriptorText(rule), " stands ", where));
}

template <typename T>
bool Differ(const std::optional<T>& a, const std::optional<T>& b) {
  return a && b && *a != *b;
}

bool IsEscaped(unsigned char c) {
  return c < 0x21 || c == 0x7f || c == '%' || c == ':' || c == ',' || c == '=';
}

// Escapes `more`, too.
void AppendEscaped(std::string_view text, std::string& key, char more = '%') {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsEscaped(byte) || c == more) {
      key += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    } else {
      key += c;
    }
  }
}

// Cuts what stands in `key` behind `begin` if it is too long.
void CutKey(std::size_t begin, std::string& key) {
  const std::size_t bytes = key.size() - begin;
  if (bytes <= kDescriptorKeyBytesMax) return;
  std::string hash(kKeyHashBytes, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(key.data() + begin), bytes, nullptr, 0);
  key.resize(begin + kDescriptorKeyHeadBytes);
  absl::StrAppend(&key, "~", absl::BytesToHexString(hash));
}

}  // namespace

absl::StatusOr<RuleTree> RuleTree::Create(std::vector<RuleFile> files, bool merge_domains) {
  RuleTree tree;
  std::size_t rules = 0;
  for (const RuleFile& file : files) rules += file.rules.size();
  // Views of the texts in them are kept, so these do not move.
  tree.domains_.reserve(files.size());
  tree.rules_.reserve(rules);
  std::vector<std::uint32_t> domain_of_file;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const absl::StatusOr<std::uint32_t> domain =
        tree.DomainOf(files[i], merge_domains, std::span(files).first(i));
    if (!domain.ok()) return domain.status();
    domain_of_file.push_back(*domain);
  }
  std::vector<LevelId> level_of_rule;
  std::vector<std::size_t> file_of_rule;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto first = static_cast<std::uint32_t>(tree.rules_.size());
    for (Rule& read : files[i].rules) {
      const auto place = static_cast<std::uint32_t>(tree.rules_.size());
      if (const absl::Status fits = CheckRuleCount(place); !fits.ok()) {
        return WrongAt(PlaceText(files[i], read.line), StdView(fits.message()));
      }
      Rule& rule = tree.rules_.emplace_back(std::move(read));
      LevelId level = domain_of_file[i];
      if (rule.parent != Rule::kNoParent) {
        rule.parent += first;
        level = tree.LevelBelow(rule.parent);
      }
      const Child child{level, rule.key, rule.value};
      const auto [other, is_new] = tree.children_.try_emplace(child, place);
      if (!is_new) {
        return StandsTwice(tree.rules_, files[i], rule, files[file_of_rule[other->second]],
                           tree.rules_[other->second]);
      }
      level_of_rule.push_back(level);
      tree.domain_of_rule_.push_back(domain_of_file[i]);
      file_of_rule.push_back(i);
    }
  }
  tree.IndexRules(level_of_rule);
  tree.NoteMetricLevels();
  return tree;
}

void RuleTree::NoteMetricLevels() {
  static_assert(kRuleLevelsMax <= 8);
  struct Levels {
    int depth = 0;
    unsigned from_above = 0;  // those that say value_to_metric
  };
  std::vector<Levels> levels;
  for (const Rule& rule : rules_) {
    Levels own = rule.parent == Rule::kNoParent
                     ? Levels()
                     : Levels{levels[rule.parent].depth + 1, levels[rule.parent].from_above};
    const unsigned bit = 1U << static_cast<unsigned>(own.depth);
    if (rule.value_to_metric) own.from_above |= bit;
    const unsigned all = rule.detailed_metric ? 2 * bit - 1 : 0;
    metric_levels_.push_back(static_cast<std::uint8_t>(own.from_above | all));
    levels.push_back(own);
  }
}

RuleTree::Path RuleTree::PathTo(const Rule& rule) const {
  Path path = {&rule};
  while (path.back()->parent != Rule::kNoParent) path.push_back(&rules_[path.back()->parent]);
  std::ranges::reverse(path);
  return path;
}

absl::InlinedVector<DescriptorEntry, kRuleLevelsMax> RuleTree::MetricLevels(
    const Rule& rule, std::span<const DescriptorEntry> entries) const {
  absl::InlinedVector<DescriptorEntry, kRuleLevelsMax> levels;
  for (const Rule* const level : PathTo(rule)) {
    const std::size_t i = levels.size();
    const bool has_value = (metric_levels_[PlaceOf(rule)] >> i & 1) != 0;
    const bool is_of_entry = has_value && !level->share_threshold;
    levels.push_back({level->key, is_of_entry ? entries[i].value : level->value});
  }
  return levels;
}

void RuleTree::AppendMetricName(const Rule& rule, std::span<const DescriptorEntry> entries,
                                std::string& name) const {
  name += "rls:";
  AppendEscaped(DomainOf(rule).name, name, '.');
  const Path path = PathTo(rule);
  std::size_t i = 0;
  for (const auto& [key, value] : MetricLevels(rule, entries)) {
    name += '.';
    AppendEscaped(key, name, '.');
    const bool is_of_rule = value == path[i++]->value;
    if (value.empty()) continue;
    name += is_of_rule ? ':' : '=';
    AppendEscaped(value, name, '.');
  }
}

absl::StatusOr<std::uint32_t> RuleTree::DomainOf(const RuleFile& file, bool merge_domains,
                                                 std::span<const RuleFile> files) {
  const auto found = domain_ids_.find(file.domain);
  if (found == domain_ids_.end()) {
    const auto id = static_cast<std::uint32_t>(domains_.size());
    domains_.push_back({.name = file.domain,
                        .on_no_match = file.on_no_match.value_or(OnNoMatch::kOk),
                        .hits = file.hits.value_or(HitsWay::kReport)});
    domain_ids_.emplace(domains_.back().name, id);
    return id;
  }
  for (const RuleFile& other : files) {
    if (other.domain != file.domain) continue;
    const std::string place = PlaceText(other, other.domain_line);
    if (!merge_domains) {
      return WrongAt(PlaceText(file, file.domain_line),
                     absl::StrCat("domain ", Quote(file.domain), " stands in ", place,
                                  ", too (--rls-merge-domains joins them)"));
    }
    if (Differ(other.on_no_match, file.on_no_match) || Differ(other.hits, file.hits)) {
      return WrongAt(PlaceText(file, file.domain_line),
                     absl::StrCat("domain ", Quote(file.domain), " of ", place,
                                  " has another on_no_match or hits"));
    }
  }
  RuleDomain& domain = domains_[found->second];
  domain.on_no_match = file.on_no_match.value_or(domain.on_no_match);
  domain.hits = file.hits.value_or(domain.hits);
  return found->second;
}

void RuleTree::IndexRules(std::span<const LevelId> level_of_rule) {
  levels_.resize(domains_.size() + rules_.size());
  for (std::uint32_t i = 0; i < rules_.size(); ++i) {
    levels_[level_of_rule[i]].has_rules = true;
    if (!IsPattern(rules_[i])) continue;
    patterns_.push_back(
        {level_of_rule[i], i, Wildcard(rules_[i].key), Wildcard(ValuePattern(rules_[i]))});
  }
  std::ranges::stable_sort(patterns_, {}, &Pattern::level);
  for (std::uint32_t i = 0; i < patterns_.size(); ++i) {
    Level& level = levels_[patterns_[i].level];
    if (level.patterns_end == 0) level.patterns_begin = i;
    level.patterns_end = i + 1;
  }
}

const Rule* RuleTree::Find(LevelId level, const DescriptorEntry& entry) const noexcept {
  const absl::string_view key = AbslView(entry.key);
  // An empty value is no exact one: a rule without value would be found, before the patterns.
  if (!entry.value.empty()) {
    const auto exact = children_.find(Child{level, key, AbslView(entry.value)});
    if (exact != children_.end()) return &rules_[exact->second];
  }
  const auto [begin, end, has_rules] = levels_[level];
  const ByteSet value_bytes = begin == end ? 0 : BytesOf(entry.value);
  for (std::uint32_t i = begin; i < end; ++i) {
    const Pattern& pattern = patterns_[i];
    if (!pattern.value.MayFit(value_bytes)) continue;
    if (pattern.key.Fits(entry.key) && pattern.value.Fits(entry.value))
      return &rules_[pattern.rule];
  }
  const auto any_value = children_.find(Child{level, key, {}});
  return any_value == children_.end() ? nullptr : &rules_[any_value->second];
}

RuleMatch RuleTree::Match(std::string_view domain,
                          std::span<const DescriptorEntry> entries) const noexcept {
  const auto found = domain_ids_.find(AbslView(domain));
  if (found == domain_ids_.end()) return {};
  RuleMatch match{.domain = &domains_[found->second]};
  LevelId level = found->second;
  const Rule* rule = nullptr;
  for (const DescriptorEntry& entry : entries) {
    const std::uint64_t patterns = levels_[level].patterns_end - levels_[level].patterns_begin;
    match.visits += patterns * (64 + entry.key.size() + entry.value.size());
    rule = Find(level, entry);
    if (rule == nullptr) return match;
    level = LevelBelow(static_cast<std::uint32_t>(rule - rules_.data()));
  }
  if (rule != nullptr && (rule->limit || !levels_[level].has_rules)) match.rule = rule;
  return match;
}

void RuleTree::AppendKey(std::string_view domain, const Rule* rule,
                         std::span<const DescriptorEntry> entries, std::string& key) const {
  std::array<const Rule*, kRuleLevelsMax> path{};  // the rule of each entry
  if (rule != nullptr) {
    WEIR_CHECK(entries.size() <= path.size());
    for (std::size_t i = entries.size(); i-- > 0;) {
      path[i] = rule;
      if (i > 0) rule = &rules_[rule->parent];
    }
  }
  const std::size_t begin = key.size();
  key += "rls:";
  AppendEscaped(domain, key);
  char separator = ':';
  for (std::size_t i = 0; i < entries.size(); ++i) {
    DescriptorEntry entry = entries[i];
    if (i < path.size() && path[i] != nullptr && path[i]->share_threshold) {
      entry = {path[i]->key, ValuePattern(*path[i])};
    }
    key += std::exchange(separator, ',');
    AppendEscaped(entry.key, key);
    key += '=';
    AppendEscaped(entry.value, key);
  }
  CutKey(begin, key);
}

}  // namespace weir
