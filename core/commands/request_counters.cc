#include "core/commands/request_counters.h"

#include <cstddef>

namespace weir {

void RequestCounters::Count(const ParsedRequest& request, const Verdict& verdict) {
  CountLimits(request, verdict);
  CountVerdict(request, verdict);
}

void RequestCounters::CountLimits(const ParsedRequest& request, const Verdict& verdict) {
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    if ((verdict.repeated >> i & 1) != 0) continue;
    CachedLimit& limit = *request.limits[i];
    if (CountDecision(limits.Of(limit.counted_as, limit.counts), limit.limit, verdict, i)) {
      near_keys.Add(request.checks[i].key, request.checks[i].hash.hash);
    }
  }
}

// Counts the request, and its key if it was denied.
void RequestCounters::CountVerdict(const ParsedRequest& request, const Verdict& verdict) {
  CountRequest(verdict);
  if (verdict.allowed) return;
  const Check& decider = request.checks[verdict.limit_index];
  denied_keys.Add(decider.key, decider.hash.hash);
}

void RequestCounters::CountCharge(const ParsedRequest& request, const Charged& charged) {
  Verdict taken = charged.verdict;
  taken.allowed = true;  // Every limit was charged, so each counts what it said.
  CountLimits(request, taken);
  CountVerdict(request, charged.verdict);
  for (std::size_t i = 0; i < request.limits.size(); ++i) {
    CachedLimit& limit = *request.limits[i];
    if ((charged.beyond >> i & 1) != 0)
      limits.Of(limit.counted_as, limit.counts).charged_beyond.Add();
  }
}

void RequestCounters::CountThrottle(const Check& check, const Verdict& verdict) {
  if (CountDecision(limits.Of(kThrottleName, throttle_), *check.limit, verdict, 0)) {
    near_keys.Add(check.key, check.hash.hash);
  }
  CountRequest(verdict);
  if (!verdict.allowed) denied_keys.Add(check.key, check.hash.hash);
}

}  // namespace weir
