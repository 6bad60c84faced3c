// Cuts what buckets of a policy owe beyond its new numbers (TrimLimit in rule.h): the same for both
// hosts, whose buckets it changes through a store (hold_store.h).
//
// What it cuts counts as given back for the open holds of the key (settlement.h), so that a later
// settlement does not give it back, too. Cost: a rule's decision for each bucket. Not thread-safe:
// the caller holds the lock of the store, and has settled the key's holds that are due.
#pragma once

#include <optional>

#include "core/base/instant.h"
#include "core/limiter/hold_keeper.h"
#include "core/limiter/hold_store.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/rule.h"
#include "core/table/slot_key.h"
#include "core/words/policy.h"

namespace weir {

class Trimmer {
 public:
  // `before` and `limits`: those of one policy for one key, before and after a change. All must
  // outlive the trimmer.
  Trimmer(const HoldKeeper& keeper, const PolicyLimits& before, const PolicyLimits& limits)
      : keeper_(keeper), before_(before), limits_(limits) {}

  // Returns true if the bucket was there and was cut. `interned`: its limit, which may be that of
  // another policy, or of none.
  [[nodiscard]] bool Trim(HoldStore& store, const SlotKey& slot, const Limit& interned,
                          Instant now) const {
    if (limits_.front().limit.owner().policy != interned.owner().policy) return false;
    const std::optional<Limit> limit = LimitIn(limits_, interned);
    const std::optional<Bucket> stored = limit ? store.FindBucket(slot) : std::nullopt;
    if (!stored) return false;
    const Limit before = LimitIn(before_, interned).value_or(*limit);
    const Bucket trimmed = TrimLimit(before, *limit, *stored, now, keeper_.max_wait());
    if (trimmed == *stored) return false;
    keeper_.CountTrimmed(store, slot, *limit, *stored, trimmed, now);
    store.StoreBucket(slot, *limit, trimmed, now);
    return true;
  }

 private:
  const HoldKeeper& keeper_;
  const PolicyLimits& before_;
  const PolicyLimits& limits_;
};

}  // namespace weir
