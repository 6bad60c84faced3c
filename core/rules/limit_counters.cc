#include "core/rules/limit_counters.h"

namespace weir {

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
