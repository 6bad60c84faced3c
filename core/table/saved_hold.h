// A hold, or the mark of a settled one, as a save writes it and a load reads it. Its name is beside
// it: the hash of its key, and the id.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"

#include "core/base/instant.h"
#include "core/table/hold.h"

namespace weir {

struct SavedHold {
  bool settled = false;
  bool lapses = false;        // at its expiry; false of a mark
  std::uint64_t request = 0;  // as in HoldTerms, without the key and the user
  std::int64_t granted = 0;
  Instant expiry{};
  std::uint32_t order = 0;
  // Of a mark, only limits and costs matter: the rest is empty.
  absl::InlinedVector<HoldPart, 2> parts{};
  absl::InlinedVector<HoldInterval, 2> intervals{};  // one for each part, or none

  friend bool operator==(const SavedHold&, const SavedHold&) = default;
};

[[nodiscard]] inline SavedHold SavedHoldOf(const Hold& hold, bool settled) {
  const HoldTerms& terms = hold.terms();
  SavedHold saved = {.settled = settled,
                     .lapses = !settled && hold.lapses(),
                     .request = terms.request,
                     .granted = terms.granted,
                     .expiry = terms.expiry,
                     .order = terms.order,
                     .parts = {hold.parts().begin(), hold.parts().end()},
                     .intervals = {hold.intervals().begin(), hold.intervals().end()}};
  if (!settled) {
    for (HoldPart& part : saved.parts) {
      if (part.is_held()) part.left = {};
    }
    return saved;
  }
  saved.intervals.clear();
  for (HoldPart& part : saved.parts) part = {.cost = part.cost, .limit = part.limit};
  return saved;
}

}  // namespace weir
