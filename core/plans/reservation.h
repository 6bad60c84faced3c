// A reservation: future tokens that are charged already, for which RL.WAIT waits.
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

// Owns all that it needs, so that it may outlive the words of the request.
struct Reservation {
  struct Part {
    KeyHash key;
    Limit limit;
    Bucket before;
    Bucket after;  // equal to `before` if nothing was charged
    std::uint64_t cost;
    bool allowed;  // the limit's own answer; false only for a shadow limit

    // The bucket after this part was given back; unchanged if a later request has changed it. Each
    // part is given back independently of the others.
    [[nodiscard]] Bucket GivenBack(const Bucket& present) const noexcept {
      return present == after ? before : present;
    }
  };
  absl::InlinedVector<Part, 2> parts;  // one per bucket, at most kChecksMax, of one or more keys
  absl::InlinedVector<std::uint8_t, 4> part_of_check;  // indexes into `parts`
  Instant ready;                                       // when the last of its tokens is there
  // Of two reservations from one bucket, the later one has the greater number. Both can be given
  // back only in the order from the greater number to the smaller one.
  std::uint64_t number = 0;
  std::uint64_t banned = 0;  // as Verdict::banned: shadow limits that denied
};

// The answer to a request that may wait.
struct Admission {
  Verdict verdict;
  std::optional<Reservation> reservation;  // set if the client must wait
};

// The verdict at `now` on the parts' present `buckets`: if `allowed`, what remains; if not, when
// the same request would pass. Pure. Cost: a decision for each part, two if not `allowed`.
[[nodiscard]] Verdict ReservationVerdict(const Reservation& reservation,
                                         std::span<const Bucket> buckets, bool allowed, Instant now,
                                         Nanos max_wait);

}  // namespace weir
