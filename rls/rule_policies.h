// The policies that keep the limits of rules, so that a rule's numbers may change and its counts
// stay, and RL.INSPECT, RL.STATS, saves and replicas know it as any policy.
//
// The policy of a rule is named after the rule: rls:DOMAIN.KEY:VALUE.KEY, a level without a value
// being KEY, if these have only letters, digits, "_" and "-", and the name has at most
// kLabelBytesMax bytes. Another name has "_" in the place of each other byte, is cut, and ends in
// ":" and the first 16 hex digits of a 128-bit unkeyed BLAKE2b of the exact texts. Limits that
// stand in calls belong to the policy kInlinePolicy, each unit's at a position of its own.
//
// Pure. Cost: some us a rule.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/policies/policy.h"
#include "rls/rule.h"
#include "rls/rule_tree.h"

namespace weir {

inline constexpr std::string_view kInlinePolicy = "rls:inline";

// The position of a unit's limit in kInlinePolicy. Requires: not kNone.
[[nodiscard]] constexpr std::size_t InlinePosition(RuleUnit unit) noexcept {
  return static_cast<std::size_t>(unit) - 1;
}

struct RulePolicies {
  std::vector<std::string> names;  // by the place of the rule; empty for one that needs no policy
  // Distinct names, and their limits.
  std::vector<std::pair<std::string, PolicyLimits>> policies;
};

// Fails with kInvalidArgument if two rules would have one name, which is as good as impossible.
[[nodiscard]] absl::StatusOr<RulePolicies> PoliciesOf(const RuleTree& tree);

}  // namespace weir
