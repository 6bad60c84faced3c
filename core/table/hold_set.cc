#include "core/table/hold_set.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/base/check.h"

namespace weir {

Hold* HoldSet::Find(std::uint64_t key, std::string_view id) const {
  const auto found = by_name_.find(Name{key, id});
  return found == by_name_.end() ? nullptr : found->hold;
}

Hold* HoldSet::Finder::Find(std::uint64_t key, std::string_view id) {
  constexpr int kStepsMax = 4;
  const Name name{key, id};
  for (int steps = 0; at_ != set_.by_name_.end(); ++at_, ++steps) {
    if (steps == kStepsMax) at_ = set_.by_name_.lower_bound(name);
    if (at_ == set_.by_name_.end() || at_->key > key) return nullptr;
    if (at_->key < key) continue;
    const int order = at_->hold->id().compare(id);
    if (order > 0) return nullptr;
    if (order == 0) return at_->hold;
  }
  return nullptr;
}

Hold& HoldSet::Insert(Hold::Owner hold, Instant expiry) {
  Hold* const owned = hold.release();
  owned->terms_.expiry = expiry;
  const bool is_new = by_name_.insert(Entry{owned->key(), owned}).second;
  WEIR_CHECK(is_new);
  by_expiry_.insert(by_expiry_.end(), {expiry, owned});  // where most of them belong
  weight_ += owned->weight();
  bytes_ += owned->bytes();
  return *owned;
}

Hold::Owner HoldSet::Remove(Hold& hold) {
  const std::size_t named = by_name_.erase(Name{hold.key(), hold.id()});
  WEIR_CHECK(named == 1);
  EraseExpiry(hold);
  weight_ -= hold.weight();
  bytes_ -= hold.bytes();
  return Hold::Owner(&hold);
}

void EraseSorted(HoldsByExpiry& set, std::span<const HoldExpiry> entries) {
  if (entries.empty()) return;
  auto at = set.find(entries.front());
  for (const HoldExpiry& entry : entries) {
    for (;; ++at) {
      WEIR_CHECK(at != set.end());
      if (at->hold == entry.hold) break;
    }
    at = set.erase(at);
  }
}

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

void HoldSet::TakeMany(std::uint64_t key, std::span<const HoldExpiry> sorted) {
  if (AreFewToRemove(sorted.size(), size())) {
    for (const HoldExpiry& entry : sorted) static_cast<void>(Remove(*entry.hold).release());
    return;
  }
  for (const HoldExpiry& entry : sorted) {
    entry.hold->is_leaving_ = true;
    weight_ -= entry.hold->weight();
    bytes_ -= entry.hold->bytes();
  }
  auto at = by_name_.lower_bound(Name{key, {}});
  if (CountOf(key, sorted.size() + 1) == sorted.size()) {
    by_name_.erase(at, std::next(at, static_cast<std::ptrdiff_t>(sorted.size())));
  } else {
    for (std::size_t left = sorted.size(); left > 0;) {
      WEIR_CHECK(at != by_name_.end());
      const bool is_leaving = at->hold->is_leaving_;
      at = is_leaving ? by_name_.erase(at) : std::next(at);
      left -= is_leaving ? 1 : 0;
    }
  }
  EraseSorted(by_expiry_, sorted);
}

void HoldSet::SetExpiry(Hold& hold, Instant expiry) {
  EraseExpiry(hold);
  hold.terms_.expiry = expiry;
  by_expiry_.insert(by_expiry_.end(), {expiry, &hold});
}

// The first one, which is settled most often, needs no search.
void HoldSet::EraseExpiry(Hold& hold) {
  if (by_expiry_.begin()->hold == &hold) {
    by_expiry_.erase(by_expiry_.begin());
    return;
  }
  const std::size_t erased = by_expiry_.erase({hold.expiry(), &hold});
  WEIR_CHECK(erased == 1);
}

std::size_t HoldSet::CountOf(std::uint64_t key, std::size_t most) const {
  std::size_t count = 0;
  for (auto at = by_name_.lower_bound(Name{key, {}}); at != by_name_.end(); ++at) {
    if (count == most || at->key != key) break;
    ++count;
  }
  return count;
}

void HoldSet::Clear() noexcept {
  by_name_.clear();
  for (const HoldExpiry& entry : by_expiry_) Hold::Delete{}(entry.hold);
  by_expiry_.clear();
  weight_ = 0;
  bytes_ = 0;
}

}  // namespace weir
