// The bytes of a policy and of an override: in the records of a data directory
// (docs/persistence-format.md), and in the stream to a replica. Their ids and keys are beside them.
// Redis's files have the same text of limits (module/values/policy_bytes.h).
//
//     policy   = flags: u8  name-bytes: u8  name  [greatest capacities]  [longest bans]  limits
//     override = limits
//     greatest = count: u8  { nanoseconds: u64 }
//     limits   = word { blank word }
//
// Numbers are big-endian. The flags are 1 for a policy of the policy file, 2 if capacities follow
// and 4 if bans do: only where they exceed those of the limits. Whether a policy is retired is not
// told.
//
// The functions that make bytes assert that their argument is one that a server can have; those
// that read bytes take any, and return nothing for bytes that no server has written. Pure; cost:
// linear.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "core/policies/policy.h"

namespace weir {

// The limits alone, as a text. Reading fails as ParsePolicyLimits does.
void AppendPolicyLimits(const PolicyLimits& limits, std::string& out);
[[nodiscard]] absl::StatusOr<PolicyLimits> ReadPolicyLimits(std::string_view text);

[[nodiscard]] std::string PolicyValue(const Policy& policy);
// Returns the policy of that id without its overrides, and its limits without an owner.
[[nodiscard]] std::optional<Policy> ReadPolicyValue(PolicyId id, std::string_view bytes);

[[nodiscard]] std::string OverrideValue(const PolicyLimits& limits);
// The limits have no owner yet.
[[nodiscard]] std::optional<PolicyLimits> ReadOverrideValue(std::string_view bytes);

// The limits in a policy's bytes, which may be some that no server has written; for messages.
// Nothing if the numbers before the limits cannot be read.
[[nodiscard]] std::optional<std::string_view> WordsInPolicyValue(std::string_view bytes);

}  // namespace weir
