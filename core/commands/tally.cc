#include "core/commands/tally.h"

#include <cstddef>

namespace weir {
void Tally::Count(const ParsedRequest& request, const Verdict& verdict) {
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    if ((verdict.repeated >> i & 1) != 0) continue;
    KnownLimit& limit = *request.limits[i];
    CountDecision(limits.Of(limit.counted_as, limit.counts), limit.limit, verdict.decisions[i],
                  verdict.allowed);
  }
  CountRequest(verdict.allowed);
  if (verdict.allowed) return;
  denied_keys.Add(request.checks[verdict.limit_index].key, verdict.key_hash);
}

void Tally::CountThrottle(std::string_view key, const Limit& limit, const Verdict& verdict) {
  CountDecision(limits.Of(kThrottleName, throttle_), limit, verdict.decisions.front(),
                verdict.allowed);
  CountRequest(verdict.allowed);
  if (!verdict.allowed) denied_keys.Add(key, verdict.key_hash);
}

}  // namespace weir
