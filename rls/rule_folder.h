// The files of the option rls-config: those of a folder, or one.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace weir {

struct RulePaths {
  std::vector<std::string> files;  // in the order of names
  // Of a folder: what envoyproxy/ratelimit would read, too, and weir does not: files with other
  // names, and folders in it. Names that begin with ".." are those of Kubernetes for its mounts.
  std::vector<std::string> passed_over;
};

// Finds the files `*.yaml` and `*.yml` of a folder that are not hidden, with the folder's name
// before them; or the file itself, whatever its name. Symbolic links are followed. Fails with
// kUnavailable if the folder cannot be read, and with kInvalidArgument if it has no such file.
[[nodiscard]] absl::StatusOr<RulePaths> FindRuleFiles(const std::string& path);

}  // namespace weir
