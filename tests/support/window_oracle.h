// A window's right answers, worked out from the log of what it admitted: slow, and as plain as the
// promise.
//
// Nothing here is a bucket, and no formula tells a time. There is one function, the tokens in use
// at an instant, a fraction that is multiplied out by the period:
//
//     fixed      those admitted since the window opened: with the first of them, aligned at a
//                multiple of the period
//     sliding    those admitted in this window, and of the one before it the part that the last
//                period overlaps
//
// The answer to a cost is whether it fits beside them; the waits are searched for. As the tokens in
// use never grow without a request, halving finds the first instant at which something holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"

namespace weir {

class WindowOracle {
 public:
  explicit WindowOracle(const Limit& limit)
      : count_(limit.shape().count),
        period_(limit.shape().period.count()),
        sliding_(limit.shape().algorithm == Algorithm::kSlidingWindow),
        aligned_(sliding_ || limit.shape().aligned) {}

  // The answer to `cost` tokens at `now`, which is no earlier than anything logged. An admission is
  // logged. Cost: the length of the log, some 60 times.
  Decision Ask(Instant now, std::uint64_t cost) {
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

  // The same, and nothing is logged.
  [[nodiscard]] Decision Look(Instant now, std::uint64_t cost) const {
    WindowOracle copy = *this;
    return copy.Ask(now, cost);
  }

  // Gives back up to `cost` of the tokens of the present window.
  void Refund(Instant now, std::uint64_t cost) {
    const std::int64_t held = HeldAt(now);
    Log(now, cost < static_cast<std::uint64_t>(held) ? -static_cast<std::int64_t>(cost) : -held);
  }

 private:
  // count * period is below 2^89, cost * period below 2^122, and so are their sums in 127 bits.
  __extension__ typedef __int128 Int128;

  struct Entry {
    Instant at;
    std::int64_t tokens;  // below 0: refunded
  };

  // What was admitted more than two periods ago is never asked for again.
  void Log(Instant now, std::int64_t tokens) {
    if (tokens == 0) return;
    if (UsedAt(now) == 0) log_.clear();
    log_.push_back({now, tokens});
  }

  [[nodiscard]] std::int64_t WindowAt(Instant at) const {
    return at.time_since_epoch().count() / period_;
  }

  // The tokens of the window that holds `at`.
  [[nodiscard]] std::int64_t HeldAt(Instant at) const {
    std::int64_t held = 0;
    Instant start;
    for (const Entry& entry : log_) {
      const bool apart =
          aligned_ ? WindowAt(entry.at) != WindowAt(start) : (entry.at - start).count() >= period_;
      if (held == 0 || apart) {
        held = 0;
        start = entry.at;
      }
      held += entry.tokens;
    }
    const bool over = aligned_ ? WindowAt(at) != WindowAt(start) : (at - start).count() >= period_;
    return over ? 0 : held;
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

  // Requires: `holds` from some instant on, two periods from now at the latest.
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
  std::int64_t period_;
  bool sliding_;
  bool aligned_;
  std::vector<Entry> log_;
};

}  // namespace weir
