// The policy file: policies that live in version control and not in the database.
//
//     [policies]
//     free       = ["10/s", "1000/h"]
//     enterprise = ["1000/s,burst=2000"]
//     internal   = "unlimited"
//
// TOML; a table "policies" and nothing else, in it a limit or a list of limits for each name, in
// the language of limit_grammar.h. All of it is ASCII, except comments. It is read as a whole or
// not at all.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/words/policy.h"

namespace weir {

// In the order of the names, which are distinct.
using PolicyFile = std::vector<std::pair<std::string, PolicyLimits>>;

// Fails with kInvalidArgument, or kUnavailable if it cannot be read, and one line that begins with
// the place: "policies.toml:3: policy 'free': invalid limit '10/x': unknown unit 'x' (...)".
[[nodiscard]] absl::StatusOr<PolicyFile> ReadPolicyFile(const std::string& path);

// Reads the text of a policy file; `path` is its name in errors.
[[nodiscard]] absl::StatusOr<PolicyFile> ParsePolicyFile(std::string_view text,
                                                         const std::string& path);

}  // namespace weir
