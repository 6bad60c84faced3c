// Policies and overrides <-> the bodies of POLICIES and OVERRIDES frames.
//
//     policies  = next-id:u32 record*
//     record    = "P" policy:u32 bytes:varint value                   a policy
//               | "R" policy:u32 bytes:varint value                   one that is retired
//               | "K" policy:u32                                      one that is as it was
//               | override
//     override  = "O" policy:u32 bytes:varint key bytes:varint value  its override for a key
//     overrides = partition:u16 override*
//
// Numbers are big-endian; varint.h has the others. The values are those of core/words/
// policy_bytes.h; one of 0 bytes says that the policy ("P"), or the override, is gone. `next-id` is
// the id of the next new policy. Only a list of all policies has "K"; it has no overrides. The body
// of OVERRIDES is about a partition of PartitionOfOverride.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"

#include "core/policies/policies.h"
#include "replication/frame.h"

namespace weir {

// The size of a body that the writers get for a frame. The largest record fits into it: a key of at
// most 64 KiB, as requests have, and 64 limits.
inline constexpr std::size_t kPoliciesBytes = kBodyBytesMax / 2;

// Calls `take` for each body of at most `bytes`, at least once. Only a body of a single record may
// be larger.
void WritePolicies(const PolicyChanges& changes, std::size_t bytes,
                   absl::FunctionRef<void(std::string_view body, bool is_last)> take);

// The same for the overrides of a partition; not at all if there are none.
void WriteOverrides(std::uint16_t partition, const std::vector<OverrideChange>& overrides,
                    std::size_t bytes, absl::FunctionRef<void(std::string_view body)> take);

// Read the records of a body, in its order. The policies have no overrides yet, and the limits no
// owner. Return nothing for bytes that the writers do not write.
[[nodiscard]] std::optional<PolicyChanges> ReadPolicies(std::string_view body);
struct OverridesBody {
  std::uint16_t partition = 0;            // below kPartitionCount, and that of each key
  std::vector<OverrideChange> overrides;  // none is gone
};
[[nodiscard]] std::optional<OverridesBody> ReadOverrides(std::string_view body);

}  // namespace weir
