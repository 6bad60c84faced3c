// The policy file: policies kept in a file, for example under version control.
//
//     [policies]
//     free       = ["10/s", "1000/h"]
//     enterprise = ["1000/s,burst=2000"]
//     internal   = "unlimited"
//
// It is TOML with one table, "policies", that gives each name a limit or a list of limits in the
// language of core/words/limit_grammar.h. Only comments may have characters outside of ASCII. A
// file with an error changes nothing.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/policies/policy.h"

namespace weir {

// Sorted by name; the names are distinct.
using PolicyFile = std::vector<std::pair<std::string, PolicyLimits>>;

// Fails with kUnavailable if the file cannot be read; else with kInvalidArgument and one line that
// begins with the place: "policies.toml:3: policy 'free': invalid limit '10/x': unknown unit 'x'
// (...)".
[[nodiscard]] absl::StatusOr<PolicyFile> ReadPolicyFile(const std::string& path);

// Reads the text of a policy file; `path` is its name in errors.
[[nodiscard]] absl::StatusOr<PolicyFile> ParsePolicyFile(std::string_view text,
                                                         const std::string& path);

}  // namespace weir
