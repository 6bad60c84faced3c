// All policies and their overrides as bytes: in RDB files, before the keys.
//
//     bytes      = { [ capacities ] [ bans ] name NUL limits NUL count { length key limits NUL } }
//     capacities = 0x00 count { capacity }        if the policy's limits have held more than now
//     bans       = 0x01 count { ban }             if they have banned for longer than now
//     limits     = word { blank word }            core/policies/policy.h
//     count, length: u32; capacity, ban: u64 of nanoseconds; big-endian
//
// Reading is safe for any bytes.
#pragma once

#include <string>
#include <string_view>

#include "core/policies/policies.h"

namespace weir {

[[nodiscard]] std::string PolicyBytes(const Policies& policies);

// Replaces all policies by those of the bytes. Policies that exist already keep their buckets.
// Policies and overrides with a time zone that this node does not have are left out.
// Returns false if the bytes are invalid; then some policies may be missing.
[[nodiscard]] bool ReadPolicyBytes(std::string_view bytes, Policies& policies);

}  // namespace weir
