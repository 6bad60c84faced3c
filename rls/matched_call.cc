#include "rls/matched_call.h"

#include <algorithm>
#include <optional>

namespace weir {
namespace {

using Answer = MatchedDescriptor::Answer;

bool IsUnlimited(const RuleLimit& limit) {
  return limit.limits.front().limit.shape().algorithm == Algorithm::kUnlimited;
}

// True if a rule that the call matches has the rule's limit drop out.
bool IsReplaced(const Rule& rule, std::span<const MatchedDescriptor> descriptors) {
  const std::string& name = rule.limit->name;
  if (name.empty()) return false;
  return std::ranges::any_of(descriptors, [&](const MatchedDescriptor& other) {
    return other.rule && other.rule->limit &&
           std::ranges::count(other.rule->limit->replaces, name) > 0;
  });
}

Answer AnswerOf(const MatchedDescriptor& matched, const RuleDomain& domain,
                std::span<const MatchedDescriptor> descriptors) {
  if (!matched.rule) {
    return domain.on_no_match == OnNoMatch::kDeny ? Answer::kDenied : Answer::kNoLimit;
  }
  if (!matched.rule->limit) return Answer::kNoLimit;
  if (IsUnlimited(*matched.rule->limit)) return Answer::kUnlimited;
  return IsReplaced(*matched.rule, descriptors) ? Answer::kNoLimit : Answer::kPart;
}

Way WayOf(const RuleDomain& domain, const RateLimitCall& call, const CallDescriptor& descriptor) {
  if (descriptor.gives_back) return Way::kRefund;
  if (descriptor.hits == 0U) return Way::kLook;
  if (domain.hits == HitsWay::kAsk) return Way::kAsk;
  return descriptor.hits || call.hits() > 1 ? Way::kReport : Way::kAsk;
}

// True for a limit of 0 in the call that belongs to kInlinePolicy.
bool IsInlineZero(const MatchedPart& part) {
  return part.inline_limit != nullptr && part.inline_limit->requests_per_unit == 0 &&
         part.inline_limit->unit_multiplier == 1;
}

}  // namespace

MatchedCall::MatchedCall(const RuleTree& tree, const RateLimitCall& call) {
  for (const CallDescriptor& descriptor : call.descriptors()) {
    const RuleMatch match = tree.Match(call.domain(), descriptor.entries);
    domain_ = match.domain;
    visits_ += match.visits;
    descriptors_.push_back({.rule = descriptor.limit ? nullptr : match.rule});
  }
  if (domain_ == nullptr) return;
  absl::InlinedVector<std::size_t, 4> key_ends;
  for (std::size_t i = 0; i < descriptors_.size(); ++i) {
    const CallDescriptor& descriptor = call.descriptors()[i];
    MatchedDescriptor& matched = descriptors_[i];
    matched.answer = descriptor.limit ? Answer::kPart : AnswerOf(matched, *domain_, descriptors_);
    if (matched.answer != Answer::kPart) continue;
    const Rule* const rule = matched.rule;
    matched.part = parts_.size();
    parts_.push_back({.rule = rule,
                      .inline_limit = descriptor.limit ? &*descriptor.limit : nullptr,
                      .entries = descriptor.entries,
                      .way = WayOf(*domain_, call, descriptor),
                      .hits = static_cast<std::int64_t>(
                          descriptor.hits.value_or(std::max<std::uint64_t>(call.hits(), 1))),
                      .is_shadow = rule != nullptr && rule->shadow_mode,
                      .is_quota = rule != nullptr && rule->quota_mode});
    tree.AppendKey(call.domain(), rule, descriptor.entries, keys_);
    key_ends.push_back(keys_.size());
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : key_ends[i - 1];
    parts_[i].key = std::string_view(keys_).substr(begin, key_ends[i] - begin);
  }
  for (const MatchedPart& part : parts_) {
    if (IsInlineZero(part)) DenyInline(part);
  }
}

// A limit of 0 has no bucket, so CallPlan does not find it to be the smallest one of a bucket.
void MatchedCall::DenyInline(const MatchedPart& zero) noexcept {
  for (MatchedPart& part : parts_) {
    const CallLimit* const limit = part.inline_limit;
    if (limit != nullptr && limit->unit == zero.inline_limit->unit && limit->unit_multiplier == 1 &&
        part.key == zero.key) {
      part.inline_limit = zero.inline_limit;
    }
  }
}

bool MatchedCall::Has(MatchedDescriptor::Answer answer) const noexcept {
  return std::ranges::any_of(descriptors_, [&](const MatchedDescriptor& descriptor) {
    return descriptor.answer == answer;
  });
}

}  // namespace weir
