// The answer to one check, and the answer to a whole request.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"

#include "core/base/instant.h"

namespace weir {

// A retry_after that no time brings: the cost exceeds what the limit can ever hold. Greater than
// every wait.
inline constexpr Nanos kNever = Nanos::max();

// One limit's answer to one cost at one instant.
struct Decision {
  bool allowed = false;
  std::int64_t remaining = 0;  // tokens that would still pass at that instant
  Nanos retry_after{0};        // 0 if allowed; else > 0, or kNever
  Nanos reset_after{0};        // until the bucket is full; >= 0

  friend bool operator==(const Decision&, const Decision&) = default;
};

// The common verdict of all limits of a request.
struct Verdict {
  bool allowed = false;
  std::int64_t remaining = 0;  // the fewest of all limits
  Nanos retry_after{0};        // until every limit would admit the same request: the longest
  Nanos reset_after{0};        // until every bucket is full: the longest
  std::size_t limit_index =
      0;  // the check that decided: the longest wait, else the fewest remaining; first of equals
  // A bit a check, the first one's the lowest: it asks the bucket of an earlier one, with which it
  // was decided as one.
  std::uint64_t repeated = 0;
  // One a check, in order. `allowed` is what that limit said; the numbers are those after the
  // verdict, so where the request is denied they are those of an untouched bucket.
  absl::InlinedVector<Decision, 4> decisions;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// The answer to a request for as many tokens as there are.
struct Grant {
  std::int64_t granted = 0;
  Verdict verdict;  // allowed: something was granted; retry_after: else, until one could be
};

}  // namespace weir
