// A request to settle a hold: its keys, and the true costs of some of their limits.
#pragma once

#include <cstdint>
#include <optional>

#include "core/rules/limit.h"
#include "core/table/key_hash.h"

namespace weir {

// A key whose part of a hold is to be settled.
struct SettledKey {
  HashedKey key;
  // The true cost of the limits that are not named, except for held ones; unset: as reserved.
  std::optional<std::int64_t> cost;
};

// The true cost of one limit of a hold, or of all limits of a policy.
struct TrueCost {
  HashedKey key;
  const Limit* limit = nullptr;  // null: those of `policy`
  PolicyId policy = kNoPolicy;
  // Tokens, or granted tokens if the hold was granted a number of them; unset: as reserved. Not for
  // a held limit that is named; held limits of a policy do not have it.
  std::optional<std::int64_t> cost;
};

}  // namespace weir
