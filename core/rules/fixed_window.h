// Fixed window: a count that starts again when its time is over.
//
// A window opens with the first request that is charged and lasts one period; at its end the whole
// count is back, however late in the window it was used. An aligned limit's windows are those
// between the multiples of the period since the Unix epoch, the same for all keys.
//
//       start                   now                         end = start + period
//     ----[------ used ----------+----------------------------)----
//                                |<-- retry and reset after ->|
//
//     admit  iff  used + cost <= count                    admitted: used := used + cost
//
// The bucket is the end of its window (`low` and `high`: 63 bits of nanoseconds since the Unix
// epoch) and the tokens used in it (`extra`). It is full when end <= now or used == 0.
//
// The law: of one window [start, start + period) at most `count` tokens are admitted (minus those
// refunded), a greedy caller gets exactly that, and everything is back at its end. Windows do not
// overlap, so any one period touches at most two: it holds at most 2 * count tokens, and at most
// 2 * count - 1 of windows that are not aligned, as these begin with a token.
//
// Time that goes back: a window that seems to open later than now counts as the current one, so its
// tokens stay used and no other window opens before its end. That holds for ends up to
// now + 2 * period, which is as far as they get when time goes back by one period; such a step
// makes no token.
//
// The clamp: a later end can only be foreign, damaged or from before a longer step back. It is cut
// to the end of a window that opens now (aligned: of the present one) and `used` to the count, so
// that it delays by one period at most and never locks out.
//
// `used` may exceed the count only where a count was lowered under the bucket: then nothing remains
// until the end.
//
// Pure and total: no clock, lock, heap, log or exception. O(1): no division, but one where an
// aligned window opens. Nothing overflows: now < 2^62 and period <= 2^58, so every end that is
// believed or written is below 2^62 + 2^59. Tested by fixed_window_test.cc, window_law_test.cc and
// window_model_test.cc.
#pragma once

#include <cstdint>

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/step.h"

namespace weir {

// Decides `cost` tokens against `bucket` (default-constructed: full). The decision's remaining and
// reset_after are those of the returned bucket; retry_after is exact: the window's end. A cost of 0
// is a look: always admitted, the bucket returned as it came. A cost may be the sum of several
// checks' costs, saturated at 2^64-1; one above the count is always denied. Requires: a fixed
// window limit, now in [Instant{}, kInstantMax].
[[nodiscard]] Step DecideFixedWindow(const Limit& limit, Bucket bucket, Instant now,
                                     std::uint64_t cost) noexcept;

// True when the bucket is as good as absent. The limit is not needed: the bucket holds its end.
[[nodiscard]] bool IsFixedWindowFull(Bucket bucket, Instant now) noexcept;

// The bucket with `cost` tokens given back to its window, as far as they are in use there. A full
// bucket and a cost of 0 return it as it came; a window that holds no more is the
// default-constructed bucket, so that the next charge opens a new one. Requires: as above.
[[nodiscard]] Bucket RefundFixedWindow(const Limit& limit, Bucket bucket, Instant now,
                                       std::uint64_t cost) noexcept;

// The bytes of a bucket, read.
struct FixedWindow {
  Instant end;             // first instant that is no longer in it; any of 63 bits
  std::uint32_t used = 0;  // tokens; up to the count, but for foreign bytes and lowered counts

  friend bool operator==(const FixedWindow&, const FixedWindow&) = default;
};
[[nodiscard]] FixedWindow FixedWindowOf(Bucket bucket) noexcept;

// Requires: end >= Instant{}.
[[nodiscard]] Bucket BucketOf(FixedWindow window) noexcept;

}  // namespace weir
