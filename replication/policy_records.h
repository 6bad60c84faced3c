// Policies and overrides <-> the bodies of POLICIES frames.
//
//     body   = next-id:u32 record*
//     record = "P" policy:u32 bytes:varint value                       a policy
//            | "R" policy:u32 bytes:varint value                       one that is retired
//            | "O" policy:u32 bytes:varint key bytes:varint value      its override for a key
//
// Numbers are big-endian; varint.h has the others. The values are those of core/words/
// policy_bytes.h; one of 0 bytes says that the policy ("P"), or the override, is gone. `next-id` is
// the id of the next new policy.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "absl/functional/function_ref.h"

#include "core/words/policies.h"
#include "replication/frame.h"

namespace weir {

// The size to tell to WritePolicies for a frame. The largest record fits into it: a key of a
// request, which has at most 64 KiB, and 64 limits.
inline constexpr std::size_t kPoliciesBytes = kBodyBytesMax / 2;

// Calls `take` for each body of at most `bytes`, at least once. Only a body of a single record may
// be larger.
void WritePolicies(const PolicyChanges& changes, std::size_t bytes,
                   absl::FunctionRef<void(std::string_view body, bool is_last)> take);

// Reads a body, in its order. Policies have no overrides, and limits no owner yet. Returns nothing
// for bytes that WritePolicies does not write.
[[nodiscard]] std::optional<PolicyChanges> ReadPolicies(std::string_view body);

}  // namespace weir
