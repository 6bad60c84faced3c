// One thread's counts of its verdicts: requests, limits, and the keys denied most. RL.STATS and
// RL.TOP report them.
#pragma once

#include <string_view>

#include "core/base/counter.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "core/rules/limit_counters.h"
#include "core/rules/top_keys.h"
#include "core/words/request_grammar.h"

namespace weir {

// One thread owns it and counts; any thread may read. Cost of a count: an addition or two a limit,
// and of a denial what TopKeys::Add costs.
class RequestCounters {
 public:
  RequestCounters() = default;
  RequestCounters(const RequestCounters&) = delete;
  RequestCounters& operator=(const RequestCounters&) = delete;

  // Counts a verdict that changed something, or that was refused.
  void Count(const ParsedRequest& request, const Verdict& verdict);
  // The same of a request of CL.THROTTLE for one key.
  void CountThrottle(const Check& check, const Verdict& verdict);
  // One request.
  void CountRequest(bool passed) noexcept { (passed ? allowed : denied).Add(); }

  Counter allowed;  // requests
  Counter denied;
  LimitCounterTable limits;
  TopKeys denied_keys;

 private:
  CountersHint throttle_;
};

}  // namespace weir
