// Rules of Envoy's rate limit service, as files have them: plain values, which rule_file.h reads
// and rule_tree.h matches.
//
//     domain: shop                            a RuleFile
//     descriptors:
//       - key: user                           Rule 0, on level 1
//         rate_limit: {unit: minute, requests_per_unit: 20}
//         descriptors:
//           - {key: path, value: /api/*}      Rule 1, on level 2, of parent 0
//
// A rule has at most kRuleTextBytesMax bytes in each of its texts. The rules of a file stand in its
// order, each before those below it, so a loop over them sees every parent before its children.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/policies/policy.h"

namespace weir {

inline constexpr std::size_t kRulesMax = 10'000;  // of all files
inline constexpr int kRuleLevelsMax = 8;
inline constexpr std::size_t kDomainBytesMax = 255;
inline constexpr std::size_t kRuleTextBytesMax = 1024;
inline constexpr std::size_t kRuleLimitsMax = 8;
inline constexpr int kMetadataLevelsMax = 16;
inline constexpr std::size_t kMetadataBytesMax = 16 * 1024;  // of a rule

// The unit of a rule's number. A month has 30 days and a year 365.
enum class RuleUnit : std::uint8_t { kNone, kSecond, kMinute, kHour, kDay, kWeek, kMonth, kYear };

// The number of a rule, and what the service says of it.
struct RuleLimit {
  // 1 to kRuleLimitsMax, of which all must pass: `N/period,fixed,aligned` for a plain rule,
  // `unlimited`, `none` for a number of 0, or those that the file spells out. They have no owner.
  PolicyLimits limits;
  // As written, to be shown; kNone for `unlimited` and for limits that are spelled out. A number
  // above kWindowCountMax is decided as that.
  RuleUnit unit = RuleUnit::kNone;
  std::uint32_t unit_multiplier = 1;
  std::uint32_t requests_per_unit = 0;
  std::string name;                   // may be empty
  std::vector<std::string> replaces;  // names of limits that drop out of a call with this one
};

// What a rule says to the client: null, a truth, a number, a text, a list, or a map whose keys are
// distinct, in the order of the file.
struct Metadata {
  struct Field;
  using List = std::vector<Metadata>;
  using Map = std::vector<Field>;

  std::variant<std::monostate, bool, double, std::string, List, Map> value;
};

struct Metadata::Field {
  std::string key;
  Metadata metadata;
};

struct Rule {
  static constexpr std::uint32_t kNoParent = UINT32_MAX;

  std::uint32_t line = 0;            // of its key in the file; 0: it is from no file
  std::uint32_t parent = kNoParent;  // the place of the rule above it; kNoParent on level 1
  std::string key;                   // not empty
  std::string value;                 // empty: any
  std::optional<RuleLimit> limit;
  bool shadow_mode = false;      // it is decided and counted, and never denies
  bool quota_mode = false;       // a call is over only if all such rules of it are
  bool detailed_metric = false;  // metrics have the value of the request
  bool value_to_metric = false;  // the same, of this level in the metrics of rules below it
  bool share_threshold = false;  // all that its '*' fits share a bucket; only with a '*'
  Metadata::Map metadata;        // at most kMetadataBytesMax, kMetadataLevelsMax deep
};

// True for a rule that fits many texts: it has a '*' in its key or its value.
[[nodiscard]] inline bool IsPattern(const Rule& rule) noexcept {
  return rule.key.find('*') != std::string::npos || rule.value.find('*') != std::string::npos;
}

// The pattern of a rule's value: "*" if it has none, as it then fits any.
[[nodiscard]] inline std::string_view ValuePattern(const Rule& rule) noexcept {
  return rule.value.empty() ? std::string_view("*") : std::string_view(rule.value);
}

// Weir's own keys of a file. The verdict on a descriptor that no rule matches:
enum class OnNoMatch : std::uint8_t { kOk, kDeny };
// Hits of more than 1: a report of what has happened, charged whatever the verdict, or a question.
enum class HitsWay : std::uint8_t { kReport, kAsk };

// What is no mistake and may be one.
struct RuleRemark {
  std::uint32_t line = 0;
  std::string text;
};

// A file of rules, or what a control plane has sent under one name.
struct RuleFile {
  std::string path;               // as in errors; or that name
  std::string domain;             // 1 to kDomainBytesMax bytes
  std::uint32_t domain_line = 0;  // 0: it is from no file
  std::optional<OnNoMatch> on_no_match;
  std::optional<HitsWay> hits;
  std::vector<Rule> rules;          // at most kRulesMax
  std::vector<RuleRemark> remarks;  // of a reader who sees this file alone
};

// A rule in errors: 'key1: value1', or 'key1' if it has no value.
[[nodiscard]] inline std::string DescriptorText(const Rule& rule) {
  return Quote(rule.value.empty() ? rule.key : absl::StrCat(rule.key, ": ", rule.value));
}

// The way to a rule: "user > path: /api/*". `rules`: those among which `parent` counts.
[[nodiscard]] inline std::string RulePath(std::span<const Rule> rules, const Rule& rule) {
  std::string own = rule.value.empty() ? rule.key : absl::StrCat(rule.key, ": ", rule.value);
  if (rule.parent == Rule::kNoParent) return own;
  return absl::StrCat(RulePath(rules, rules[rule.parent]), " > ", own);
}

// "a.yaml:3", or the name alone of what is from no file.
[[nodiscard]] inline std::string PlaceText(const RuleFile& file, std::uint32_t line) {
  return line == 0 ? file.path : absl::StrCat(file.path, ":", line);
}

// "a.yaml:3"; "shop: user > path: /api/*" if it is from no file.
[[nodiscard]] inline std::string PlaceText(const RuleFile& file, std::span<const Rule> rules,
                                           const Rule& rule) {
  const std::string place = PlaceText(file, rule.line);
  return rule.line == 0 ? absl::StrCat(place, ": ", RulePath(rules, rule)) : place;
}

}  // namespace weir
