#include "core/rules/limit_counters.h"

#include <utility>

namespace weir {

std::shared_ptr<const LimitPlaces> FirstPlaces() {
  return std::make_shared<const LimitPlaces>(
      LimitPlaces{.by_name = {{std::string(kThrottleName), 0}}});
}

void LimitCounters::Add(const LimitCounters& other) noexcept {
  allowed.Add(other.allowed.value());
  denied.Add(other.denied.value());
  shadow_denied.Add(other.shadow_denied.value());
  near_limit.Add(other.near_limit.value());
  bans.Add(other.bans.value());
  charged_beyond.Add(other.charged_beyond.value());
}

std::atomic<std::uint64_t> LimitCounterTable::uses_{0};

LimitCounters* LimitCounterTable::Find(std::string_view name) {
  MutexLock lock(mutex_);
  DropNames();
  const std::string text(name);
  if (const auto known = counts_.find(text); known != counts_.end()) return &known->second.counts;
  if (!HasPlace(text)) return &counts_[std::string(kOtherLimits)].counts;
  ++names_[static_cast<std::size_t>(KindOf(text))];
  Entry& added = counts_[text];
  added.first_use = uses_.fetch_add(1, std::memory_order_relaxed);
  return &added.counts;
}

// Frees the names from before a reset, and adds the counts of names that will never have a row to
// kOtherLimits.
void LimitCounterTable::DropNames() {
  if (std::exchange(is_reset_, false)) {
    counts_.clear();
    names_ = {};
  }
  if (!std::exchange(is_full_, false)) return;
  const LimitPlaces& kept = *kept_;
  LimitCounters& others = counts_[std::string(kOtherLimits)].counts;
  absl::erase_if(counts_, [&kept, &others](const auto& named) {
    const auto& [name, entry] = named;
    if (name == kOtherLimits || kept.by_name.contains(name)) return false;
    if (kept.Free(KindOf(name)) > 0) return false;
    others.Add(entry.counts);
    return true;
  });
}

bool LimitCounterTable::HasPlace(const std::string& name) const {
  if (kept_->by_name.contains(name)) return true;
  const NameKind kind = KindOf(name);
  const std::size_t most = kind == NameKind::kOfValue ? kCountedValuesMax : kCountedLimitsMax;
  return kept_->Free(kind) > 0 && names_[static_cast<std::size_t>(kind)] < most;
}

void LimitCounterTable::ForEach(const Visit& visit) const {
  MutexLock lock(mutex_);
  if (is_reset_) return;
  for (const auto& [name, entry] : counts_) visit(name, entry.counts, entry.first_use);
}

void LimitCounterTable::Keep(const std::shared_ptr<const LimitPlaces>& kept) {
  MutexLock lock(mutex_);
  if (kept == kept_) return;
  kept_ = kept;
  is_full_ = kept->Free(NameKind::kGiven) == 0 || kept->Free(NameKind::kOfValue) == 0;
  version_.fetch_add(1, std::memory_order_relaxed);
}

void LimitCounterTable::Reset() {
  MutexLock lock(mutex_);
  is_reset_ = true;
  version_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weir
