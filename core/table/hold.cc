#include "core/table/hold.h"

#include <algorithm>
#include <new>

namespace weir {

Hold::Hold(const HoldTerms& terms, std::string_view id, std::span<const HoldPart> parts,
           std::span<const HoldInterval> intervals, HoldEnd end) noexcept
    : terms_(terms),
      id_bytes_(static_cast<std::uint8_t>(id.size())),
      parts_(static_cast<std::uint8_t>(parts.size())),
      intervals_(static_cast<std::uint8_t>(intervals.size())),
      lapses_(end == HoldEnd::kLapses) {
  std::uninitialized_copy(parts.begin(), parts.end(), PartsBegin());
  std::uninitialized_copy(intervals.begin(), intervals.end(), IntervalsBegin());
  std::ranges::copy(id, reinterpret_cast<char*>(IntervalsBegin() + intervals_));
}

Hold::Owner Hold::Make(const HoldTerms& terms, std::string_view id, std::span<const HoldPart> parts,
                       std::span<const HoldInterval> intervals, HoldEnd end) {
  WEIR_CHECK(!id.empty());
  WEIR_CHECK(id.size() <= kHoldIdBytesMax);
  WEIR_CHECK(parts.size() <= std::numeric_limits<std::uint8_t>::max());
  WEIR_CHECK(intervals.empty() || intervals.size() == parts.size());
  void* const memory =
      ::operator new(sizeof(Hold) + parts.size_bytes() + intervals.size_bytes() + id.size());
  return Owner(new (memory) Hold(terms, id, parts, intervals, end));
}

void Hold::Delete::operator()(Hold* hold) const noexcept {
  hold->~Hold();
  ::operator delete(hold);
}

Estimate Hold::EstimateOf(std::size_t i, const Limit& limit) const noexcept {
  WEIR_CHECK(i < parts_);
  const HoldPart& part = PartsBegin()[i];
  Estimate estimate = weir::EstimateOf(limit, part.left, part.cost, part.sums);
  if (intervals_ > 0) {
    estimate.period = IntervalsBegin()[i].period;
    estimate.denominator = IntervalsBegin()[i].denominator;
  }
  return estimate;
}

}  // namespace weir
