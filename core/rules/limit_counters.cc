#include "core/rules/limit_counters.h"

namespace weir {

void CountDecision(LimitCounters& counts, const Limit& limit, const Verdict& verdict,
                   std::size_t i) noexcept {
  constexpr std::int64_t kNearFraction = 5;  // a fifth is left: 80 % is in use
  const Decision& decision = verdict.decisions[i];
  if (!decision.allowed) {
    Counter& count = limit.shape().shadow ? counts.shadow_denied : counts.denied;
    count.Add();
    if ((verdict.banned >> i & 1) != 0) counts.bans.Add();
  } else if (verdict.allowed) {
    counts.allowed.Add();
    if (decision.remaining <= limit.capacity_tokens() / kNearFraction) counts.near_limit.Add();
  }
}

LimitCounters* LimitCounterTable::Find(std::string_view name, std::uint64_t resets) {
  MutexLock lock(mutex_);
  if (resets_done_ != resets) counts_.clear();
  resets_done_ = resets;
  const std::string text(name);
  if (const auto known = counts_.find(text); known != counts_.end()) return &known->second;
  const bool has_place = counts_.size() < kCountedLimitsMax || name == kThrottleName;
  return &counts_[has_place ? text : std::string(kOtherLimits)];
}

void LimitCounterTable::ForEach(
    const std::function<void(const std::string&, const LimitCounters&)>& visit) const {
  MutexLock lock(mutex_);
  if (resets_done_ != resets_.load(std::memory_order_relaxed)) return;
  for (const auto& [name, counts] : counts_) visit(name, counts);
}

}  // namespace weir
