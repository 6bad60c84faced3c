// RL.POLICY SET with TRIM in the module, after the change of the policy: a timer cuts what the
// policy's buckets owe, in some keys at a time, and answers the client after the last ones.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "core/policies/policy.h"
#include "module/handlers/call.h"

namespace weir {

// Logs that a policy's buckets were cut.
void LogTrimmed(redis::Context* context, std::string_view policy, std::size_t buckets);

// Answers OK when all keys of all databases of this node are done. Replicas and the AOF get each
// cut as a state. Other clients are served meanwhile. The work continues if the client leaves; it
// ends if the node becomes a replica, or if the policy gets other limits or is deleted. `before`:
// the policy before the change. Requires: the client may wait.
void TrimPolicy(Call& call, std::shared_ptr<const Policy> before,
                std::shared_ptr<const Policy> after);

}  // namespace weir
