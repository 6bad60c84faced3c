// All policies and their overrides.
//
// A thread looks a policy up once, keeps it in its LimitMemo, and looks it up again only after
// version() has changed, so readers rarely meet a writer. Overrides are looked up for each request,
// under their policy's mutex, and only if the policy has some.
//
// Thread-safe. There are at most kPoliciesMax policies, besides them kRulePoliciesMax of rules, and
// at most kOverridesMax overrides of all policies together. A replica may have up to twice as many
// overrides while it still has some of its own beside those of its primary. Cost: a mutex and a
// hash look-up; All() and the file's replacement visit every policy, Apply() visits every override
// that it gets, and the functions about a partition visit its overrides.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/mutex.h"
#include "core/policies/overrides.h"
#include "core/policies/policy.h"

namespace weir {

inline constexpr std::size_t kPoliciesMax = 10'000;  // without those of rules
// Those of 10,000 rules and their inline limits, and as many that are retired.
inline constexpr std::size_t kRulePoliciesMax = 20'002;
inline constexpr std::size_t kAllPoliciesMax = kPoliciesMax + kRulePoliciesMax;
inline constexpr std::size_t kOverridesMax = 1'000'000;

// How the names of the policies begin that are made from rules of Envoy's rate limit service.
inline constexpr std::string_view kRulePolicyPrefix = "rls:";

// The policies of files that a replacement concerns: those that are made from rules, the others, or
// all. The first two take names with kRulePolicyPrefix from clients.
enum class FilePart : std::uint8_t { kAll, kRules, kOthers };

// An override that was made, changed, or (null) removed.
struct OverrideChange {
  PolicyId policy{};
  std::string key;
  std::shared_ptr<const PolicyLimits> limits;
};

// The changes since the last save, or the list of all policies (Policies::List).
struct PolicyChanges {
  struct PolicyChange {
    PolicyId id{};
    std::shared_ptr<const Policy> policy;  // null: it no longer exists
  };
  std::vector<PolicyChange> policies;
  std::vector<PolicyId> kept;  // of a list: policies that the receiver has as they are
  std::vector<OverrideChange> overrides;
  PolicyId next_id{};  // the id of the next new policy

  [[nodiscard]] bool empty() const noexcept { return policies.empty() && overrides.empty(); }
};

// The error for an unknown policy.
[[nodiscard]] absl::Status UnknownPolicy(std::string_view name);

// public-functions: 26, a map with its log.
class Policies {
 public:
  // `overrides_max` is lowered by tests only.
  explicit Policies(std::size_t overrides_max = kOverridesMax) : overrides_max_(overrides_max) {}
  Policies(const Policies&) = delete;
  Policies& operator=(const Policies&) = delete;

  // Changes with every change of a policy, but not with those of overrides.
  [[nodiscard]] std::uint64_t version() const noexcept {
    return version_.load(std::memory_order_acquire);
  }

  // Grows with every change of a policy or of an override.
  [[nodiscard]] std::uint64_t changes() const noexcept {
    return version() - 1 + override_changes_.load(std::memory_order_relaxed);
  }

  // Returns the policy, which may be retired, or null if there is none.
  [[nodiscard]] std::shared_ptr<const Policy> Find(std::string_view name) const;
  [[nodiscard]] std::shared_ptr<const Policy> FindById(PolicyId id) const;
  // Sorted by name.
  [[nodiscard]] std::vector<std::shared_ptr<const Policy>> All() const;
  struct Size {
    std::size_t policies = 0;   // with those that are retired
    std::size_t overrides = 0;  // of all of them
  };
  [[nodiscard]] Size size() const;

  // Returns the limits that the policy has now for this key, or null if there is no such policy.
  [[nodiscard]] std::shared_ptr<const PolicyLimits> LimitsOf(std::string_view name,
                                                             std::string_view key) const;

  // Returns an interned limit as it is now for this key; without a key, for those that have no
  // override. A policy's limit may have got other numbers, or be gone (nothing); any other limit is
  // returned unchanged.
  [[nodiscard]] std::optional<Limit> PresentLimit(
      const Limit& interned, std::optional<std::string_view> key = std::nullopt) const;

  // Makes a policy or gives it other limits. Fails, with nothing changed, with kInvalidArgument (a
  // bad name), kFailedPrecondition (a file owns it) or kResourceExhausted.
  absl::Status Set(std::string_view name, PolicyLimits limits);

  // Deletes a policy and returns its id. The caller must then forget its buckets
  // (LimiterUpkeep::ForgetPolicies) and free its overrides (FreeDeleted). Fails with kNotFound, or
  // kFailedPrecondition if a file owns it, or if it shall be unused and is not: is retired, without
  // an override. Cost: that of Find, however many overrides the policy has.
  enum class Which : bool { kAny, kUnused };
  absl::StatusOr<PolicyId> Delete(std::string_view name, Which which = Which::kAny);
  // Frees the overrides of deleted policies, about 0.2 us each, unless changes are logged: then
  // TakeChanges frees them. To be called where no client waits for the caller.
  void FreeDeleted();

  // Fails with kNotFound or kResourceExhausted.
  absl::Status Override(std::string_view name, std::string_view key, PolicyLimits limits);
  // Returns whether there was one. Fails with kNotFound.
  absl::StatusOr<bool> RemoveOverride(std::string_view name, std::string_view key);

  // Raises the policy's greatest numbers to `greatest` where those are greater. They may be any
  // numbers: at most kPolicyLimitsMax positions count, with capacities up to kCapacityMax and bans
  // up to kPeriodMax. Does nothing if the policy is unknown.
  void RaiseGreatest(std::string_view name, std::span<const GreatestNumbers> greatest);

  // Replaces all policies of files that `part` names by `file`, at once. Policies that it no longer
  // has are retired: they keep their limits, overrides and buckets until Delete, or until the file
  // has them again. If SET made a policy of the same name, it becomes the policy file's and keeps
  // its buckets; rules do not take such a name (kFailedPrecondition). What stays the same is not
  // logged. Returns the policies that this call has retired. Fails as Set does, with nothing
  // changed. Requires: distinct names.
  absl::StatusOr<std::vector<std::shared_ptr<const Policy>>> ReplaceFile(
      const std::vector<std::pair<std::string, PolicyLimits>>& file,
      FilePart part = FilePart::kAll);

  // --- Saving, loading and replication ---

  // From now on changes are logged for TakeChanges.
  void StartLogging() {
    MutexLock lock(mutex_);
    logs_changes_ = true;
  }
  // No longer; forgets those that were not taken.
  void StopLogging();
  // Returns the changes since the last call.
  [[nodiscard]] PolicyChanges TakeChanges();

  // Makes a policy as it was saved, and does not log it. Returns false, with nothing changed, if
  // its name or id is invalid or taken. `policy.overrides` is not read.
  [[nodiscard]] bool Restore(const Policy& policy);
  [[nodiscard]] bool RestoreOverride(PolicyId policy, std::string_view key, PolicyLimits limits);
  // Tells that all ids below `next_id` have been used.
  void RestoreNextId(PolicyId next_id) {
    MutexLock lock(mutex_);
    next_id_ = std::max(next_id_, next_id);
  }

  // For a new replica: return all policies without their overrides, and the overrides of one
  // partition (PartitionOfOverride). The result may have some of the changes that are made
  // meanwhile, so the replica must also apply the changes that are taken after the call.
  [[nodiscard]] PolicyChanges List() const;
  [[nodiscard]] std::vector<OverrideChange> OverridesIn(std::uint16_t partition) const;

  struct Applied {
    std::size_t dropped = 0;  // policies and overrides for which there is no place
  };
  // Makes policies and overrides, all at once, as another server's TakeChanges or List tells them,
  // and logs that like any change. A `list` deletes the policies that it does not name; a caller
  // that receives it in parts joins the parts first. A policy is taken as it is, with its id, its
  // flags and its greatest numbers; one that has its name or its id here, but not both, is deleted.
  // The caller need not forget the buckets of deleted policies, since the other server erases them,
  // but must free their overrides (FreeDeleted). Ids are never used again: the next id is the
  // greater of both servers'. Drops a policy with an impossible name or id, an override of an
  // unknown policy, and what exceeds the bounds. Requires: limits that ParsePolicyLimits accepts.
  Applied Apply(const PolicyChanges& changes, bool list);
  // Likewise replaces all overrides of one partition by these. Passes over overrides of unknown
  // policies: the other server sends them later. Requires: keys of the partition, and limits in
  // each.
  Applied ReplaceOverrides(std::uint16_t partition, const std::vector<OverrideChange>& overrides);

 private:
  using ByName = std::map<std::string, std::shared_ptr<const Policy>, std::less<>>;
  // Policy and key of an override.
  using OverrideKey = std::pair<PolicyId, std::string>;

  [[nodiscard]] static bool IsOfRules(const Policy& policy) noexcept {
    return policy.from_file && policy.name.starts_with(kRulePolicyPrefix);
  }
  // True if one more policy, of rules or not, is within the bounds.
  [[nodiscard]] bool HasRoom(bool of_rules) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return of_rules ? rule_policies_ < kRulePoliciesMax
                    : policies_.size() - rule_policies_ < kPoliciesMax;
  }
  // Fails if the policies would be too many, or a rule's name is a client's.
  [[nodiscard]] absl::Status CheckFile(const absl::btree_set<std::string_view>& listed,
                                       FilePart part) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Put(Policy policy) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool PutOverride(const Policy& policy, std::string_view key, PolicyLimits limits)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Store(std::string_view name, PolicyLimits limits, bool from_file)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(ByName::iterator found) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool RemoveOverrideOf(const Policy& policy, std::string_view key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RemoveUnlisted(const PolicyChanges& changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool ApplyPolicy(const Policy& policy) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool ApplyOverride(const OverrideChange& change)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RaiseTo(std::shared_ptr<const Policy>& policy, std::vector<GreatestNumbers> greatest)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckCounts() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Changed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    version_.fetch_add(1, std::memory_order_acq_rel);
  }
  void MarkPolicyChanged(PolicyId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (logs_changes_) changed_policies_.insert(id);
  }
  void MarkOverrideChanged(PolicyId policy, std::string_view key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    override_changes_.fetch_add(1, std::memory_order_relaxed);
    if (logs_changes_) changed_overrides_.emplace(policy, key);
  }
  [[nodiscard]] absl::Status FromFile(std::string_view name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::shared_ptr<const Policy> FindByIdLocked(PolicyId id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::size_t overrides_max_;

  mutable Mutex mutex_;
  ByName policies_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<PolicyId, std::string> names_ ABSL_GUARDED_BY(mutex_);  // by id
  std::size_t rule_policies_ ABSL_GUARDED_BY(mutex_) = 0;  // for which IsOfRules is true
  PolicyId next_id_ ABSL_GUARDED_BY(mutex_){1};
  bool rules_own_names_ ABSL_GUARDED_BY(mutex_) = false;  // those with kRulePolicyPrefix
  std::size_t override_count_ ABSL_GUARDED_BY(mutex_) = 0;
  // The overrides of the policies that have some, or had some.
  absl::flat_hash_map<PolicyId, std::shared_ptr<Overrides>> overridden_ ABSL_GUARDED_BY(mutex_);
  bool logs_changes_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_set<PolicyId> changed_policies_ ABSL_GUARDED_BY(mutex_);  // their ids
  absl::flat_hash_set<OverrideKey> changed_overrides_ ABSL_GUARDED_BY(mutex_);
  // The overrides of deleted policies, with the policies' ids: not freed yet, and logged as a
  // whole.
  std::vector<std::pair<PolicyId, std::shared_ptr<Overrides>>> deleted_ ABSL_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> version_{1};
  std::atomic<std::uint64_t> override_changes_{0};
};

}  // namespace weir
