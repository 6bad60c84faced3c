// The limits of a policy or of an override as one text: their words, separated by blanks. They have
// this form on disk (persistence/format.h) and in Redis's files (module/values/policy_bytes.h).
//
// Pure; thread-safe. Cost: one pass.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "core/words/policy.h"

namespace weir {

void AppendPolicyLimits(const PolicyLimits& limits, std::string& out);

// Parses such a text; the limits have no owner yet. Fails as ParsePolicyLimits does.
[[nodiscard]] absl::StatusOr<PolicyLimits> ReadPolicyLimits(std::string_view text);

}  // namespace weir
