// A policy: a named list of limits that the server keeps, so that the numbers are in one place and
// not in every client.
//
//     RL.POLICY SET free 10/s 1000/h        then        RL.ALLOW user:42 @free
//
// A Policy is immutable: a change makes a new one with the same id. Its limits are owned by that id
// (LimitOwner), so their buckets stay, and with them every caller's debt, which is a time. An
// override gives one exact key other limits in the same positions, hence in the same buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/rules/limit.h"
#include "core/words/request.h"

namespace weir {

class Overrides;

struct PolicyLimit {
  Limit limit;                       // owned by its policy, at its position
  std::optional<std::int64_t> cost;  // for requests whose word has none
  std::optional<std::int64_t> keep;  // likewise
  std::string label;                 // may be empty

  friend bool operator==(const PolicyLimit&, const PolicyLimit&) = default;
};

using PolicyLimits = std::vector<PolicyLimit>;

struct Policy {
  std::string name;
  PolicyId id{};           // the same as long as the policy exists, never reused; not kNoPolicy
  bool from_file = false;  // the policy file owns it: SET and DEL refuse to change it
  PolicyLimits limits;     // 1 .. kPolicyLimitsMax
  std::shared_ptr<Overrides> overrides{};  // the same object in all versions of the policy
  bool retired = false;  // the file no longer has it: no request may use it, SET and DEL may
  // One for each position of the longest list of limits that the policy or an override has had.
  std::vector<GreatestNumbers> greatest{};
};

// Returns the limit among a policy's `limits` that has the buckets of `interned`, an interned limit
// of the policy. Returns nothing if these buckets have other numbers or another meaning.
[[nodiscard]] std::optional<Limit> LimitIn(const PolicyLimits& limits, const Limit& interned);

// True if the greatest capacity, or the greatest ban, in some position is above the policy's
// present one there.
[[nodiscard]] bool HasHeldMore(const Policy& policy);
[[nodiscard]] bool HasBannedLonger(const Policy& policy);

// Reads the limits of a policy or of an override; they have no owner yet. Fails with
// kInvalidArgument, or as ParseLimitWord does: a bad limit, another policy's name, no limit or too
// many.
[[nodiscard]] absl::StatusOr<PolicyLimits> ParsePolicyLimits(
    std::span<const std::string_view> words);

// Fails with kInvalidArgument unless all labels are short and of the bytes of labels.
[[nodiscard]] absl::Status CheckLabels(const PolicyLimits& limits);

// The canonical word of a policy's limit; reading it gives an equal one.
[[nodiscard]] std::string PolicyLimitText(const PolicyLimit& limit);

}  // namespace weir
