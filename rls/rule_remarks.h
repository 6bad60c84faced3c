// Remarks on rules that load and may not say what their author means, for weir-check.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rls/rule.h"

namespace weir {

// The remarks on files that RuleTree::Create joins, by file and line, each with its place:
//     a.yaml:9: 'path: /api/x*' is never met: 'path: /api/*' in a.yaml:7 fits all that it fits
// They are those of each file, rules behind a pattern that fits all they fit, and names in
// `replaces` that no limit of the domain has. Cost: O(patterns^2) of a level.
[[nodiscard]] std::vector<std::string> RemarksOn(std::span<const RuleFile> files);

}  // namespace weir
