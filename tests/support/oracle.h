// A token bucket's right answers, computed from the log of its admissions: slow, and as plain as
// the promise.
//
// Nothing here is a TAT, an emission interval or a fraction of a nanosecond. The promise is that in
// any time t at most burst + floor(t * count / period) tokens pass, so `cost` passes at `now`
// exactly if, for every logged admission i,
//
//     sum of the costs from i on + cost  <=  burst + (now - t_i) * count / period
//
// and the other numbers are what those inequalities leave: of tokens (remaining), until they hold
// (retry_after), and until they leave the whole burst (reset_after). They are multiplied out, so
// everything is a whole number: instants are counted in parts of a nanosecond, `count` to each.
//
// Reserved tokens are logged at the first instant at which those inequalities hold, which may lie
// in the future and between two nanoseconds. A reservation can be given back while no later request
// depends on it: while the bucket would be full at exactly the instant to which the reservation had
// moved that time, and the same ban, or none, holds it.
//
// A ban is an admission of the burst but for one token at the instant at which the ban ends, in the
// place of the whole log: so nothing passes before, then one token, then the others at the rate.
// It ends at the first instant, no sooner than its length from now, at which the bucket will be
// full again after a whole number of nanoseconds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/instant.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"

namespace weir {

class LogOracle {
  // No term exceeds 127 bits: burst * period and the difference of two instants are below 2^121 and
  // 2^125, and the tokens admitted since an instant barely exceed the sum of both.
  __extension__ typedef __int128 Int128;

  struct Admission {
    Int128 at;    // in parts, since the epoch
    Int128 cost;  // below 0: given back, which may be several bursts
  };

 public:
  explicit LogOracle(const Limit& limit)
      : count_(limit.shape().count),
        period_(limit.shape().period.count()),
        burst_(limit.shape().burst),
        ban_(limit.shape().ban) {}

  // The answer to `cost` tokens at `now`. Cost: the length of the log.
  [[nodiscard]] Decision Look(Instant now, std::uint64_t cost) const {
    Decision decision;
    decision.retry_after = Wait(now, cost);
    decision.allowed = decision.retry_after == Nanos{0};
    const Int128 passed = decision.allowed ? static_cast<Int128>(cost) : 0;
    Int128 room = burst_ - passed;
    std::int64_t full_in = CeilOfQuotient(passed * period_, count_);
    ForEachTail(now, [&](Int128 taken, Int128 span) {
      const Int128 left = (burst_ - taken - passed) * period_ + span;
      room = std::min(room, left / period_);
      full_in = std::max(full_in, CeilOfQuotient((taken + passed) * period_ - span, count_));
    });
    decision.remaining = static_cast<std::int64_t>(std::max<Int128>(room, 0));
    decision.reset_after = Nanos{full_in};
    return decision;
  }

  // Like Look(), but the admission is logged.
  Decision Ask(Instant now, std::uint64_t cost) {
    const Decision decision = Look(now, cost);
    if (decision.allowed) Reserve(now, cost);
    return decision;
  }

  // How long `cost` tokens have to wait; kNever if forever.
  [[nodiscard]] Nanos Wait(Instant now, std::uint64_t cost) const {
    if (cost == 0) return Nanos{0};
    if (cost > static_cast<std::uint64_t>(burst_)) return kNever;
    return Nanos{CeilOfQuotient(WaitInParts(now, cost), count_)};
  }

  // The data that giving a reservation back needs.
  struct Promise {
    std::vector<Admission> before;  // the log
    Int128 ban_end = 0;             // before the reservation
    Int128 full_at = 0;             // in parts; 0 where nothing was reserved
    Int128 ban_end_after = 0;       // as the reservation left it
  };

  // Reserves tokens that are available after Wait(). Requires: Wait() is not never.
  Promise Reserve(Instant now, std::uint64_t cost) {
    if (cost == 0) return {};
    // Admissions before an instant at which every inequality left the whole burst no longer matter.
    if (Look(now, 0).reset_after == Nanos{0}) log_.clear();
    Promise promise{.before = log_, .ban_end = ban_end_};
    log_.push_back({InParts(now) + WaitInParts(now, cost), static_cast<Int128>(cost)});
    if (IsBanned(now)) {
      BanUntil(FirstToken(now));
    } else {
      ban_end_ = 0;
    }
    promise.full_at = FullAt();
    promise.ban_end_after = ban_end_;
    return promise;
  }

  // Undoes the reservation, unless a later request changed the bucket.
  void ReturnTokens(const Promise& promise) {
    if (promise.full_at == 0 || promise.full_at != FullAt()) return;
    if (promise.ban_end_after != ban_end_) return;
    log_ = promise.before;
    ban_end_ = promise.ban_end;
  }

  // Bans, after a denial of tokens that could pass some time. Returns false, and changes nothing,
  // if a ban is running, or if no token passes before its end anyway.
  bool Ban(Instant now) {
    if (IsBanned(now) || WholeEnd(InParts(now + ban_)) <= FirstToken(now)) return false;
    BanUntil(InParts(now + ban_));
    return true;
  }

  // How long the present ban lasts; 0 if there is none.
  [[nodiscard]] Nanos BanLeft(Instant now) const {
    return Nanos{CeilOfQuotient(ban_end_ - InParts(now), count_)};
  }

  // Gives `cost` tokens back, as if that many fewer had been admitted, but never more than are
  // missing.
  void Refund(Instant now, std::uint64_t cost) {
    Int128 missing = 0;  // times the period
    ForEachTail(now, [&](Int128 taken, Int128 span) {
      missing = std::max(missing, taken * period_ - span);
    });
    if (missing > 0) ban_end_ = 0;
    if (static_cast<Int128>(cost) * period_ >= missing) return log_.clear();
    log_.push_back({InParts(now), -static_cast<Int128>(cost)});
  }

  // Charges `cost` tokens, whether they are there or not. If the bucket were full only after the
  // longest debt that a charge may leave, the rest is not charged: the log is then that of a burst
  // which is back at that instant.
  void Charge(Instant now, std::uint64_t cost, Nanos max_wait) {
    if (cost == 0) return;
    ban_end_ = 0;
    if (Look(now, 0).reset_after == Nanos{0}) log_.clear();
    const Int128 capacity = Int128{burst_} * period_;
    const Int128 last =
        InParts(now) + capacity + std::max(capacity, Int128{max_wait.count()} * count_);
    if (FullAt() >= last) return;
    log_.push_back({InParts(now), static_cast<Int128>(cost)});
    if (FullAt() > last) log_ = {{last - capacity, burst_}};
  }

  // The tokens that are charged, rounded up.
  [[nodiscard]] std::int64_t Used(Instant now) const {
    Int128 missing = 0;  // times the period
    ForEachTail(now, [&](Int128 taken, Int128 span) {
      missing = std::max(missing, taken * period_ - span);
    });
    return static_cast<std::int64_t>(
        std::min<Int128>((missing + period_ - 1) / period_, INT64_MAX));
  }

  void Forget() {
    log_.clear();
    ban_end_ = 0;
  }

 private:
  [[nodiscard]] Int128 InParts(Instant instant) const {
    return Int128{instant.time_since_epoch().count()} * count_;
  }

  [[nodiscard]] bool IsBanned(Instant now) const { return InParts(now) < ban_end_; }

  // The first instant from `end` on from which the other tokens of the burst are there after a
  // whole number of nanoseconds.
  [[nodiscard]] Int128 WholeEnd(Int128 end) const {
    const Int128 rest = Int128{burst_ - 1} * period_;
    return (end + rest + count_ - 1) / count_ * count_ - rest;
  }

  // The first instant at which a token passes.
  [[nodiscard]] Int128 FirstToken(Instant now) const { return InParts(now) + WaitInParts(now, 1); }

  void BanUntil(Int128 end) {
    ban_end_ = WholeEnd(end);
    log_ = {{ban_end_, burst_ - 1}};
  }

  // The time until `cost` tokens fit beside the admitted ones. Requires: cost <= burst.
  [[nodiscard]] Int128 WaitInParts(Instant now, std::uint64_t cost) const {
    Int128 wait = 0;
    ForEachTail(now, [&](Int128 taken, Int128 span) {
      wait = std::max(wait, (taken + static_cast<Int128>(cost) - burst_) * period_ - span);
    });
    return wait;
  }

  // The time from which every inequality leaves the whole burst; 0 if they always do.
  [[nodiscard]] Int128 FullAt() const {
    Int128 full_at = 0;
    ForEachTail(Instant{}, [&](Int128 taken, Int128 span) {
      full_at = std::max(full_at, taken * period_ - span);
    });
    return full_at;
  }

  // Calls visit(tokens admitted from this admission on; parts since then) for each admission,
  // latest first.
  template <typename Visit>
  void ForEachTail(Instant now, Visit visit) const {
    Int128 taken = 0;
    for (std::size_t i = log_.size(); i-- > 0;) {
      taken += log_[i].cost;
      visit(taken, InParts(now) - log_[i].at);
    }
  }

  // The value, or 0 if it is negative.
  static std::int64_t CeilOfQuotient(Int128 dividend, Int128 divisor) {
    return dividend <= 0 ? 0 : static_cast<std::int64_t>((dividend + divisor - 1) / divisor);
  }

  std::int64_t count_;
  std::int64_t period_;
  std::int64_t burst_;
  Nanos ban_;
  std::vector<Admission> log_;
  Int128 ban_end_ = 0;  // in parts; 0 where there is no ban
};

}  // namespace weir
