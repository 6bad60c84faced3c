// Held limit: tokens that time never gives back, only the end of the hold that took them.
//
// So a held limit says how many may be taken at a time, not how many in a period. A hold takes its
// tokens with a request and returns them when it is committed or cancelled, or when it expires:
//
//     admit  iff  used + cost <= count                    admitted: used := used + cost
//
// The bucket is a fixed window's (fixed_window.h) whose end moves: the latest expiry of the open
// holds, and the sum of their tokens. The keeper of the bucket is the keeper of its holds, too: it
// extends the end with each new hold, returns tokens as holds end, and counts `used` again where it
// does not know it. The bucket is full when used == 0 or at its end, when all holds have expired.
//
// The law (L22): the tokens of the open holds never exceed the count that admitted them, and are 0
// at the latest expiry. The wait that a denial tells is until then: an upper bound, since holds may
// end sooner, and one that is renewed ends later.
//
// Pure and total: no clock, lock, heap, log or exception. O(1). Tested by held_limit_test.cc.
#pragma once

#include <cstdint>

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/step.h"

namespace weir {

// Decides `cost` tokens against `bucket` (default-constructed: full), with `keep` more to be left.
// The bucket of an admission is not yet extended, so it may be full: see ExtendHeld. Requires: a
// held limit, now in [Instant{}, kInstantMax].
[[nodiscard]] Step DecideHeld(const Limit& limit, Bucket bucket, Instant now, std::uint64_t cost,
                              std::uint64_t keep = 0) noexcept;

// Returns the bucket of a hold that expires then: its end is no sooner.
// Requires: expiry >= Instant{}.
[[nodiscard]] Bucket ExtendHeld(Bucket bucket, Instant expiry) noexcept;

// Returns the bucket with one hold more, of `tokens` until `expiry`: for a keeper that counts the
// holds again. Requires: as above.
[[nodiscard]] Bucket AddHeld(Bucket bucket, std::uint64_t tokens, Instant expiry) noexcept;

// Returns the bucket after a hold of `tokens` has ended: Bucket{} if it was the last.
[[nodiscard]] Bucket ReturnHeld(Bucket bucket, std::uint64_t tokens) noexcept;

// True when the bucket is as good as absent.
[[nodiscard]] bool IsHeldFull(Bucket bucket, Instant now) noexcept;

// The tokens that are out.
[[nodiscard]] std::int64_t UsedInHeld(Bucket bucket, Instant now) noexcept;

}  // namespace weir
