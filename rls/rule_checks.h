// The checks of a rule that are the same whatever it is read from: a file (rule_file.h) or a
// control plane (xds_response.h).
//
//     WEIR_RETURN_IF_ERROR(At(place, CheckRuleKey(rule.key)));
//
// A check knows values and no places: its error is kInvalidArgument with a text before which the
// reader puts the place of the wrong value. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "rls/rule.h"

namespace weir {

// A unit of rules in the language of limits: 2 months are "60d".
struct RuleUnitRow {
  std::string_view name;
  RuleUnit unit;
  std::int64_t factor;
  std::string_view period_unit;
  std::int64_t multiplier_max;  // so that the period is at most kPeriodMax
};

// The unit of that name, in any case: "minute".
[[nodiscard]] absl::StatusOr<const RuleUnitRow*> FindRuleUnit(std::string_view name);

// What is plain of a number: 20 in 2 minutes, with the options of its limit.
struct RuleRate {
  const RuleUnitRow& unit;
  std::int64_t multiplier = 1;  // 1 to unit.multiplier_max
  std::uint32_t requests = 0;   // 0: all is denied
  std::string_view options = ",fixed,aligned";
};
[[nodiscard]] absl::Status SetRate(const RuleRate& rate, RuleLimit& limit);
void SetUnlimited(RuleLimit& limit);
// The error for a key of a limit beside another one.
[[nodiscard]] absl::Status StandsBeside(std::string_view key, std::string_view other);
// Appends a limit that is spelled out.
[[nodiscard]] absl::Status AddLimitWord(std::string_view word, RuleLimit& limit);
// Appends a name of `replaces`. Requires: the limit's own name is set.
[[nodiscard]] absl::Status AddReplaced(std::string name, RuleLimit& limit);

[[nodiscard]] absl::Status CheckRuleText(std::string_view text, std::size_t bytes_max);
[[nodiscard]] absl::Status CheckDomain(std::string_view domain);
[[nodiscard]] absl::Status CheckRuleKey(std::string_view key);
[[nodiscard]] absl::Status CheckRuleLevel(int level);  // of a rule, from 1 on
// `rules`: how many there are before one more.
[[nodiscard]] absl::Status CheckRuleCount(std::size_t rules);

// Sums what the metadata of one rule takes. `level` is 1 for the map of the rule.
class MetadataBound {
 public:
  [[nodiscard]] absl::Status AddValue(std::size_t text_bytes);
  void AddKey(std::string_view key) { bytes_ += key.size(); }
  [[nodiscard]] static absl::Status CheckLevel(int level);

 private:
  std::size_t bytes_ = 0;
};

}  // namespace weir
