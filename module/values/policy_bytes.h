// All policies and their overrides as bytes: in RDB files, before the keys.
//
//     bytes      = ( [ capacities ] name NUL limits NUL count { length key limits NUL } ) *
//     capacities = NUL count { capacity }, where the policy's limits have held more than now
//     limits     = limit words with blanks between (core/words/policy.h)
//     count, length: u32, big-endian; capacity: u64 of nanoseconds, big-endian
//
// Any bytes may be read, none is believed.
#pragma once

#include <string>
#include <string_view>

#include "core/words/policies.h"

namespace weir {

[[nodiscard]] std::string PolicyBytes(const Policies& policies);

// Makes the policies just those of the bytes. Those that stay keep their buckets. Returns false if
// the bytes are none of ours; then some may be missing.
[[nodiscard]] bool ReadPolicyBytes(std::string_view bytes, Policies& policies);

}  // namespace weir
