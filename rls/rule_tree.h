// The rules of all domains, and the one that a descriptor of a call meets.
//
//     absl::StatusOr<RuleTree> tree = RuleTree::Create(std::move(files), /*merge_domains=*/false);
//     const RuleMatch match = tree->Match("shop", entries);   // entries: user=7, path=/api/x
//     if (match.rule != nullptr) tree->AppendKey("shop", match.rule, entries, key);
//
// The entries of a descriptor walk down the tree, one level each. At each level, of the rules
// there, they take
//     1. the one with exactly that key and value; else
//     2. the first, in the order of the files, with a '*' in its key or value whose key and value
//        fit (wildcard.h); without a value it fits any; else
//     3. the one with exactly that key and no value; else none: the descriptor matches nothing.
// There is no way back: a descriptor that has met `key2: value3` never tries `key2`. Only the rule
// of the last entry counts, and only its own limit, so a descriptor that ends above or below the
// limits matches nothing. A rule without limit and without rules below it exempts: it matches.
//
// Immutable, so all threads may share it; movable. A match has no heap, lock or exception. It costs
// one or two look-ups in a hash table an entry (25 ns), whatever the number of rules. On a level
// with patterns an entry costs 1 ns for each byte of its value, and a pattern 2 ns, or 10 to 30 if
// the value has all bytes of the pattern. Tested by rule_tree_test.cc, and against a second
// implementation by rule_tree_law_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/status.h"
#include "rls/rule.h"
#include "rls/wildcard.h"

namespace weir {

// A longer key of buckets is cut: its first kDescriptorKeyHeadBytes, '~', and 32 hex digits.
inline constexpr std::size_t kDescriptorKeyBytesMax = 1024;
inline constexpr std::size_t kDescriptorKeyHeadBytes = 1000;

// One entry of a call's descriptor, of any bytes; viewed, not owned.
struct DescriptorEntry {
  std::string_view key;
  std::string_view value;  // may be empty
};

// A domain, which several files may share.
struct RuleDomain {
  std::string name;
  OnNoMatch on_no_match = OnNoMatch::kOk;
  HitsWay hits = HitsWay::kReport;
};

// Both belong to the tree.
struct RuleMatch {
  const RuleDomain* domain = nullptr;  // null: no file has it
  const Rule* rule = nullptr;          // null: the descriptor matches nothing
  // The most that the patterns have cost: 64 and the bytes of the entry for each on its level.
  std::uint64_t visits = 0;
};

class RuleTree {
 public:
  // Joins the files in their order. Fails with kInvalidArgument and one line about the first
  // mistake that only all of them show, which begins with its place: two descriptors of one level
  // with the same key and value, more than kRulesMax rules, or a domain in two files. With
  // `merge_domains` that is no mistake, unless they differ about on_no_match or hits.
  [[nodiscard]] static absl::StatusOr<RuleTree> Create(std::vector<RuleFile> files,
                                                       bool merge_domains);

  RuleTree(RuleTree&&) noexcept = default;
  RuleTree& operator=(RuleTree&&) noexcept = default;
  RuleTree(const RuleTree&) = delete;  // its look-ups view its rules: share it instead
  RuleTree& operator=(const RuleTree&) = delete;

  [[nodiscard]] RuleMatch Match(std::string_view domain,
                                std::span<const DescriptorEntry> entries) const noexcept;

  // Appends the key of the buckets of a descriptor: rls:DOMAIN:KEY=VALUE,KEY=VALUE. Of domain, keys
  // and values the bytes % : , = and those below 0x21 and 0x7f are written %XX. A level whose rule
  // says share_threshold has the rule's key and value for those of the entry ('*' for no value), so
  // all that it fits share a bucket. The digits of a key that is cut are an unkeyed BLAKE2b of the
  // whole. Requires: `rule` is null or what the tree has
  // matched with the entries. Cost: O(bytes); grows `key` by the whole before it is cut.
  void AppendKey(std::string_view domain, const Rule* rule,
                 std::span<const DescriptorEntry> entries, std::string& key) const;

  // The rules from the first level down to one of its rules.
  using Path = absl::InlinedVector<const Rule*, kRuleLevelsMax>;
  [[nodiscard]] Path PathTo(const Rule& rule) const;

  // True if metrics tell the values of descriptors that meet the rule apart: it has
  // detailed_metric, or value_to_metric on a level down to it.
  [[nodiscard]] bool HasMetricValues(const Rule& rule) const noexcept {
    return metric_levels_[PlaceOf(rule)] != 0;
  }
  // The keys and values by which metrics know the levels down to a rule: those of the rules. On the
  // levels that tell values apart the value is that of the entry, unless they share one bucket.
  // Requires: that the tree has matched the rule with the entries; without HasMetricValues these
  // may be empty.
  [[nodiscard]] absl::InlinedVector<DescriptorEntry, kRuleLevelsMax> MetricLevels(
      const Rule& rule, std::span<const DescriptorEntry> entries) const;
  // Appends the name by which metrics know the limits of such a rule: rls:DOMAIN.KEY:VALUE.KEY,
  // escaped as in keys, dots too. A level with a value that is not the rule's has KEY=VALUE.
  // Requires: HasMetricValues, and that the tree has matched it with the entries.
  void AppendMetricName(const Rule& rule, std::span<const DescriptorEntry> entries,
                        std::string& name) const;

  // In the order of the files; rule i has the place i, which `parent` names.
  [[nodiscard]] std::span<const Rule> rules() const noexcept { return rules_; }
  [[nodiscard]] std::span<const RuleDomain> domains() const noexcept { return domains_; }
  [[nodiscard]] const RuleDomain& DomainOf(const Rule& rule) const noexcept {
    return domains_[domain_of_rule_[PlaceOf(rule)]];
  }
  // The place of one of its rules.
  [[nodiscard]] std::size_t PlaceOf(const Rule& rule) const noexcept {
    return static_cast<std::size_t>(&rule - rules_.data());
  }

 private:
  // A level: that of a domain or below a rule. Number i is of the domain i, and domains_.size() + i
  // of the rule i.
  using LevelId = std::uint32_t;

  struct Child {
    LevelId level;
    absl::string_view key;
    absl::string_view value;

    friend bool operator==(const Child&, const Child&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Child& child) {
      return H::combine(std::move(h), child.level, child.key, child.value);
    }
  };
  struct Pattern {
    LevelId level;
    std::uint32_t rule;
    Wildcard key;
    Wildcard value;
  };
  struct Level {
    std::uint32_t patterns_begin = 0;  // in patterns_
    std::uint32_t patterns_end = 0;
    bool has_rules = false;
  };

  RuleTree() = default;

  [[nodiscard]] LevelId LevelBelow(std::uint32_t rule) const noexcept {
    return static_cast<LevelId>(domains_.size()) + rule;
  }
  // Finds or makes the domain of a file.
  [[nodiscard]] absl::StatusOr<std::uint32_t> DomainOf(const RuleFile& file, bool merge_domains,
                                                       std::span<const RuleFile> files);
  void IndexRules(std::span<const LevelId> level_of_rule);
  void NoteMetricLevels();
  // The rule on a level that an entry meets; null: none.
  [[nodiscard]] const Rule* Find(LevelId level, const DescriptorEntry& entry) const noexcept;

  std::vector<RuleDomain> domains_;
  absl::flat_hash_map<absl::string_view, std::uint32_t> domain_ids_;
  std::vector<Rule> rules_;  // `parent` is a place in here
  std::vector<std::uint32_t> domain_of_rule_;
  // A bit for each level down to the rule whose value metrics have; the first level's is the
  // lowest.
  std::vector<std::uint8_t> metric_levels_;
  std::vector<Level> levels_;
  absl::flat_hash_map<Child, std::uint32_t> children_;
  std::vector<Pattern> patterns_;  // by level; on each in the order of the files
};

}  // namespace weir
