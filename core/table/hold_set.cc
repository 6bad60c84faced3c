#include "core/table/hold_set.h"

#include <algorithm>

#include "core/base/check.h"

namespace weir {

Hold* HoldSet::Find(std::uint64_t key, std::string_view id) const {
  const auto found = by_name_.find(Name{key, id});
  return found == by_name_.end() ? nullptr : found->hold;
}

Hold& HoldSet::Insert(Hold::Owner hold, Instant expiry) {
  Hold* const owned = hold.release();
  owned->terms_.expiry = expiry;
  const bool is_new = by_name_.insert(Entry{owned->key(), owned}).second;
  WEIR_CHECK(is_new);
  by_expiry_.push_back({expiry, owned});
  MoveUp(by_expiry_.size() - 1);
  return *owned;
}

Hold::Owner HoldSet::Remove(Hold& hold) {
  const std::size_t erased = by_name_.erase(Name{hold.key(), hold.id()});
  WEIR_CHECK(erased == 1);
  const std::size_t place = hold.place_;
  WEIR_CHECK(by_expiry_[place].hold == &hold);
  const Expiry last = by_expiry_.back();
  by_expiry_.pop_back();
  if (last.hold != &hold) {
    Put(place, last);
    MoveUp(place);
    MoveDown(last.hold->place_);
  }
  return Hold::Owner(&hold);
}

void HoldSet::SetExpiry(Hold& hold, Instant expiry) {
  hold.terms_.expiry = expiry;
  by_expiry_[hold.place_].time = expiry;
  MoveUp(hold.place_);
  MoveDown(hold.place_);
}

std::vector<Hold*> HoldSet::ExpiredOf(std::uint64_t key, Instant time,
                                      std::uint64_t& visits) const {
  std::vector<Hold*> expired;
  if (!HasExpired(time)) return expired;
  ForEachOf(key, [&](Hold& hold) {
    ++visits;
    if (hold.expiry() <= time) expired.push_back(&hold);
    return true;
  });
  std::ranges::sort(expired, [](Hold* a, Hold* b) {
    return ExpiresBefore({a->expiry(), a}, {b->expiry(), b});
  });
  return expired;
}

void HoldSet::Clear() noexcept {
  by_name_.clear();
  for (const Expiry& entry : by_expiry_) Hold::Delete{}(entry.hold);
  by_expiry_.clear();
}

void HoldSet::MoveUp(std::size_t place) noexcept {
  const Expiry entry = by_expiry_[place];
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (ExpiresBefore(by_expiry_[parent], entry)) break;
    Put(place, by_expiry_[parent]);
    place = parent;
  }
  Put(place, entry);
}

void HoldSet::MoveDown(std::size_t place) noexcept {
  const Expiry entry = by_expiry_[place];
  while (2 * place + 1 < by_expiry_.size()) {
    std::size_t child = 2 * place + 1;
    if (child + 1 < by_expiry_.size() && ExpiresBefore(by_expiry_[child + 1], by_expiry_[child])) {
      ++child;
    }
    if (ExpiresBefore(entry, by_expiry_[child])) break;
    Put(place, by_expiry_[child]);
    place = child;
  }
  Put(place, entry);
}

}  // namespace weir
