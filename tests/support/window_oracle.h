// A window's right answers, computed from the log of its admissions: slow, and as plain as the
// promise.
//
// Nothing here is a bucket, and no formula computes a time. One function gives the tokens in use at
// an instant, as a fraction multiplied by the period:
//
//     fixed      those admitted since the window opened: with the first of them, aligned at a
//                multiple of the period; it ends on a whole millisecond if the count is above
//                2^31 - 1
//     calendar   those admitted in the window that holds the instant (calendar_oracle.h)
//     sliding    those admitted in this window, and of the one before it the part that the last
//                period overlaps
//
// A cost is admitted if it fits beside the tokens in use; waits are searched for. The tokens in use
// never grow without a request, so halving finds the first instant at which a condition holds.
//
// A ban of a fixed window is an instant until which nothing passes, and at which the log is empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/rules/calendar.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "tests/support/calendar_oracle.h"

namespace weir {

class WindowOracle {
 public:
  explicit WindowOracle(const Limit& limit)
      : count_(limit.shape().count),
        calendar_(limit.shape().calendar),
        has_calendar_(limit.shape().has_calendar()),
        period_((has_calendar_ ? LongestWindow(calendar_.unit) : limit.shape().period).count()),
        sliding_(limit.shape().algorithm == Algorithm::kSlidingWindow),
        aligned_(sliding_ || has_calendar_ || limit.shape().aligned),
        has_whole_ends_(!aligned_ && count_ > INT32_MAX),
        ban_(limit.shape().ban) {}

  // The answer to `cost` tokens at `now`, which is no earlier than any logged instant. An admission
  // is logged. Cost: about 60 times the length of the log.
  Decision Ask(Instant now, std::uint64_t cost) {
    if (now < ban_end_) return AskBanned(now, cost);
    const auto fits = [&](Instant at) {
      return cost == 0 || static_cast<Int128>(cost) * period_ <= count_ * period_ - UsedAt(at);
    };
    Decision decision;
    decision.allowed = fits(now);
    if (decision.allowed) {
      Log(now, static_cast<std::int64_t>(cost));
    } else if (cost > static_cast<std::uint64_t>(count_)) {
      decision.retry_after = kNever;
    } else {
      decision.retry_after = FirstInstant(now, fits) - now;
    }
    const Int128 room = std::max<Int128>(0, count_ * period_ - UsedAt(now));
    decision.remaining = static_cast<std::int64_t>(room / period_);
    decision.reset_after = FirstInstant(now, [&](Instant at) { return UsedAt(at) == 0; }) - now;
    return decision;
  }

  // Like Ask(), but nothing is logged.
  [[nodiscard]] Decision Look(Instant now, std::uint64_t cost) const {
    WindowOracle copy = *this;
    return copy.Ask(now, cost);
  }

  // Charges `cost` tokens, whether they are there or not, but only until twice the count is in use
  // (and a sliding window holds no more than 2^31-1).
  void Charge(Instant now, std::uint64_t cost) {
    if (now < ban_end_) return;
    Int128 room = (2 * count_ * period_ - UsedAt(now)) / period_;
    if (sliding_) room = std::min(room, Int128{INT32_MAX} - HeldAt(now));
    Log(now,
        static_cast<std::int64_t>(std::min(static_cast<Int128>(cost), std::max<Int128>(room, 0))));
  }

  // The tokens in use, rounded up.
  [[nodiscard]] std::int64_t Used(Instant now) const {
    return static_cast<std::int64_t>((UsedAt(now) + period_ - 1) / period_);
  }

  // Gives back up to `cost` of the tokens of the present window.
  void Refund(Instant now, std::uint64_t cost) {
    if (now < ban_end_) return;
    const std::int64_t held = HeldAt(now);
    Log(now, cost < static_cast<std::uint64_t>(held) ? -static_cast<std::int64_t>(cost) : -held);
  }

  // Bans, after a denial of tokens that could pass some time. Returns false, and changes nothing,
  // if a ban is running, or if nothing passes before its end anyway.
  bool Ban(Instant now) {
    const Decision look = Look(now, 0);
    const Instant full = now + look.reset_after;
    if (now < ban_end_ || (look.remaining == 0 && full >= now + ban_)) return false;
    ban_end_ = std::max(full, now + ban_);
    log_.clear();
    return true;
  }

  // How long the present ban lasts; 0 if there is none.
  [[nodiscard]] Nanos BanLeft(Instant now) const { return std::max(ban_end_ - now, Nanos{0}); }

 private:
  // count * period is below 2^109, cost * period below 2^122, and their sums fit in 127 bits.
  __extension__ typedef __int128 Int128;

  struct Entry {
    Instant at;
    std::int64_t tokens;  // below 0: refunded
  };

  [[nodiscard]] Decision AskBanned(Instant now, std::uint64_t cost) const {
    Decision decision;
    decision.allowed = cost == 0;
    decision.reset_after = ban_end_ - now;
    if (cost > 0) decision.retry_after = decision.reset_after;
    if (cost > static_cast<std::uint64_t>(count_)) decision.retry_after = kNever;
    return decision;
  }

  // Admissions older than two periods are never read again.
  void Log(Instant now, std::int64_t tokens) {
    if (tokens == 0) return;
    if (UsedAt(now) == 0) log_.clear();
    log_.push_back({now, tokens});
  }

  [[nodiscard]] std::int64_t WindowAt(Instant at) const {
    if (has_calendar_) return CalendarNumberAt(calendar_, at);
    return at.time_since_epoch().count() / period_;
  }

  // The tokens of the window that holds `at`.
  [[nodiscard]] std::int64_t HeldAt(Instant at) const {
    std::int64_t held = 0;
    Instant start;
    for (const Entry& entry : log_) {
      if (held == 0 || IsOver(start, entry.at)) {
        held = 0;
        start = entry.at;
      }
      held += entry.tokens;
    }
    return IsOver(start, at) ? 0 : held;
  }

  // Whether the window that was open at `start` is over at `at`.
  [[nodiscard]] bool IsOver(Instant start, Instant at) const {
    if (aligned_) return WindowAt(at) != WindowAt(start);
    constexpr std::int64_t kMilli = 1'000'000;
    std::int64_t end = start.time_since_epoch().count() + period_;
    if (has_whole_ends_ && end % kMilli != 0) end += kMilli - end % kMilli;
    return at.time_since_epoch().count() >= end;
  }

  // The tokens in use at `at`, no earlier than anything logged, times the period.
  [[nodiscard]] Int128 UsedAt(Instant at) const {
    if (!sliding_) return Int128{HeldAt(at)} * period_;
    const std::int64_t overlap = period_ - at.time_since_epoch().count() % period_;
    Int128 used = 0;
    for (const Entry& entry : log_) {
      const std::int64_t windows_ago = WindowAt(at) - WindowAt(entry.at);
      if (windows_ago == 0) used += Int128{entry.tokens} * period_;
      if (windows_ago == 1) used += Int128{entry.tokens} * overlap;
    }
    return used;
  }

  // Requires: `holds` is true from some instant on, at most two periods from now.
  template <typename Predicate>
  [[nodiscard]] Instant FirstInstant(Instant now, Predicate holds) const {
    if (holds(now)) return now;
    Instant before = now;
    Instant then = now + Nanos{2 * period_};
    WEIR_CHECK(holds(then));
    while (then - before > Nanos{1}) {
      const Instant middle = before + (then - before) / 2;
      (holds(middle) ? then : before) = middle;
    }
    return then;
  }

  Int128 count_;
  Calendar calendar_;
  bool has_calendar_;
  std::int64_t period_;  // at least as long as any window
  bool sliding_;
  bool aligned_;
  bool has_whole_ends_;
  Nanos ban_;
  std::vector<Entry> log_;
  Instant ban_end_;
};

}  // namespace weir
