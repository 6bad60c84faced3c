#include "core/table/crowded_holds.h"

#include "core/base/check.h"

namespace weir {

void CrowdedHolds::Add(Hold& hold) {
  by_expiry_.Insert({hold.expiry(), &hold});
  weight_ += hold.weight();
  for (const HoldPart& part : hold.parts()) {
    ++named_[part.limit];
    const std::uint64_t tokens = part.held_tokens();
    if (tokens == 0) continue;
    OfLimit& held = held_[part.limit];
    held.tokens += tokens;
    held.ending[hold.expiry()] += tokens;
  }
}

void CrowdedHolds::Remove(Hold& hold) {
  by_expiry_.Erase({hold.expiry(), &hold});
  RemoveParts(hold);
}

void CrowdedHolds::RemoveMany(std::span<const HoldExpiry> sorted) {
  if (sorted.size() == size()) {
    *this = CrowdedHolds();
    return;
  }
  if (AreFewToRemove(sorted.size(), size())) {
    for (const HoldExpiry& entry : sorted) Remove(*entry.hold);
    return;
  }
  by_expiry_.EraseSorted(sorted);
  for (const HoldExpiry& entry : sorted) RemoveParts(*entry.hold);
}

void CrowdedHolds::RemoveParts(const Hold& hold) {
  weight_ -= hold.weight();
  for (const HoldPart& part : hold.parts()) {
    const auto named = named_.find(part.limit);
    WEIR_CHECK(named != named_.end());
    if (--named->second == 0) named_.erase(named);
    const std::uint64_t tokens = part.held_tokens();
    if (tokens == 0) continue;
    const auto held = held_.find(part.limit);
    WEIR_CHECK(held != held_.end());
    held->second.tokens -= tokens;
    auto& ending = held->second.ending;
    const auto end = ending.find(hold.expiry());
    WEIR_CHECK(end != ending.end());
    end->second -= tokens;
    if (end->second == 0) ending.erase(end);
    if (ending.empty()) held_.erase(held);
  }
}

HeldTokens CrowdedHolds::Held(LimitId limit) const {
  const auto held = held_.find(limit);
  if (held == held_.end()) return {};
  return {held->second.tokens, held->second.ending.rbegin()->first};
}

}  // namespace weir
