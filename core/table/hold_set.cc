#include "core/table/hold_set.h"

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
  by_expiry_.Insert({expiry, owned});
  weight_ += owned->weight();
  bytes_ += owned->bytes();
  return *owned;
}

Hold::Owner HoldSet::Remove(Hold& hold) {
  const std::size_t named = by_name_.erase(Name{hold.key(), hold.id()});
  WEIR_CHECK(named == 1);
  by_expiry_.Erase({hold.expiry(), &hold});
  weight_ -= hold.weight();
  bytes_ -= hold.bytes();
  return Hold::Owner(&hold);
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
  by_expiry_.EraseSorted(sorted);
}

void HoldSet::SetExpiry(Hold& hold, Instant expiry) {
  by_expiry_.Erase({hold.expiry(), &hold});
  hold.terms_.expiry = expiry;
  by_expiry_.Insert({expiry, &hold});
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
  by_expiry_.ForEach([](const HoldExpiry& entry) {
    Hold::Delete{}(entry.hold);
    return true;
  });
  by_expiry_.Clear();
  weight_ = 0;
  bytes_ = 0;
}

}  // namespace weir
