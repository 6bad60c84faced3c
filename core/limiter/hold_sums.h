// Sums that the open holds of a store need of its buckets: how much other changes gave back and cut
// off, which settlements subtract (core/rules/settlement.h), and the tokens that the holds
// themselves have taken from held limits.
//
//     HoldSums(store, max_wait).CountCharged(slot, limit, step, now);   // after a charge
//
// A bucket has sums while an open hold of its key names its limit; for others each call does
// nothing. A HoldSums is a reference to the store, made where it is needed.
//
// Not thread-safe: the caller holds the lock of the store. Fails: never. Cost: O(log n) for a key
// with n holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/functional/function_ref.h"

#include "core/base/instant.h"
#include "core/limiter/hold_request.h"
#include "core/limiter/hold_store.h"
#include "core/plans/choice.h"
#include "core/rules/bucket.h"
#include "core/rules/held_limit.h"
#include "core/rules/limit.h"
#include "core/rules/settlement.h"
#include "core/table/hold_table.h"
#include "core/table/slot_key.h"
#include "core/words/request.h"

namespace weir {

class HoldSums {
 public:
  // `max_wait`: the limiter's (LimiterOptions). The store must outlive the object.
  HoldSums(HoldStore& store, Nanos max_wait) noexcept : store_(store), max_wait_(max_wait) {}

  // Returns a bit for each check whose bucket is about to get a ban, or to lose time that the rule
  // takes for wrong: after either, call Forbid. `stored`: the bucket of the i-th check, if it is
  // stored.
  template <std::size_t kChecks>
  [[nodiscard]] static std::uint64_t ChecksToForbid(
      const Plan<kChecks>& plan, std::span<const Check> checks,
      absl::FunctionRef<std::optional<Bucket>(std::size_t)> stored) {
    std::uint64_t wrong = plan.banned();
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const std::optional<Bucket> after = plan.Change(i);
      const std::optional<Bucket> before = after ? stored(i) : std::nullopt;
      if (before && HasLostTime(*checks[i].limit, *before, *after)) wrong |= std::uint64_t{1} << i;
    }
    return wrong;
  }
  // No open hold may give anything back any more: after such a change, and if the bucket is lost.
  void Forbid(const SlotKey& bucket, const Limit& limit) {
    Count(bucket, [&](SettlementSums& sums) { ForbidGivingBack(limit, max_wait_, sums); });
  }

  // After a charge, before a refund, and after a trim, whose cut counts as cut off.
  void CountCharged(const SlotKey& bucket, const Limit& limit, const BucketStep& step,
                    Instant now) {
    Count(bucket, [&](SettlementSums& sums) {
      CountCharge(limit, step.present, step.step.bucket, now, step.cost, max_wait_, sums);
      if (HasLostTime(limit, step.present, step.step.bucket)) {
        ForbidGivingBack(limit, max_wait_, sums);
      }
    });
  }
  void CountRefunded(const SlotKey& bucket, const Limit& limit, Bucket before, Bucket after,
                     Instant now) {
    Count(bucket,
          [&](SettlementSums& sums) { CountRefund(limit, before, after, now, max_wait_, sums); });
  }
  void CountTrimmed(const SlotKey& bucket, const Limit& limit, Bucket before, Bucket after,
                    Instant now) {
    Count(bucket,
          [&](SettlementSums& sums) { CountTrim(limit, before, after, now, max_wait_, sums); });
  }

  // Returns the bucket of a held limit: the tokens of the key's open holds, until the last of these
  // ends. Cost: HoldTable::HeldOf.
  [[nodiscard]] Bucket HeldBucket(const SlotKey& bucket) const {
    const HoldTable* const holds = store_.holds();
    if (!holds) return {};
    ++HoldWork::visits;
    const HeldTokens held = holds->HeldOf(bucket.key_hash(), bucket.limit);
    return held.tokens == 0 ? Bucket{} : AddHeld({}, held.tokens, held.end);
  }

 private:
  void Count(const SlotKey& bucket, absl::FunctionRef<void(SettlementSums&)> count) {
    HoldTable* const holds = store_.holds();
    if (!holds || !holds->KeepsSums(bucket)) return;
    SettlementSums sums = holds->SumsOf(bucket);
    count(sums);
    holds->SetSums(bucket, sums);
    store_.HoldsChanged();
  }

  HoldStore& store_;
  const Nanos max_wait_;
};

}  // namespace weir
