#include "core/table/hold_table.h"

#include "core/base/check.h"

namespace weir {

Hold& HoldTable::Open(HoldTerms terms, std::string_view id, std::span<const HoldPart> parts,
                      std::span<const HoldInterval> intervals) {
  WEIR_DCHECK(FindMark(terms.key, id) == nullptr);
  terms.order = opened_++;
  return open_.Insert(Hold::Make(terms, id, parts, intervals));
}

void HoldTable::Mark(Hold& open, Instant forgotten_at) {
  Hold& mark = marks_.Insert(TakeOpen(open));
  marks_.SetExpiry(mark, forgotten_at);
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

std::size_t HoldTable::CountOpen(std::uint64_t key) const {
  std::size_t count = 0;
  open_.ForEachOf(key, [&](const Hold&) {
    ++count;
    return true;
  });
  return count;
}

SettlementSums HoldTable::SumsOf(const SlotKey& bucket) const {
  const auto found = sums_.find({bucket.key_hash(), bucket.limit});
  return found == sums_.end() ? SettlementSums{} : found->second;
}

void HoldTable::SetSums(const SlotKey& bucket, const SettlementSums& sums) {
  WEIR_DCHECK(HasOpen(bucket.key_hash()));
  if (sums == SumsOf(bucket)) return;
  sums_[{bucket.key_hash(), bucket.limit}] = sums;
}

void HoldTable::DropSums(std::uint64_t key) {
  const auto first = sums_.lower_bound({key, LimitId{}});
  auto last = first;
  while (last != sums_.end() && last->first.first == key) ++last;
  sums_.erase(first, last);
}

}  // namespace weir
