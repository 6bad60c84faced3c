#include "core/table/holds_by_expiry.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace weir {

std::vector<HoldExpiry> SortedByExpiry(std::span<Hold* const> holds) {
  std::vector<HoldExpiry> entries;
  entries.reserve(holds.size());
  for (std::size_t i = 0; i < holds.size(); ++i) {
    constexpr std::size_t kAhead = 8;
    if (i + kAhead < holds.size()) __builtin_prefetch(holds[i + kAhead]);
    entries.push_back({holds[i]->expiry(), holds[i]});
  }
  if (!std::ranges::is_sorted(entries, std::less<>{})) std::ranges::sort(entries, std::less<>{});
  return entries;
}

void HoldsByExpiry::Insert(const HoldExpiry& entry) {
  if (empty()) {
    first_ = entry;
  } else if (entry < first_) {
    others_.insert(others_.begin(), std::exchange(first_, entry));
  } else {
    others_.insert(others_.end(), entry);  // where most of them belong
  }
}

void HoldsByExpiry::Erase(const HoldExpiry& entry) {
  if (entry.hold == first_.hold) return EraseFirst();
  const std::size_t erased = others_.erase(entry);
  WEIR_CHECK(erased == 1);
}

void HoldsByExpiry::EraseFirst() {
  if (others_.empty()) {
    first_ = {};
    return;
  }
  first_ = *others_.begin();
  others_.erase(others_.begin());
}

void HoldsByExpiry::EraseSorted(std::span<const HoldExpiry> entries) {
  if (entries.empty()) return;
  const bool has_first = entries.front().hold == first_.hold;
  if (has_first) entries = entries.subspan(1);
  auto at = entries.empty() ? others_.end() : others_.find(entries.front());
  for (const HoldExpiry& entry : entries) {
    for (;; ++at) {
      WEIR_CHECK(at != others_.end());
      if (at->hold == entry.hold) break;
    }
    at = others_.erase(at);
  }
  if (has_first) EraseFirst();
}

void HoldsByExpiry::Clear() noexcept {
  first_ = {};
  others_.clear();
}

Instant HoldsByExpiry::NextAfter(Instant time) const {
  if (!empty() && first_.time > time) return first_.time;
  const auto next = others_.upper_bound(time);
  return next == others_.end() ? Instant::max() : next->time;
}

}  // namespace weir
