// A slice: tokens that a client takes in advance, to spend them beside the application for a while.
//
// The client says how many units it needs now and how many it would like to have; the rule says how
// many it gets and how long it may spend them, its life. A unit is what one decision costs: of each
// limit its cost.
//
//     ahead   = the least of all limits: max(room / 8, what comes back in life / 2),
//               at most a quarter of the burst or count
//     granted = min(room, NEED + min(UPTO - NEED, ahead))
//               0 if NEED > 0 and that is below UNIT: units that would serve no request
//     life    = min(wished, time to the end of each window)
//
// `room` is what a limit has beside the tokens that it keeps; in `ahead` that limit's own, in
// `granted` the fewest of all. So where little is left, nothing is given in advance and no unit
// lies idle, and a rate that comes back quickly goes to the clients with demand. A unit is spent in
// the window that it was charged to, since its life ends there.
//
// The life is 0, and NEED alone is decided, of a limit whose slices could not be settled or
// believed: one that bans, a shadow, and a token bucket that is worth less time than the slice
// would live. A limit of cost 0 ends no slice: nothing is taken from it.
//
// Pure and total, like the rules; nothing is charged here. O(1) a limit: a few divisions. Tested by
// slice_test.cc.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"

namespace weir {

// The longest life of a slice that an operator may allow.
inline constexpr Nanos kSliceLifeMax = std::chrono::seconds{60};

// What a client asks for, in units.
struct SliceWish {
  std::int64_t need = 0;  // for requests that wait; >= 0
  std::int64_t unit = 1;  // for the smallest of them; >= 1
  std::int64_t upto = 1;  // at most, with those for later; >= 1
  Nanos life{0};          // the longest that a slice may live; >= 0
};

// A limit of a request, with the bucket as it is before the slice.
struct SlicedLimit {
  const Limit* limit;
  Bucket bucket;
  std::uint64_t cost;  // of one unit
  std::uint64_t keep;
};

struct SliceTerms {
  std::int64_t granted = 0;
  Nanos life{0};  // whole microseconds

  friend bool operator==(const SliceTerms&, const SliceTerms&) = default;
};

// Requires: limits that are not held, each bucket once; `now` and `max_wait` as rule.h says.
[[nodiscard]] SliceTerms DecideSlice(std::span<const SlicedLimit> limits, const SliceWish& wish,
                                     Instant now, Nanos max_wait) noexcept;

}  // namespace weir
