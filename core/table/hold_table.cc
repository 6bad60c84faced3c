#include "core/table/hold_table.h"

#include <algorithm>

#include "core/base/check.h"

namespace weir {
CrowdedHolds* HoldTable::CrowdOf(std::uint64_t key) const {
  if (crowds_.empty()) return nullptr;
  const auto crowd = crowds_.find(key);
  return crowd == crowds_.end() ? nullptr : crowd->second.get();
}

Hold& HoldTable::InsertOpen(Hold::Owner hold, Instant expiry) {
  Hold& open = open_.Insert(std::move(hold), expiry);
  if (CrowdedHolds* const crowd = CrowdOf(open.key())) {
    crowd->Add(open);
  } else if (open_.size() > kFewHolds && open_.CountOf(open.key(), kFewHolds + 1) > kFewHolds) {
    auto grown = std::make_unique<CrowdedHolds>();
    open_.ForEachOf(open.key(), [&](Hold& one) {
      grown->Add(one);
      return true;
    });
    crowds_.emplace(open.key(), std::move(grown));
  }
  return open;
}

// Drops the index of a key that has few holds again.
void HoldTable::ShrinkCrowd(std::uint64_t key) {
  const CrowdedHolds* const crowd = CrowdOf(key);
  if (crowd && crowd->size() <= kFewHolds / 2) crowds_.erase(key);
}

Hold::Owner HoldTable::TakeOpen(Hold& open) {
  if (CrowdedHolds* const crowd = CrowdOf(open.key())) {
    crowd->Remove(open);
    ShrinkCrowd(open.key());
  }
  Hold::Owner removed = open_.Remove(open);
  Hold* const one = removed.get();
  DropUnnamedSums(std::span(&one, 1));
  return removed;
}

Hold& HoldTable::Open(const HoldTerms& terms, std::string_view id, std::span<const HoldPart> parts,
                      std::span<const HoldInterval> intervals, HoldEnd end) {
  WEIR_DCHECK(FindMark(terms.key, id) == nullptr);
  Hold::Owner made = Hold::Make(terms, id, parts, intervals, end);
  made->terms_.order = static_cast<std::uint32_t>(opened_);
  made->epoch_ = static_cast<std::uint32_t>(opened_++ >> 32);
  Hold& hold = InsertOpen(std::move(made), terms.expiry);
  Log(hold);
  return hold;
}

void HoldTable::Renew(Hold& open, Instant expiry) {
  CrowdedHolds* const crowd = CrowdOf(open.key());
  if (crowd) crowd->Remove(open);
  open_.SetExpiry(open, expiry);
  if (crowd) crowd->Add(open);
  Log(open);
}

void HoldTable::Mark(Hold& open, Instant forgotten_at) {
  Log(marks_.Insert(TakeOpen(open), forgotten_at));
}

// To log a hold costs more than the rest of its removal, and a save writes each one.
void HoldTable::LogRemoved(std::span<Hold* const> holds) {
  if (!logs_changes_) return;
  if (holds.size() > HoldChanges::kGoneMax + size() / 4) return changes_.Overflow();
  for (Hold* const hold : holds) Log(*hold);
}

void HoldTable::TakeManyOpen(std::uint64_t key, std::span<Hold* const> open) {
  LogRemoved(open);
  const std::vector<HoldExpiry> sorted = SortedByExpiry(open);
  if (CrowdedHolds* const crowd = CrowdOf(key)) {
    crowd->RemoveMany(sorted);
    ShrinkCrowd(key);
  }
  open_.TakeMany(key, sorted);
  DropUnnamedSums(open);
}

void HoldTable::TakeManyMarks(std::uint64_t key, std::span<Hold* const> marks) {
  LogRemoved(marks);
  marks_.TakeMany(key, SortedByExpiry(marks));
}

bool HoldTable::HasOtherOpen(const Hold& open) const {
  return open_.size() > 1 && open_.CountOf(open.key(), 2) > 1;
}

std::size_t HoldTable::CountOpen(std::uint64_t key) const {
  const CrowdedHolds* const crowd = CrowdOf(key);
  return crowd ? crowd->size() : open_.CountOf(key, kFewHolds);
}

std::size_t HoldTable::WeightOf(std::uint64_t key) const {
  if (const CrowdedHolds* const crowd = CrowdOf(key)) return crowd->weight();
  std::size_t weight = 0;
  open_.ForEachOf(key, [&](const Hold& hold) {
    weight += hold.weight();
    return true;
  });
  return weight;
}

HeldTokens HoldTable::HeldOf(std::uint64_t key, LimitId limit) const {
  if (const CrowdedHolds* const crowd = CrowdOf(key)) return crowd->Held(limit);
  HeldTokens held;
  open_.ForEachOf(key, [&](const Hold& hold) {
    for (const HoldPart& part : hold.parts()) {
      if (part.limit != limit || part.held_tokens() == 0) continue;
      held.tokens += part.held_tokens();
      held.end = std::max(held.end, hold.expiry());
    }
    return true;
  });
  return held;
}

std::vector<Hold*> HoldTable::ExpiredOf(std::uint64_t key, Instant time, std::size_t most) const {
  std::vector<Hold*> expired;
  if (!open_.HasExpired(time)) return expired;
  const auto add = [&](Hold& hold) {
    if (expired.size() == most) return false;
    expired.push_back(&hold);
    return true;
  };
  if (const CrowdedHolds* const crowd = CrowdOf(key)) {
    crowd->ForEachExpired(time, add);
    return expired;
  }
  open_.ForEachOf(key, [&](Hold& hold) {
    if (hold.expiry() <= time) expired.push_back(&hold);
    return true;
  });
  std::ranges::sort(expired, [](Hold* a, Hold* b) {
    return HoldExpiry{a->expiry(), a} < HoldExpiry{b->expiry(), b};
  });
  expired.resize(std::min(expired.size(), most));
  return expired;
}

Instant HoldTable::NextExpiry(std::uint64_t key, Instant time) const {
  if (const CrowdedHolds* const crowd = CrowdOf(key)) return crowd->NextExpiry(time);
  Instant next = Instant::max();
  open_.ForEachOf(key, [&](const Hold& hold) {
    if (hold.expiry() > time) next = std::min(next, hold.expiry());
    return true;
  });
  return next;
}

Instant HoldTable::LatestExpiry() const {
  Instant latest;
  for (const HoldSet* const set : {&open_, &marks_}) {
    if (!set->empty()) latest = std::max(latest, set->LatestExpiry());
  }
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
  WEIR_DCHECK(KeepsSums(bucket));
  if (sums == SumsOf(bucket)) return;
  sums_[{bucket.key_hash(), bucket.limit}] = sums;
  if (logs_changes_) changes_.AddSums(bucket, size());
}

bool HoldTable::IsNamed(const SlotKey& bucket) const {
  if (const CrowdedHolds* const crowd = CrowdOf(bucket.key_hash()))
    return crowd->Names(bucket.limit);
  bool is_named = false;
  open_.ForEachOf(bucket.key_hash(), [&](const Hold& hold) {
    is_named =
        std::ranges::find(hold.parts(), bucket.limit, &HoldPart::limit) != hold.parts().end();
    return !is_named;
  });
  return is_named;
}

bool HoldTable::KeepsSums(const SlotKey& bucket) const {
  return sums_.contains({bucket.key_hash(), bucket.limit}) || IsNamed(bucket);
}

void HoldTable::DropUnnamedSums(std::span<Hold* const> removed) {
  std::span<const HoldPart> last;
  for (const Hold* const hold : removed) {
    if (sums_.empty()) return;
    const std::span<const HoldPart> parts = hold->parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i < last.size() && last[i].limit == parts[i].limit) continue;
      const SlotKey bucket{hold->key(), parts[i].limit};
      const auto sums = sums_.find({hold->key(), parts[i].limit});
      if (sums == sums_.end() || IsNamed(bucket)) continue;
      if (logs_changes_) changes_.AddSums(bucket, size());
      sums_.erase(sums);
    }
    last = parts;
  }
}

Hold& HoldTable::Restore(const HoldTerms& terms, std::string_view id, const SavedHold& saved) {
  Hold::Owner made = Hold::Make(terms, id, saved.parts, saved.intervals,
                                saved.lapses ? HoldEnd::kLapses : HoldEnd::kIsCancelled);
  // Orders are modulo 2^32: the next one is behind all of the restored ones.
  const bool is_first = !saved.settled && open_.empty();
  const auto distance =
      is_first ? 0 : static_cast<std::int32_t>(terms.order - static_cast<std::uint32_t>(opened_));
  if (is_first) opened_ = (opened_ >> 32 << 32) + (std::uint64_t{1} << 32) + terms.order;
  const std::uint64_t sequence = opened_ + static_cast<std::uint64_t>(std::int64_t{distance});
  made->epoch_ = static_cast<std::uint32_t>(sequence >> 32);
  if (saved.settled) return marks_.Insert(std::move(made), terms.expiry);
  if (distance >= 0) opened_ = sequence + 1;
  return InsertOpen(std::move(made), terms.expiry);
}

void HoldTable::RestoreSums(const SlotKey& bucket, const SettlementSums& sums) {
  WEIR_CHECK(KeepsSums(bucket));
  sums_[{bucket.key_hash(), bucket.limit}] = sums;
}

}  // namespace weir
