// Fixed window: a count that starts again from 0 when its period is over.
//
// A window opens with the first request that is charged and lasts one period; at its end the whole
// count is back, however late in the window it was used. The windows of an aligned limit begin at
// the multiples of the period since the Unix epoch, for all keys alike.
//
//       start                   now                         end = start + period
//     ----[------ used ----------+----------------------------)----
//                                |<-- retry and reset after ->|
//
//     admit  iff  used + cost <= count                    admitted: used := used + cost
//
// A ban of d ends the window no sooner than d from now, and uses it up whatever its count is:
//
//     end := max(end, now + d)       used := kBannedUsed
//
// so the whole count is back at its end. An aligned window that is banned may end anywhere. A
// refund leaves a banned window as it is.
//
// The bucket is the end of its window and the tokens used in it, in one of two forms:
//
//     narrow   0 | end in ns since the Unix epoch, 63 bits | used, 32 bits; a ban: all of them
//     wide     1 | end in ms, 43 bits                      | used, 52 bits: more than 2^32 - 2
//
// in the order high, low, extra. It is full when end <= now or used == 0. Only a limit whose count
// is above 2^31 - 1 fills a wide one. Its windows end on a whole millisecond, rounded up when they
// open, so the form changes no end. They last up to 1 ms longer than the period, which is at least
// 1 s; aligned ones do not, as their period is in whole milliseconds. (If a policy's count is
// raised beyond 2^31 - 1 in an open window, that window ends up to 1 ms later from the time on at
// which its bucket is wide: later than a client has been told before.)
//
// The windows of a limit with a calendar (calendar.h) are the calendar's days, weeks, months or
// years, for all keys alike. Their lengths differ. All else is the same, with "the present window"
// for "a window that opens now", and "the end of the window after the present one" for
// "now + 2 * period".
//
// The law: one window [start, start + period) admits at most `count` tokens (minus those refunded),
// a greedy caller gets exactly that many, and all are back at its end. Windows do not overlap, so
// any one period touches at most two of them: it admits at most 2 * count tokens, or 2 * count - 1
// if the windows are not aligned, as such a window begins with a token.
//
// Time that goes back: a window that seems to open later than now counts as the current one, so its
// tokens stay used and no other window opens before its end. That holds for ends up to
// now + 2 * period, the farthest that an end can be after time went back by one period (or up to
// the end of the longest ban, if that is later). So such a step creates no tokens.
//
// The clamp: a later end can only be foreign, damaged or from before a longer step back. Such an
// end is cut to that of a window that opens now (aligned: of the present window), and `used` is cut
// to twice the greatest count, so that the bucket delays callers by one period at most and never
// locks them out. (A ban is cut as a `used` of twice the count, or of 2^32 - 2 if that is more.)
//
// `used` exceeds the count after a charge of tokens that were not there, up to twice the count, and
// after the limit's count was lowered: then nothing remains until the end of the window.
//
// Pure and total: no clock, lock, heap, log or exception. O(1): no division, except for one when an
// aligned window opens. A calendar window costs what PresentWindow costs. Nothing overflows:
// now < 2^62 and period <= 2^58, so every end that is believed or written is below 2^62 + 2^59.
// Tested by fixed_window_test.cc, window_law_test.cc and window_model_test.cc.
#pragma once

#include <cstdint>

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/step.h"

namespace weir {

// Decides `cost` tokens against `bucket` (default-constructed: full). The decision's remaining and
// reset_after are those of the returned bucket; retry_after is exact: the window's end. A cost of 0
// only looks: it is always admitted, and the bucket is returned unchanged. A cost may be the sum of
// several checks' costs, saturated at 2^64-1; a cost above the count is always denied. With `keep`
// the request passes only if that many tokens are left after it, so a cost of 0 may be denied:
//
//     admit  iff  used + cost + keep <= count
//
// Requires: a fixed window limit, now in [Instant{}, kInstantMax].
[[nodiscard]] Step DecideFixedWindow(const Limit& limit, Bucket bucket, Instant now,
                                     std::uint64_t cost, std::uint64_t keep = 0) noexcept;

// True when the bucket is as good as absent. The limit is not needed: the bucket holds its end.
[[nodiscard]] bool IsFixedWindowFull(Bucket bucket, Instant now) noexcept;

// Returns the bucket with a ban of limit.shape().ban, or unchanged if a ban is running, or if
// nothing would pass before its end. Requires: as above; a bucket that is not full, of a limit that
// says ban=.
[[nodiscard]] Bucket BanFixedWindow(const Limit& limit, Bucket bucket, Instant now) noexcept;

// The time until the bucket's ban ends; 0 if none is running. Requirements as for
// DecideFixedWindow.
[[nodiscard]] Nanos FixedWindowBanLeft(const Limit& limit, Bucket bucket, Instant now) noexcept;

// The time until no more than the count is used and no ban runs: 0, or until the window's end.
// Requirements as above.
[[nodiscard]] Nanos FixedWindowDebtLeft(const Limit& limit, Bucket bucket, Instant now) noexcept;

// Gives `cost` tokens back to the bucket's window, or all that are used in it if those are fewer. A
// full or banned bucket, and any bucket at a cost of 0, is returned unchanged. A window without
// used tokens becomes the default-constructed bucket, so that the next charge opens a new window.
// Requires: as above.
[[nodiscard]] Bucket RefundFixedWindow(const Limit& limit, Bucket bucket, Instant now,
                                       std::uint64_t cost) noexcept;

// Charges `cost` tokens, whether they are there or not, up to a `used` of twice the count; what is
// beyond is not charged. Requires: as above.
[[nodiscard]] Bucket ChargeFixedWindow(const Limit& limit, Bucket bucket, Instant now,
                                       std::uint64_t cost) noexcept;

// Returns the bucket, cut to at most the count used in a window that ends no later than one that
// opens now. A banned window is returned unchanged.
[[nodiscard]] Bucket TrimFixedWindow(const Limit& limit, Bucket bucket, Instant now) noexcept;

// The tokens used in the window that is in force.
[[nodiscard]] std::int64_t UsedInFixedWindow(const Limit& limit, Bucket bucket,
                                             Instant now) noexcept;

// A bucket's bytes as fields.
struct FixedWindow {
  Instant end;  // the first instant after the window; any 63-bit value
  // Tokens: at most twice the greatest count, or kBannedUsed; any 52-bit value in foreign bytes.
  std::int64_t used = 0;

  friend bool operator==(const FixedWindow&, const FixedWindow&) = default;
};
[[nodiscard]] FixedWindow FixedWindowOf(Bucket bucket) noexcept;

// The tokens used in a banned window.
inline constexpr std::int64_t kBannedUsed = INT64_MAX;

// A window has one form. The end of a wide one is rounded up to a whole millisecond. Requires: end
// in [Instant{}, kInstantMax + 2 * kPeriodMax], or 63 bits of a narrow one; used in [0, 2^52), or
// kBannedUsed.
[[nodiscard]] Bucket BucketOf(FixedWindow window) noexcept;

// Returns the end that a window of this limit has if it would end then: the next whole millisecond
// if the count is above kWindowCountMax, else the same.
[[nodiscard]] Instant WrittenEnd(const LimitShape& shape, Instant end) noexcept;

}  // namespace weir
