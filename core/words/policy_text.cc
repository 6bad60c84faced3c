#include "core/words/policy_text.h"

#include <vector>

#include "absl/strings/str_split.h"

#include "core/base/status.h"

namespace weir {

void AppendPolicyLimits(const PolicyLimits& limits, std::string& out) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (i > 0) out.push_back(' ');
    out += PolicyLimitText(limits[i]);
  }
}

absl::StatusOr<PolicyLimits> ReadPolicyLimits(std::string_view text) {
  const std::vector<absl::string_view> split = absl::StrSplit(AbslView(text), ' ');
  std::vector<std::string_view> words;
  words.reserve(split.size());
  for (const absl::string_view word : split) words.push_back(StdView(word));
  return ParsePolicyLimits(words);
}

}  // namespace weir
