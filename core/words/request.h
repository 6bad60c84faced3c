// A request: the checks of one command, decided all or nothing. A check is one limit on one key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/container/inlined_vector.h"

#include "core/rules/limit.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"

namespace weir {

// The most checks of one request, after policies are expanded. (Verdict has a bit for each check.)
inline constexpr std::size_t kChecksMax = 64;

// The most limits of a policy, so that a request can ask for all.
inline constexpr std::size_t kPolicyLimitsMax = kChecksMax;

struct Check {
  std::string_view key;       // any bytes; viewed, not owned
  const Limit* limit;         // not null; not owned
  std::int64_t cost = 1;      // tokens; >= 0
  LimitHint* hint = nullptr;  // where the limit's id is remembered between requests; may be null
  KeyHash hash = {};          // of the key, by the hasher of the limiter that decides
  std::int64_t keep = 0;      // tokens that must be left after the request; >= 0
};

// 1 to kChecksMax checks. Several may share a key. Checks that name the same bucket are decided as
// one check with the sum of their costs and the greatest of their keeps.
using Request = absl::InlinedVector<Check, 4>;

}  // namespace weir
