// One thread's counts of its verdicts: requests, limits, and the keys that were denied or near
// their limits most often. RL.STATS and RL.TOP report them.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "core/base/counter.h"
#include "core/commands/request_grammar.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "core/rules/limit_counters.h"
#include "core/rules/top_keys.h"

namespace weir {

// One thread owns it and counts; any thread may read. Cost of a count: one or two additions for
// each limit, and for a denial or a limit that is nearly used up a TopKeys::Add.
class RequestCounters {
 public:
  RequestCounters() = default;
  RequestCounters(const RequestCounters&) = delete;
  RequestCounters& operator=(const RequestCounters&) = delete;

  // Counts the verdict of a request that takes tokens.
  void Count(const ParsedRequest& request, const Verdict& verdict);
  // Counts a charge as allowed if RL.ALLOW would have admitted it, else as denied; likewise each of
  // its limits.
  void CountCharge(const ParsedRequest& request, const Charged& charged);
  // Counts the verdict of a CL.THROTTLE request.
  void CountThrottle(const Check& check, const Verdict& verdict);
  // Counts one request, but none of its limits.
  void CountRequest(const Verdict& verdict) noexcept {
    (verdict.allowed ? allowed : denied).Add();
    if (verdict.banned != 0) bans.Add(static_cast<std::uint64_t>(std::popcount(verdict.banned)));
  }

  Counter allowed;  // requests
  Counter denied;
  Counter bans;
  LimitCounterTable limits;
  TopKeys denied_keys;
  // Added to once for each count of LimitCounters::near_limit: the key of that limit.
  TopKeys near_keys;

 private:
  void Count(const ParsedRequest& request, const Verdict& verdict, bool taken);
  // Adds one to a count of the limits of `checks`, which has a bit for each check of the request.
  void AddTo(Counter LimitCounters::*count, const ParsedRequest& request, std::uint64_t checks);

  CountersHint throttle_;
};

}  // namespace weir
