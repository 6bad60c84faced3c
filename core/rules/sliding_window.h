// Sliding window: two aligned windows, the earlier one fading as the later one passes.
//
// Windows begin at the multiples of the period since the Unix epoch. The tokens of the window
// before this one count in proportion to its overlap with the last period; those of this window
// count whole:
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
// The estimate is a fraction and is never rounded: multiplied by the period, everything is a whole
// number. `used` and `cost` are whole, so it is enough to know how many whole tokens have faded:
//
//     room = count - used - before + floor(before * elapsed / period)
//     admit  iff  cost <= room
//
// The estimate never grows while nothing is charged: it fades to `used` at the end of the window,
// continues from there as the new `before`, and is 0 one window later. So there is a first whole
// nanosecond at which a denied cost passes:
//
//     used + cost <= count    end of window n     - floor((count - used - cost) * period / before)
//     else                    end of window n + 1 - floor((count - cost) * period / used)
//
// In the first case `before` must fade, in the second the present window must end and then fade.
//
// The law and its bounds: the rule keeps the estimate at or below `count`, and the estimate assumes
// that the earlier tokens were spread evenly. They need not be. An aligned window admits at most
// `count` tokens, but some other period may admit nearly twice as many, up to 2 * count - 1 (all at
// the end of a window, and all but one again when those have nearly faded). A token bucket with
// burst=1 gives a strict bound. Refunded tokens are subtracted in all of these numbers.
//
// The bucket is a window's number (`low`: floor(now / period) modulo 2^32), the tokens admitted in
// that window (`high`) and those admitted in the window before it (`extra`). Window numbers are
// compared as signed differences modulo 2^32. The bucket is full when the estimate is 0.
//
// Time that goes back: if the stored window is the one after the present window, it counts as the
// current one, at its start. So a step back of up to one period creates no tokens. The clamp: a
// later number can only be foreign, damaged, from before a longer step back, or so old that it
// wrapped around (2^31 windows: 24 days of the shortest). Such a number is cut to the present
// window, and both counts to twice the limit's greatest count, so that the bucket delays callers by
// two periods at most and never locks them out. Each host drops full buckets before 2^31 windows
// have passed, so that no number wraps around: the server sweeps (core/limiter/sweeper.h), and
// drops at its start the windows that have ended since the last save; weir-replay sweeps between
// distant requests, and the module knows the time of a value's last change. After a load (an RDB
// file, an AOF, RESTORE) the module takes the time of the load for it. So in the 12 days after a
// load, a window that is older than 2^31 windows may count once more, cut as above, until two
// periods after the next request. A server whose clients give the time drops nothing.
//
// The bucket's counts exceed the limit's count after a charge of tokens that were not there, up to
// an estimate of twice the count, and after the count was lowered: they fade as usual.
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
// of 0 only looks: it is always admitted, and the bucket is returned unchanged. A cost may be the
// sum of several checks' costs, saturated at 2^64-1; a cost above the count is always denied. With
// `keep` the request passes only if that many tokens are left after it, so a cost of 0 may be
// denied:
//
//     admit  iff  estimate + cost + keep <= count
//
// Requires: a sliding window limit, now in [Instant{}, kInstantMax].
[[nodiscard]] Step DecideSlidingWindow(const Limit& limit, Bucket bucket, Instant now,
                                       std::uint64_t cost, std::uint64_t keep = 0) noexcept;

// True when the bucket is as good as absent. Requires: as above.
[[nodiscard]] bool IsSlidingWindowFull(const Limit& limit, Bucket bucket, Instant now) noexcept;

// Gives `cost` tokens back to the present window, or all that it has admitted if those are fewer;
// the tokens of the window before it stay. If there is nothing to give back, or the cost is 0, the
// bucket is returned unchanged. A bucket with nothing left in use becomes the default-constructed
// one. Requires: as above.
[[nodiscard]] Bucket RefundSlidingWindow(const Limit& limit, Bucket bucket, Instant now,
                                         std::uint64_t cost) noexcept;

// Gives tokens back to the window of that number, or all that it has admitted if those are fewer.
// The bucket is returned unchanged if that window no longer counts, or if the clamp would cut the
// bucket. Requires: as above.
[[nodiscard]] Bucket ReturnToSlidingWindow(const Limit& limit, Bucket bucket, Instant now,
                                           std::uint32_t number, std::uint64_t tokens) noexcept;

// Charges `cost` tokens, whether they are there or not, up to an estimate of twice the count and a
// `used` of 2^31-1; what is beyond is not charged. Requires: as above.
[[nodiscard]] Bucket ChargeSlidingWindow(const Limit& limit, Bucket bucket, Instant now,
                                         std::uint64_t cost) noexcept;

// Returns the bucket, with an estimate that is never above that of a window whose count is used up
// now. The tokens of a window that has not begun count in the present one.
[[nodiscard]] Bucket TrimSlidingWindow(const Limit& limit, Bucket bucket, Instant now) noexcept;

// The time until the estimate is at most the count; 0 if it is.
[[nodiscard]] Nanos SlidingWindowDebtLeft(const Limit& limit, Bucket bucket, Instant now) noexcept;

// Returns the tokens of the present window and of the one before it.
[[nodiscard]] std::int64_t TokensInSlidingWindow(const Limit& limit, Bucket bucket,
                                                 Instant now) noexcept;

// The estimate, rounded up to whole tokens.
[[nodiscard]] std::int64_t UsedInSlidingWindow(const Limit& limit, Bucket bucket,
                                               Instant now) noexcept;

// A bucket's bytes as fields.
struct SlidingWindow {
  std::uint32_t number = 0;  // floor(instant / period) modulo 2^32
  std::uint32_t used = 0;    // tokens admitted in it; below 2^31
  std::uint32_t before = 0;  // in the window before it; below 2^31 except in foreign bytes

  friend bool operator==(const SlidingWindow&, const SlidingWindow&) = default;
};
[[nodiscard]] SlidingWindow SlidingWindowOf(Bucket bucket) noexcept;

// Requires: used < 2^31.
[[nodiscard]] Bucket BucketOf(SlidingWindow window) noexcept;

}  // namespace weir
