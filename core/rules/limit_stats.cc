#include "core/rules/limit_stats.h"

namespace weir {

void CountDecision(LimitCounts& counts, const Limit& limit, const Decision& decision,
                   bool request_passed) noexcept {
  constexpr std::int64_t kNearFraction = 5;  // a fifth is left: 80 % are in use
  if (!decision.allowed) {
    (limit.shape().shadow ? counts.shadow_denied : counts.denied).Add();
  } else if (request_passed) {
    counts.allowed.Add();
    if (decision.remaining <= limit.capacity_tokens() / kNearFraction) counts.near_limit.Add();
  }
}

LimitCounts* LimitStats::Of(std::string_view name) {
  MutexLock lock(mutex_);
  const std::string text(name);
  if (const auto known = counts_.find(text); known != counts_.end()) return &known->second;
  return &counts_[counts_.size() < kCountedLimitsMax ? text : std::string(kOtherLimits)];
}

void LimitStats::ForEach(
    const std::function<void(const std::string&, const LimitCounts&)>& visit) const {
  MutexLock lock(mutex_);
  for (const auto& [name, counts] : counts_) visit(name, counts);
}

}  // namespace weir
