// A cache of the texts of limits in the bytes of a state (state_bytes.h), by the limits' ids.
//
// A state is written with every change of a key, and a new text takes about 300 ns, so texts are
// kept. Not thread-safe. Cost: a look-up, and for a policy's limit another for the policy.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"

#include "core/policies/policies.h"
#include "core/rules/limit.h"
#include "core/table/limit_registry.h"

namespace weir {

// The beginning of the text of CL.THROTTLE's buckets.
inline constexpr std::string_view kThrottleText = "cl.throttle ";

// The canonical text of a limit. The numbers of an owned limit differ from node to node, so its
// text is that of its identity, with 1 for each number that does not belong to it.
[[nodiscard]] std::string IdentityText(const Limit& limit);

// Reads a text that LimitTexts has written, perhaps on another node. Returns nothing for a limit of
// a policy or a time zone that this node does not have. Fails, whatever the bytes, if the text is
// not a limit's.
[[nodiscard]] absl::StatusOr<std::optional<Limit>> ReadLimitText(std::string_view text,
                                                                 const Policies& policies);

class LimitTexts {
 public:
  LimitTexts(const LimitRegistry& registry, const Policies& policies)
      : registry_(registry), policies_(policies) {}

  // Returns the text, empty if the limit's policy no longer exists. Good until Clear().
  [[nodiscard]] std::string_view Of(LimitId id);

  [[nodiscard]] const Limit& LimitOf(LimitId id) const noexcept { return registry_.Get(id); }

  // Forgets all texts. To be called when ids were taken back.
  void Clear() { texts_.clear(); }

 private:
  const LimitRegistry& registry_;
  const Policies& policies_;
  absl::node_hash_map<LimitId, std::string> texts_;
};

}  // namespace weir
