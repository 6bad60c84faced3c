#include "core/table/hold_table.h"

#include "core/base/check.h"

namespace weir {

Hold& HoldTable::Open(HoldTerms terms, std::string_view id, std::span<const HoldPart> parts,
                      std::span<const HoldInterval> intervals) {
  WEIR_DCHECK(FindMark(terms.key, id) == nullptr);
  terms.order = opened_++;
  latest_ = std::max(latest_, terms.expiry);
  Hold& hold = open_.Insert(Hold::Make(terms, id, parts, intervals), terms.expiry);
  Note(hold);
  return hold;
}

void HoldTable::Mark(Hold& open, Instant forgotten_at) {
  Note(marks_.Insert(TakeOpen(open), forgotten_at));
}

Hold::Owner HoldTable::TakeOpen(Hold& open) {
  Hold::Owner removed = open_.Remove(open);
  if (!sums_.empty() && !HasOpen(removed->key())) DropSums(removed->key());
  return removed;
}

bool HoldTable::HasOpen(std::uint64_t key) const {
  bool has_open = false;
  open_.ForEachOf(key, [&](const Hold&) {
    has_open = true;
    return false;
  });
  return has_open;
}

bool HoldTable::HasOtherOpen(const Hold& open) const {
  bool has_other = false;
  open_.ForEachOf(open.key(), [&](const Hold& hold) {
    has_other = &hold != &open;
    return !has_other;
  });
  return has_other;
}

std::size_t HoldTable::CountOpen(std::uint64_t key) const {
  std::size_t count = 0;
  open_.ForEachOf(key, [&](const Hold&) {
    ++count;
    return true;
  });
  return count;
}

Instant HoldTable::LatestExpiry() const {
  if (open_.size() + marks_.size() > kFewHolds) return latest_;
  Instant latest;
  const auto look = [&](const Hold& hold) { latest = std::max(latest, hold.expiry()); };
  open_.ForEach(look);
  marks_.ForEach(look);
  return latest;
}

SettlementSums HoldTable::SumsOf(const SlotKey& bucket) const {
  const auto found = sums_.find({bucket.key_hash(), bucket.limit});
  return found == sums_.end() ? SettlementSums{} : found->second;
}

std::vector<HoldTable::SumsOfBucket> HoldTable::SumsOfKey(std::uint64_t key) const {
  std::vector<SumsOfBucket> found;
  for (auto next = sums_.lower_bound({key, LimitId{}});
       next != sums_.end() && next->first.first == key; ++next) {
    found.push_back({{key, next->first.second}, next->second});
  }
  return found;
}

void HoldTable::SetSums(const SlotKey& bucket, const SettlementSums& sums) {
  WEIR_DCHECK(HasOpen(bucket.key_hash()));
  if (sums == SumsOf(bucket)) return;
  sums_[{bucket.key_hash(), bucket.limit}] = sums;
  if (notes_changes_) changes_.AddSums(bucket, size());
}

void HoldTable::DropSums(std::uint64_t key) {
  const auto first = sums_.lower_bound({key, LimitId{}});
  auto last = first;
  for (; last != sums_.end() && last->first.first == key; ++last) {
    if (notes_changes_) changes_.AddSums({key, last->first.second}, size());
  }
  sums_.erase(first, last);
}

Hold& HoldTable::Restore(const HoldTerms& terms, std::string_view id, const SavedHold& saved) {
  HoldSet& set = saved.settled ? marks_ : open_;
  Hold& hold = set.Insert(Hold::Make(terms, id, saved.parts, saved.intervals), terms.expiry);
  latest_ = std::max(latest_, terms.expiry);
  // Orders are modulo 2^32: the next one is behind all of the restored ones.
  const bool is_first = open_.size() == 1;
  const bool is_later = static_cast<std::int32_t>(terms.order - opened_) >= 0;
  if (!saved.settled && (is_first || is_later)) opened_ = terms.order + 1;
  return hold;
}

void HoldTable::RestoreSums(const SlotKey& bucket, const SettlementSums& sums) {
  WEIR_CHECK(HasOpen(bucket.key_hash()));
  sums_[{bucket.key_hash(), bucket.limit}] = sums;
}

}  // namespace weir
