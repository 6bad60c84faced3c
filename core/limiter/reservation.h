// Tokens of the future, charged already: what RL.WAIT waits for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "absl/container/inlined_vector.h"

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "core/table/key_hash.h"

namespace weir {

// It owns all that it needs, so that the words of the request may go.
struct Reservation {
  struct Part {
    Limit limit;
    Bucket before;
    Bucket after;  // as before where nothing was charged
    std::uint64_t cost;
    bool allowed;  // what the limit said; false only of a shadow

    // The bucket once the part is given back, which it is only if no later request changed the
    // bucket.
    [[nodiscard]] Bucket GivenBack(const Bucket& present) const noexcept {
      return present == after ? before : present;
    }
  };
  KeyHash key;                         // where the keeper of the buckets goes by hashes
  absl::InlinedVector<Part, 2> parts;  // one a check, but for repeated ones
  absl::InlinedVector<std::uint8_t, 4> part_of_check;
  Instant ready;  // when the last of its tokens is there
};

// The answer to a request that may wait.
struct Admission {
  Verdict verdict;
  std::optional<Reservation> reservation;  // set where the verdict is to be waited for
};

// What the limits say at `now` to the buckets of the parts as they are: where the reservation is
// `allowed`, how much is left; else when the same request would pass. Pure; a decision a part.
[[nodiscard]] Verdict ReservationVerdict(const Reservation& reservation,
                                         std::span<const Bucket> buckets, bool allowed, Instant now,
                                         Nanos max_wait);

}  // namespace weir
