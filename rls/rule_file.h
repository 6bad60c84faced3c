// The files of rules of Envoy's rate limit service: the YAML that envoyproxy/ratelimit reads.
//
//     file       = domain: text, [descriptors: list of descriptor], [on_no_match: ok | deny],
//                  [hits: report | ask]
//     descriptor = key: text, [value: text], [rate_limit: limit], [descriptors: list], [flags],
//                  [metadata: map]
//     flags      = shadow_mode | quota_mode | detailed_metric | value_to_metric | share_threshold
//     limit      = unit: word, [requests_per_unit: 0 .. 2^32-1], [unit_multiplier: n],
//                  [algorithm: fixed | bucket | sliding], [burst: n], [name: text], [replaces]
//                | limits: list of 1 to 8 words of core/words/limit_grammar.h, [name], [replaces]
//                | unlimited: true, [name], [replaces]
//     replaces   = list of {name: text}
//
// Units are second, minute, hour, day, week, month (30 days) and year (365 days), in any case. A
// plain number is the limit `N/period,fixed,aligned`: its windows begin at multiples of the period
// since 1970. Weir's own keys are on_no_match, hits, unit_multiplier, algorithm, burst and limits.
// Null is the same as a missing key.
//
// Pure, but for ReadRuleFile; thread-safe. No exception leaves these functions. Tested by
// rule_file_test.cc and rule_file_fuzz.cc.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "rls/rule.h"

namespace weir {

// Fails with kUnavailable if the file cannot be read, else as ParseRuleFile does.
[[nodiscard]] absl::StatusOr<RuleFile> ReadRuleFile(const std::string& path);

// Reads the text of a file; `path` is its name in errors. Fails with kInvalidArgument and one line
// about the first mistake, which begins with the place of the wrong key or value:
//     a.yaml:7: unknown unit 'foo' (second, minute, hour, day, week, month, year)
// Two descriptors of one level with the same key and value are a mistake that RuleTree finds.
// Cost: some 15 us a rule, nearly all of it in yaml-cpp.
[[nodiscard]] absl::StatusOr<RuleFile> ParseRuleFile(std::string_view text,
                                                     const std::string& path);

}  // namespace weir
