// Matches a call with the rules, before any bucket is looked at: which rule each descriptor meets,
// which of them drop out, and how the tokens of the others are taken.
//
//     const MatchedCall matched(tree, call);
//     for (const MatchedPart& part : matched.parts()) ...    // to be decided, all on one state
//     for (const MatchedDescriptor& descriptor : matched.descriptors()) ...  // to be answered
//
// Rules drop out in this order: a descriptor of an unknown domain, or that no rule matches; one of
// an unlimited rule; one whose limit's name is in the `replaces` of a rule that the call matches,
// wherever that stands. A descriptor that brings its own limit has that in the place of a rule.
//
// Pure. Views the tree and the call. Cost: that of a match and of a key for each descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"

#include "core/plans/call_plan.h"
#include "rls/call.h"
#include "rls/rule.h"
#include "rls/rule_tree.h"

namespace weir {

// A rule of a call, or a limit that stands in it, on one key.
struct MatchedPart {
  const Rule* rule = nullptr;                     // null: the limit stands in the call
  const CallLimit* inline_limit = nullptr;        // null: that of the rule; 0 counts for its bucket
  std::string_view key = {};                      // of the buckets; belongs to the matched call
  std::span<const DescriptorEntry> entries = {};  // of the descriptor
  Way way = Way::kAsk;
  std::int64_t hits = 1;
  bool is_shadow = false;
  bool is_quota = false;
};

struct MatchedDescriptor {
  // kNoLimit: OK. kDenied: no rule matches, and its domain denies that. kUnlimited: OK, with all
  // tokens. kPart: a limit decides.
  enum class Answer : std::uint8_t { kNoLimit, kDenied, kUnlimited, kPart };

  Answer answer = Answer::kNoLimit;
  const Rule* rule = nullptr;  // that it meets; null: none
  std::size_t part = 0;        // of kPart
};

class MatchedCall {
 public:
  MatchedCall(const RuleTree& tree, const RateLimitCall& call);
  MatchedCall(const MatchedCall&) = delete;
  MatchedCall& operator=(const MatchedCall&) = delete;

  [[nodiscard]] std::span<const MatchedPart> parts() const noexcept { return parts_; }
  // One for each of the call's, in their order.
  [[nodiscard]] std::span<const MatchedDescriptor> descriptors() const noexcept {
    return descriptors_;
  }
  // What the patterns have cost, as RuleMatch says.
  [[nodiscard]] std::uint64_t visits() const noexcept { return visits_; }
  // Null: no file has the domain.
  [[nodiscard]] const RuleDomain* domain() const noexcept { return domain_; }
  // True if one of the descriptors has that answer.
  [[nodiscard]] bool Has(MatchedDescriptor::Answer answer) const noexcept;

 private:
  void DenyInline(const MatchedPart& zero) noexcept;

  const RuleDomain* domain_ = nullptr;
  std::uint64_t visits_ = 0;
  absl::InlinedVector<MatchedDescriptor, 4> descriptors_;
  absl::InlinedVector<MatchedPart, 4> parts_;
  std::string keys_;
};

}  // namespace weir
