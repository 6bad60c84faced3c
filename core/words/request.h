// A check is one limit of one key; a request is the checks of one command, all or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/container/inlined_vector.h"

#include "core/rules/limit.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"

namespace weir {

// Checks of one request, after policies are expanded. (Verdict has a bit for each.)
inline constexpr std::size_t kChecksMax = 64;

struct Check {
  std::string_view key;       // any bytes; viewed, not owned
  const Limit* limit;         // not null; not owned
  std::int64_t cost = 1;      // tokens; >= 0
  LimitHint* hint = nullptr;  // where the limit's id is remembered between requests; may be null
  KeyHash hash = {};          // of the key, by the hasher of the limiter that decides
};

// At least one check and at most kChecksMax. Several may share a key, and several may name the same
// bucket: those are one check with the summed cost.
using Request = absl::InlinedVector<Check, 4>;

}  // namespace weir
