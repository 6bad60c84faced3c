// The answer to one check, and the answer to a whole request.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"

#include "core/base/instant.h"

namespace weir {

// The retry_after of a cost that can never pass: it exceeds the most that the limit ever holds.
// Greater than every wait.
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
  // absl::StatusOr fills a result that has no constructor with zeros first.
  Verdict() noexcept;

  bool allowed = false;
  std::int64_t remaining = 0;  // the fewest of all limits
  Nanos retry_after{0};        // until every limit would admit the same request: the longest
  Nanos reset_after{0};        // until every bucket is full: the longest
  // The check that decided: if denied the one with the longest wait, else the one with the fewest
  // remaining; the first of equals.
  std::size_t limit_index = 0;
  // One bit per check, the first check's is the lowest: set if the check uses the same bucket as an
  // earlier check. Such checks were decided together, as one.
  std::uint64_t repeated = 0;
  // One bit per check: set if the verdict has shut the check's limit, which says ban=.
  std::uint64_t banned = 0;
  // One per check, in order. `allowed` is that limit's own answer. The numbers are those after the
  // verdict: if the request is denied, those of an untouched bucket.
  absl::InlinedVector<Decision, 4> decisions;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

inline Verdict::Verdict() noexcept = default;

// The answer to a charge of tokens that are taken whether they are there or not.
struct Charged {
  Charged() noexcept;  // as Verdict has one

  // allowed and limit_index: what a decision would have said. The other numbers are those after the
  // charge, with retry_after until each limit has a token.
  Verdict verdict;
  std::uint64_t beyond =
      0;  // one bit per check, as in Verdict::repeated: the tokens were not there
  // For each bit of `beyond`, in order: the tokens that were there before the charge. (For the
  // other checks that number is the sum of the charge and the tokens that remain.)
  absl::InlinedVector<std::int64_t, 1> available_before;
};

inline Charged::Charged() noexcept = default;

// The answer to a request for as many tokens as are available.
struct Grant {
  std::int64_t granted = 0;
  Verdict verdict;  // allowed: granted > 0; retry_after: if not allowed, until one token could be
  // True if the request was granted before and is held since: nothing was decided or charged.
  bool renewed = false;
};

// The answer to a request for a slice (slice.h).
struct SliceGrant {
  std::int64_t granted = 0;
  Nanos life{0};  // whole microseconds
  // The numbers after the grant. `allowed`: what was needed is granted; of a decision, its limit
  // had that. retry_after: until SliceWish::unit more units could be granted, 0 if they could now.
  // limit_index: the check with the longest such wait, else the one with the fewest remaining.
  Verdict verdict;

  // True if the client may settle the slice.
  [[nodiscard]] bool opens_hold() const noexcept { return granted > 0 && life > Nanos{0}; }
};

}  // namespace weir
