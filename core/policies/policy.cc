#include "core/policies/policy.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/words/limit_grammar.h"

namespace weir {

absl::StatusOr<PolicyLimits> ParsePolicyLimits(std::span<const std::string_view> words) {
  if (words.empty() || words.size() > kPolicyLimitsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a policy has 1 to ", kPolicyLimitsMax, " limits"));
  }
  PolicyLimits limits;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view text = words[i];
    absl::StatusOr<LimitWord> word = ParseLimitWord(text);
    if (!word.ok()) {
      return WithPeriod(word.status(), text, i + 1 < words.size() ? words[i + 1] : "");
    }
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

std::optional<Limit> LimitIn(const PolicyLimits& limits, const Limit& interned) {
  if (interned.owner().position >= limits.size()) return std::nullopt;
  const Limit& present = limits[interned.owner().position].limit;
  WEIR_CHECK(present.owner() == interned.owner());
  if (present.AsShadow().identity() != interned.AsShadow().identity()) return std::nullopt;
  // "@policy,shadow" has its own buckets, beside those of "@policy". A shadow limit of a policy has
  // shadow buckets only.
  if (present.shape().shadow && !interned.shape().shadow) return std::nullopt;
  return interned.shape().shadow ? present.AsShadow() : present;
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

absl::Status CheckLabels(const PolicyLimits& limits) {
  for (const PolicyLimit& limit : limits) {
    // Its text costs as much as all else about a policy, so it is made for a mistake only.
    if (CheckLabel(limit.label, {}).ok()) continue;
    return CheckLabel(limit.label, PolicyLimitText(limit));
  }
  return absl::OkStatus();
}

}  // namespace weir
