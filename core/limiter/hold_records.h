// The records of holds: adds open holds and marks to the tables, and removes them, so that each
// counts once for its limits, for its user, and for the bounds on holds and their memory.
//
//     HoldRecords records(registry, kHoldsMax);
//     records.Restore(holds, key, "invoice-7", saved);         // of a file
//     records.Apply(holds, key, "invoice-7", std::nullopt);    // of a primary: it is gone
//
// It changes no bucket: the buckets have records of their own, or HoldKeeper settles and drops
// holds together with them.
//
// Thread-safe as far as counts are concerned; the caller holds the lock of the table. Fails: never,
// as the caller has asked counts() first. Cost: O(log n) for a hold among n of its table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/instant.h"
#include "core/table/hold.h"
#include "core/table/hold_counts.h"
#include "core/table/hold_table.h"
#include "core/table/limit_registry.h"
#include "core/table/saved_hold.h"

namespace weir {

class HoldRecords {
 public:
  using Holds = std::span<Hold* const>;  // of one key

  // `holds_max`: as LimiterOptions has it. The registry must outlive the object.
  HoldRecords(LimitRegistry& registry, std::size_t holds_max)
      : registry_(registry), counts_(holds_max) {}

  [[nodiscard]] HoldCounts& counts() noexcept { return counts_; }
  [[nodiscard]] const HoldCounts& counts() const noexcept { return counts_; }

  // Adds an open hold, as HoldTable::Open does. Requires: HoldCounts::TryAdd has counted it.
  void Open(HoldTable& holds, const HoldTerms& terms, std::string_view id,
            std::span<const HoldPart> parts, std::span<const HoldInterval> intervals,
            HoldEnd end = HoldEnd::kIsCancelled) {
    for (const HoldPart& part : parts) registry_.AddBucket(part.limit);
    counts_.AddBytes(terms.user, holds.Open(terms, id, parts, intervals, end).bytes());
    if (end == HoldEnd::kLapses) counts_.AddSlice(terms.granted);
  }
  // Makes a mark of an open hold, until `forgotten_at`.
  void Mark(HoldTable& holds, Hold& open, Instant forgotten_at) {
    holds.Mark(open, forgotten_at);
    counts_.Remove(open.terms().user);
    if (open.lapses()) counts_.RemoveSlice(open.terms().granted);
    counts_.AddMark();
  }

  // Adds a saved hold or mark, logs nothing, and counts it for no user. Requires: limits in use,
  // none of them held if it lapses, and no hold of that name.
  void Restore(HoldTable& holds, std::uint64_t key, std::string_view id, SavedHold hold);
  // Makes the hold or mark of that name what the record says, or removes it, and logs that. The
  // sums of the key stay as long as it has an open hold. Requires as Restore.
  void Apply(HoldTable& holds, std::uint64_t key, std::string_view id,
             const std::optional<SavedHold>& record);

  // Remove open holds, marks, or all of both.
  void ForgetOpen(HoldTable& holds, Holds open);
  void ForgetOpen(HoldTable& holds, Hold& open);
  void ForgetMarks(HoldTable& holds, Holds marks);
  void ForgetMark(HoldTable& holds, Hold& mark);
  void ForgetAll(HoldTable& holds);

 private:
  void Discard(Holds holds, bool open);

  LimitRegistry& registry_;
  HoldCounts counts_;
};

}  // namespace weir
