// Sliding window: two aligned windows, the earlier one fading as the later one passes.
//
// Windows are those between the multiples of the period since the Unix epoch. What the window
// before this one admitted counts in proportion to its overlap with the last period; what this one
// admitted counts whole:
//
//           window n - 1             window n             window n + 1
//     [------- before -------)[---- used ----+--------)[-------------
//                   |<overlap>|<- elapsed -->|
//                   |<------- period ------->|
//                                           now
//
//     estimate = used + before * overlap / period              overlap = period - elapsed
//     admit  iff  estimate + cost <= count                     admitted: used := used + cost
//
// The estimate is a fraction and is compared as one: multiplied by the period, everything is a
// whole number. `used` and `cost` are whole, so the whole tokens that have faded are all there is
// to know:
//
//     room = count - used - before + floor(before * elapsed / period)
//     admit  iff  cost <= room
//
// The estimate never grows while nothing is charged: it fades to `used` at the end of the window,
// goes on from there as the new `before`, and is 0 one window later. So a denied cost passes at one
// whole nanosecond and at no earlier one:
//
//     used + cost <= count    end of window n     - floor((count - used - cost) * period / before)
//     else                    end of window n + 1 - floor((count - cost) * period / used)
//
// In the first case `before` must fade, in the second the present window must end and then fade.
//
// Promises, and limits of them. It is the estimate that is kept at or below `count`, which takes
// the earlier tokens as evenly spread. They need not be: in any aligned window at most `count`
// tokens are admitted, but in some other period nearly twice as many can be, up to 2 * count - 1
// (all at the end of a window, all but one again when they have nearly faded). Who needs a strict
// bound takes a token bucket with burst=1. The numbers are those of admitted minus refunded.
//
// The bucket is the window's number (`low`: floor(now / period) modulo 2^32), what it has admitted
// (`high`) and what the one before it has (`extra`). Numbers are compared as signed differences
// modulo 2^32. Full: the estimate is 0.
//
// Time that goes back: the window that follows the present one counts as the current one, as it was
// at its start, so going back by up to one period makes no token. The clamp: a number later than
// that can only be foreign, damaged, from before a longer step back, or so old that it came round
// (2^31 windows: 24 days of the shortest). It is cut to the present window and the two counts to
// the limit's, so that it delays by two periods at most and never locks out.
//
// A count may exceed the limit's only where that was lowered under the bucket: it fades like any.
//
// Pure and total: no clock, lock, heap, log or exception. O(1): two divisions, a third in a denial;
// 64-bit where the numbers fit. Nothing overflows: counts are below 2^32 and periods at most 2^58,
// so products stay below 2^90, in 128 bits. Source: derived above; the estimate is the usual
// "sliding window counter". Tested by sliding_window_test.cc, window_law_test.cc and
// window_model_test.cc.
#pragma once

#include <cstdint>

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/step.h"

namespace weir {

// Decides `cost` tokens against `bucket` (default-constructed: full). The decision's remaining and
// reset_after are those of the returned bucket; remaining is rounded down to whole tokens. A cost
// of 0 is a look: always admitted, the bucket returned as it came. A cost may be the sum of several
// checks' costs, saturated at 2^64-1; one above the count is always denied. Requires: a sliding
// window limit, now in [Instant{}, kInstantMax].
[[nodiscard]] Step DecideSlidingWindow(const Limit& limit, Bucket bucket, Instant now,
                                       std::uint64_t cost) noexcept;

// True when the bucket is as good as absent. Requires: as above.
[[nodiscard]] bool IsSlidingWindowFull(const Limit& limit, Bucket bucket, Instant now) noexcept;

// The bucket with `cost` tokens given back, as far as this window has admitted them; what the one
// before it admitted stays. Where there is nothing to give back, and for a cost of 0, the bucket as
// it came; a bucket with nothing left in use is the default-constructed one. Requires: as above.
[[nodiscard]] Bucket RefundSlidingWindow(const Limit& limit, Bucket bucket, Instant now,
                                         std::uint64_t cost) noexcept;

// The bytes of a bucket, read.
struct SlidingWindow {
  std::uint32_t number = 0;  // floor(instant / period) modulo 2^32
  std::uint32_t used = 0;    // tokens admitted in it; below 2^31
  std::uint32_t before = 0;  // in the window before it; below 2^31, but for foreign bytes

  friend bool operator==(const SlidingWindow&, const SlidingWindow&) = default;
};
[[nodiscard]] SlidingWindow SlidingWindowOf(Bucket bucket) noexcept;

// Requires: used < 2^31.
[[nodiscard]] Bucket BucketOf(SlidingWindow window) noexcept;

}  // namespace weir
