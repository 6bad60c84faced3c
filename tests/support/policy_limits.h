// The limits of a policy, parsed from the words that a test writes.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/check.h"
#include "core/policies/policy.h"

namespace weir {

// Requires: `words` are limits that ParsePolicyLimits accepts.
[[nodiscard]] inline PolicyLimits LimitsOf(std::span<const std::string_view> words) {
  absl::StatusOr<PolicyLimits> limits = ParsePolicyLimits(words);
  WEIR_CHECK(limits.ok());
  return *std::move(limits);
}
[[nodiscard]] inline PolicyLimits LimitsOf(std::initializer_list<std::string_view> words) {
  return LimitsOf(std::vector<std::string_view>(words));
}

}  // namespace weir
