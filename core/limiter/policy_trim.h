// Cuts what buckets of a policy owe beyond its new numbers (TrimLimit in rule.h). A Trimmer cuts
// one bucket, for both hosts, through a store (hold_store.h). The open holds of the key learn what
// it cuts (settlement.h), so that a later settlement does not give it back, too.
//
// A PolicyTrim cuts buckets in the limiter's table: those of one key, or those of all keys.
//
//     Limiter::PolicyTrim trim(limiter, policies, before, policy);  // after the policy's change
//     while (!trim.Step(clock.Now())) ...                     // the thread may do other work
//
// Each bucket that was there before the first step is cut by the last one, by the numbers of the
// policy or, if its key has an override at that time, by those of the override. If the policy gets
// other limits meanwhile, or is deleted, the work stops: no bucket is cut by numbers that are no
// longer the policy's. A step takes about a millisecond, and holds the lock of a partition for a
// scan of it, or for the cuts of kCutsAtOnce buckets. One thread at a time may use an object.
// Memory: 50 bytes for each override of the policy, the keys of those that change between two
// steps, and 12 bytes for each of its buckets in a partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "core/base/instant.h"
#include "core/limiter/hold_store.h"
#include "core/limiter/hold_sums.h"
#include "core/limiter/limiter.h"
#include "core/policies/overrides.h"
#include "core/policies/policies.h"
#include "core/policies/policy.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/rule.h"
#include "core/table/slot_key.h"

namespace weir {

// The error of a trim that stopped because its numbers are no longer those of the policy.
inline constexpr std::string_view kOutdatedTrim =
    "ERR stopped before all buckets were cut: the policy has other limits now, or is deleted";

// Returns the policy as it is now, perhaps with other greatest numbers, if its limits are still
// those of `policy`; otherwise null.
[[nodiscard]] inline std::shared_ptr<const Policy> FindUnchanged(const Policies& policies,
                                                                 const Policy& policy) {
  std::shared_ptr<const Policy> present = policies.FindById(policy.id);
  return present && present->limits == policy.limits ? present : nullptr;
}

// Not thread-safe: the caller holds the lock of the store, and has settled the key's holds that are
// due. Cost: a rule's decision for each bucket.
class Trimmer {
 public:
  // `before` and `limits`: the limits of one policy for one key, before and after a change. They
  // must outlive the trimmer.
  Trimmer(Nanos max_wait, const PolicyLimits& before, const PolicyLimits& limits)
      : max_wait_(max_wait), before_(before), limits_(limits) {}

  // Returns true if the bucket was there and was cut. `interned`: its limit, which may be that of
  // another policy, or of none.
  [[nodiscard]] bool Trim(HoldStore& store, const SlotKey& slot, const Limit& interned,
                          Instant now) const {
    if (limits_.front().limit.owner().policy != interned.owner().policy) return false;
    const std::optional<Limit> limit = LimitIn(limits_, interned);
    const std::optional<Bucket> stored = limit ? store.FindBucket(slot) : std::nullopt;
    if (!stored) return false;
    const Limit before = LimitIn(before_, interned).value_or(*limit);
    const Bucket trimmed = TrimLimit(before, *limit, *stored, now, max_wait_);
    if (trimmed == *stored) return false;
    HoldSums(store, max_wait_).CountTrimmed(slot, *limit, *stored, trimmed, now);
    store.StoreBucket(slot, *limit, trimmed, now);
    return true;
  }

 private:
  const Nanos max_wait_;
  const PolicyLimits& before_;
  const PolicyLimits& limits_;
};

class Limiter::PolicyTrim {
 public:
  // `before`: the policy's limits before the change. The limiter and the policies must outlive the
  // object. Requires: a change of the policy isolates all keys, and a change of an override
  // isolates its key.
  PolicyTrim(Limiter& limiter, const Policies& policies, PolicyLimits before,
             std::shared_ptr<const Policy> policy)
      : limiter_(limiter),
        policies_(policies),
        before_(std::move(before)),
        policy_(std::move(policy)),
        watcher_(std::make_unique<Overrides::Watcher>(*policy_->overrides)) {}

  // Cuts some buckets. Returns true when all are done, or when the work is outdated.
  [[nodiscard]] bool Step(Instant now);
  // True if Step() has stopped, because the policy has other limits now, or is deleted.
  [[nodiscard]] bool is_outdated() const noexcept { return is_outdated_; }
  // The number of buckets that were cut.
  [[nodiscard]] std::size_t trimmed() const noexcept { return trimmed_; }
  [[nodiscard]] const Policy& policy() const noexcept { return *policy_; }
  // The memory of its own set of overrides.
  [[nodiscard]] std::size_t held_bytes() const noexcept {
    return overrides_.capacity() * (sizeof(decltype(overrides_)::value_type) + 1);
  }

  // Cuts the buckets of one key, whose limits under some policy were `before` and are `limits`.
  // Returns the number of cut buckets. Cost: a look-up for each limit.
  static std::size_t TrimKey(Limiter& limiter, std::string_view key, const PolicyLimits& before,
                             const PolicyLimits& limits, Instant now);

 private:
  // Visits of slots in a step. A cut takes as long as kVisitsPerCut.
  static constexpr std::size_t kVisitsPerStep = 16'384;
  static constexpr std::size_t kVisitsPerCut = 32;
  static constexpr std::size_t kCutsAtOnce = 512;

  [[nodiscard]] bool Refresh();
  void AddOverrides();
  void AddChangedOverrides();
  // Returns the number of visits.
  std::size_t TrimPartition(std::size_t partition, Instant now);
  [[nodiscard]] bool TrimSlot(std::size_t partition, const SlotKey& slot, Instant now);

  Limiter& limiter_;
  const Policies& policies_;
  const PolicyLimits before_;
  std::shared_ptr<const Policy> policy_;
  std::unique_ptr<Overrides::Watcher> watcher_;  // of the policy's overrides
  // The overrides by the partitions and hashes of their keys.
  absl::flat_hash_map<std::pair<std::uint16_t, std::uint64_t>, std::shared_ptr<const PolicyLimits>>
      overrides_;
  std::optional<std::string> last_override_;  // the key of the last one that was added
  bool has_overrides_ = false;                // all of them were added
  std::size_t partition_ = 0;                 // the next one
  std::size_t trimmed_ = 0;
  bool is_outdated_ = false;
};

}  // namespace weir
