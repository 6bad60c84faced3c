// The texts of limits in the bytes of a state (state_bytes.h), by the limits' ids.
//
// A state is written with every change of a key, and making a text takes some 300 ns, so texts are
// remembered. Not thread-safe. Cost: a look-up, and for a policy's limit another for the policy.
#pragma once

#include <string>
#include <string_view>

#include "absl/container/node_hash_map.h"

#include "core/rules/limit.h"
#include "core/table/limit_registry.h"
#include "core/words/policies.h"

namespace weir {

// The beginning of the text of CL.THROTTLE's buckets.
inline constexpr std::string_view kThrottleText = "cl.throttle ";

// The canonical text of a limit; for one with an owner, that of its identity, as its numbers differ
// from node to node: each is 1.
[[nodiscard]] std::string IdentityText(const Limit& limit);

class LimitTexts {
 public:
  LimitTexts(const LimitRegistry& registry, const Policies& policies)
      : registry_(registry), policies_(policies) {}

  // Empty if the policy no longer exists. Good until Clear().
  [[nodiscard]] std::string_view Of(LimitId id);

  // Forgets all: ids were taken back.
  void Clear() { texts_.clear(); }

 private:
  const LimitRegistry& registry_;
  const Policies& policies_;
  absl::node_hash_map<LimitId, std::string> texts_;
};

}  // namespace weir
