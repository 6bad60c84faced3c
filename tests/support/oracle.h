// What a token bucket must answer, worked out from the log of what it admitted: slow, and as plain
// as the promise.
//
// Nothing here is a TAT, an emission interval or a fraction of a nanosecond. The promise is that in
// any time t at most burst + floor(t * count / period) tokens pass, so `cost` passes at `now`
// exactly if, for every logged admission i,
//
//     sum of the costs from i on + cost  <=  burst + (now - t_i) * count / period
//
// and the other numbers are what those inequalities leave: of tokens (remaining), until they hold
// (retry_after), and until they leave the whole burst (reset_after). They are multiplied out, so
// everything is a whole number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/decision.h"
#include "core/instant.h"
#include "core/limit.h"

namespace weir {

class LogOracle {
 public:
  explicit LogOracle(const Limit& limit)
      : count_(limit.shape().count),
        period_(limit.shape().period.count()),
        burst_(limit.shape().burst) {}

  // The answer to `cost` tokens at `now`, which is no earlier than any admission. Cost: the length
  // of the log.
  [[nodiscard]] Decision Look(Instant now, std::uint64_t cost) const {
    Decision decision;
    decision.allowed = cost <= static_cast<std::uint64_t>(burst_);
    if (!decision.allowed) decision.retry_after = kNever;
    const Int128 asked = decision.allowed ? static_cast<Int128>(cost) : 0;
    ForEachTail(now, [&](Int128 taken, Int128 span) {
      // In units of 1/count ns: how much longer until these tokens and the asked ones fit.
      const Int128 wait = (taken + asked - burst_) * period_ - span * count_;
      if (wait <= 0) return;
      decision.allowed = false;
      decision.retry_after = std::max(decision.retry_after, Nanos{CeilOfQuotient(wait, count_)});
    });
    const Int128 passed = decision.allowed ? asked : 0;
    Int128 room = burst_ - passed;
    std::int64_t full_in = CeilOfQuotient(passed * period_, count_);
    ForEachTail(now, [&](Int128 taken, Int128 span) {
      const Int128 left = (burst_ - taken - passed) * period_ + span * count_;
      room = std::min(room, left / period_);
      full_in =
          std::max(full_in, CeilOfQuotient((taken + passed) * period_ - span * count_, count_));
    });
    decision.remaining = static_cast<std::int64_t>(room);
    decision.reset_after = Nanos{full_in};
    return decision;
  }

  // Look, and the admission is logged.
  Decision Ask(Instant now, std::uint64_t cost) {
    const Decision decision = Look(now, cost);
    if (decision.allowed && cost > 0) {
      // What lies before an instant at which every inequality left the whole burst can bind no
      // more.
      if (Look(now, 0).reset_after == Nanos{0}) log_.clear();
      log_.push_back({now, static_cast<std::int64_t>(cost)});
    }
    return decision;
  }

  // `cost` tokens are given back: as if so many fewer had been admitted, but never more than are
  // missing.
  void Refund(Instant now, std::uint64_t cost) {
    Int128 missing = 0;  // times the period
    ForEachTail(now, [&](Int128 taken, Int128 span) {
      missing = std::max(missing, taken * period_ - span * count_);
    });
    if (static_cast<Int128>(cost) * period_ >= missing) return log_.clear();
    log_.push_back({now, -static_cast<std::int64_t>(cost)});
  }

  void Forget() { log_.clear(); }

 private:
  // No term leaves 127 bits: burst * period and (now - t) * count are below 2^121 and 2^125, and
  // what was admitted since t exceeds their quotients by nothing.
  __extension__ typedef __int128 Int128;

  struct Admission {
    Instant at;
    std::int64_t cost;  // below 0: given back
  };

  // Calls visit(tokens admitted since an admission, it included; time since then) for each
  // admission, latest first.
  template <typename Visit>
  void ForEachTail(Instant now, Visit visit) const {
    Int128 taken = 0;
    for (std::size_t i = log_.size(); i-- > 0;) {
      taken += log_[i].cost;
      visit(taken, Int128{(now - log_[i].at).count()});
    }
  }

  // 0 for what is not above 0.
  static std::int64_t CeilOfQuotient(Int128 dividend, Int128 divisor) {
    return dividend <= 0 ? 0 : static_cast<std::int64_t>((dividend + divisor - 1) / divisor);
  }

  std::int64_t count_;
  std::int64_t period_;
  std::int64_t burst_;
  std::vector<Admission> log_;
};

}  // namespace weir
