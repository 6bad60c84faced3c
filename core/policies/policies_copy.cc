// Policies: saving, loading and replication.
#include <utility>

#include "absl/container/flat_hash_set.h"

#include "core/base/check.h"
#include "core/policies/policies.h"
#include "core/words/limit_grammar.h"

namespace weir {

void Policies::StopLogging() {
  {
    MutexLock lock(mutex_);
    logs_changes_ = false;
    changed_policies_.clear();
    changed_overrides_.clear();
  }
  FreeDeleted();
}

PolicyChanges Policies::TakeChanges() {
  PolicyChanges changes;
  decltype(changed_overrides_) overrides;
  decltype(deleted_) deleted;
  {
    MutexLock lock(mutex_);
    changes.next_id = next_id_;
    for (const PolicyId id : changed_policies_) {
      changes.policies.push_back({id, FindByIdLocked(id)});
    }
    for (const OverrideKey& changed : changed_overrides_) {
      const std::shared_ptr<const Policy> policy = FindByIdLocked(changed.first);
      changes.overrides.push_back({changed.first, changed.second,
                                   policy ? policy->overrides->Find(changed.second) : nullptr});
    }
    changed_policies_.clear();
    overrides.swap(changed_overrides_);
    deleted.swap(deleted_);
  }
  for (const auto& [id, gone] : deleted) {
    for (const std::string& key : gone->Clear()) {
      if (overrides.emplace(id, key).second) changes.overrides.push_back({id, key, nullptr});
    }
  }
  return changes;
}

bool Policies::Restore(const Policy& policy) {
  MutexLock lock(mutex_);
  const bool id_is_free = IsPolicyId(policy.id) && !names_.contains(policy.id);
  if (!id_is_free || !IsLabel(policy.name) || policies_.contains(policy.name) ||
      !HasRoom(IsOfRules(policy))) {
    return false;
  }
  Policy restored = policy;
  restored.retired = false;  // no record tells it
  Put(std::move(restored));
  Changed();
  return true;
}

bool Policies::RestoreOverride(PolicyId policy, std::string_view key, PolicyLimits limits) {
  MutexLock lock(mutex_);
  const std::shared_ptr<const Policy> found = FindByIdLocked(policy);
  if (!found || override_count_ >= overrides_max_ || found->overrides->Find(key)) return false;
  static_cast<void>(PutOverride(*found, key, std::move(limits)));
  return true;
}

PolicyChanges Policies::List() const {
  PolicyChanges list;
  MutexLock lock(mutex_);
  list.next_id = next_id_;
  list.policies.reserve(policies_.size());
  for (const auto& [name, policy] : policies_) list.policies.push_back({policy->id, policy});
  return list;
}

std::vector<OverrideChange> Policies::OverridesIn(std::uint16_t partition) const {
  std::vector<OverrideChange> copy;
  MutexLock lock(mutex_);
  for (const auto& [id, overrides] : overridden_) {
    for (auto& [key, limits] : overrides->In(partition)) {
      copy.push_back({id, std::move(key), std::move(limits)});
    }
  }
  return copy;
}

// Deletes the policies that the list does not name.
void Policies::RemoveUnlisted(const PolicyChanges& list) {
  absl::flat_hash_set<PolicyId> listed(list.kept.begin(), list.kept.end());
  for (const auto& [id, policy] : list.policies) {
    if (policy) listed.insert(id);
  }
  for (auto next = policies_.begin(); next != policies_.end();) {
    const auto found = next++;
    if (!listed.contains(found->second->id)) Remove(found);
  }
}

bool Policies::ApplyPolicy(const Policy& policy) {
  if (!IsPolicyId(policy.id) || !IsLabel(policy.name)) return false;
  const auto same_name = policies_.find(policy.name);
  if (same_name != policies_.end() && same_name->second->id != policy.id) Remove(same_name);
  const std::shared_ptr<const Policy> same_id = FindByIdLocked(policy.id);
  if (same_id && same_id->name != policy.name) Remove(policies_.find(same_id->name));
  const auto present = policies_.find(policy.name);
  const bool of_rules = IsOfRules(policy);
  const bool needs_room = present == policies_.end() || IsOfRules(*present->second) != of_rules;
  if (needs_room && !HasRoom(of_rules)) return false;
  MarkPolicyChanged(policy.id);
  Put(policy);
  return true;
}

Policies::Applied Policies::Apply(const PolicyChanges& changes, bool list) {
  MutexLock lock(mutex_);
  // What goes makes room for what comes.
  for (const auto& [id, policy] : changes.policies) {
    const std::shared_ptr<const Policy> gone = policy ? nullptr : FindByIdLocked(id);
    if (gone) Remove(policies_.find(gone->name));
  }
  if (list) RemoveUnlisted(changes);
  Applied applied;
  for (const auto& [id, policy] : changes.policies) {
    if (policy && !ApplyPolicy(*policy)) ++applied.dropped;
  }
  for (const OverrideChange& change : changes.overrides) {
    const auto policy = change.limits ? nullptr : FindByIdLocked(change.policy);
    if (policy) RemoveOverrideOf(*policy, change.key);
  }
  for (const OverrideChange& change : changes.overrides) {
    if (change.limits && !ApplyOverride(change)) ++applied.dropped;
  }
  next_id_ = std::max(next_id_, changes.next_id);
  CheckCounts();
  if (list || !changes.policies.empty()) Changed();
  return applied;
}

Policies::Applied Policies::ReplaceOverrides(std::uint16_t partition,
                                             const std::vector<OverrideChange>& overrides) {
  Applied applied;
  MutexLock lock(mutex_);
  if (overrides.empty() && override_count_ == 0) return applied;
  absl::flat_hash_set<std::pair<PolicyId, std::string_view>> present;
  for (const OverrideChange& change : overrides) {
    WEIR_CHECK(change.limits != nullptr);
    present.emplace(change.policy, change.key);
  }
  for (const auto& [id, own] : overridden_) {
    for (const auto& [key, limits] : own->In(partition)) {
      if (!present.contains({id, key})) RemoveOverrideOf(*FindByIdLocked(id), key);
    }
  }
  for (const OverrideChange& change : overrides) {
    if (FindByIdLocked(change.policy) && !ApplyOverride(change)) ++applied.dropped;
  }
  CheckCounts();
  return applied;
}

}  // namespace weir
