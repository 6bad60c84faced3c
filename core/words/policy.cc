#include "core/words/policy.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/words/limit_grammar.h"

namespace weir {

absl::StatusOr<PolicyLimits> ParsePolicyLimits(std::span<const std::string_view> words) {
  if (words.empty() || words.size() > kPolicyLimitsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a policy has 1 to ", kPolicyLimitsMax, " limits"));
  }
  PolicyLimits limits;
  for (const std::string_view text : words) {
    absl::StatusOr<LimitWord> word = ParseLimitWord(text);
    if (!word.ok()) return word.status();
    if (word->kind == LimitWord::Kind::kPolicy) {
      return absl::InvalidArgumentError(
          absl::StrCat("invalid limit ", Quote(text), ": a policy cannot hold another"));
    }
    limits.push_back({*word->limit, word->cost, word->keep, word->label});
  }
  return limits;
}

std::string PolicyLimitText(const PolicyLimit& limit) {
  std::string text = LimitText(limit.limit);
  if (limit.cost) absl::StrAppend(&text, ",cost=", *limit.cost);
  if (limit.keep) absl::StrAppend(&text, ",keep=", *limit.keep);
  if (!limit.label.empty()) absl::StrAppend(&text, ",name=", limit.label);
  return text;
}

bool HasHeldMore(const Policy& policy) {
  for (std::size_t i = 0; i < policy.greatest.size(); ++i) {
    const Nanos present = i < policy.limits.size() ? policy.limits[i].limit.capacity() : Nanos{0};
    if (policy.greatest[i].capacity > present) return true;
  }
  return false;
}

bool HasBannedLonger(const Policy& policy) {
  for (std::size_t i = 0; i < policy.greatest.size(); ++i) {
    const Nanos present = i < policy.limits.size() ? policy.limits[i].limit.shape().ban : Nanos{0};
    if (policy.greatest[i].ban > present) return true;
  }
  return false;
}

}  // namespace weir
