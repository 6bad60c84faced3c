#include "core/policies/policies.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

// The greatest numbers of a policy, raised to those of the limits that it gets.
std::vector<GreatestNumbers> Raised(std::vector<GreatestNumbers> greatest,
                                    const PolicyLimits& limits) {
  if (greatest.size() < limits.size()) greatest.resize(limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const Limit& limit = limits[i].limit;
    greatest[i] = {std::max(greatest[i].capacity, limit.capacity()),
                   std::max(greatest[i].ban, limit.shape().ban)};
  }
  return greatest;
}

// The same limits, owned by the policy, each at its position. Requires: `greatest` are Raised to
// those of `limits`.
PolicyLimits OwnedBy(PolicyId policy, PolicyLimits limits,
                     const std::vector<GreatestNumbers>& greatest) {
  WEIR_CHECK(policy != kNoPolicy);
  WEIR_CHECK(limits.size() <= greatest.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    limits[i].limit = limits[i].limit.OwnedBy({policy, static_cast<std::uint32_t>(i)}, greatest[i]);
  }
  return limits;
}

// True if the limits are equal, and their buckets may owe the same.
bool IsSame(const PolicyLimits& a, const PolicyLimits& b) {
  return std::ranges::equal(a, b, [](const PolicyLimit& one, const PolicyLimit& other) {
    return one == other && one.limit.outgrown() == other.limit.outgrown() &&
           one.limit.greatest_ban() == other.limit.greatest_ban();
  });
}

bool IsPolicys(const Limit& limit) {
  return limit.owner() != LimitOwner{} && limit.owner() != kThrottleOwner;
}

bool IsTheFiles(const Policy& policy) { return policy.from_file && !policy.retired; }

bool HasRuleName(std::string_view name) { return name.starts_with(kRulePolicyPrefix); }

bool Concerns(FilePart part, std::string_view name) {
  return part == FilePart::kAll || HasRuleName(name) == (part == FilePart::kRules);
}

// True if a policy of a file has these limits.
bool HasAlready(const Policy& policy, const PolicyLimits& limits) {
  const auto is_same = [](const PolicyLimit& a, const PolicyLimit& b) {
    return a.limit.shape() == b.limit.shape() && a.cost == b.cost && a.keep == b.keep &&
           a.label == b.label;
  };
  return IsTheFiles(policy) && std::ranges::equal(policy.limits, limits, is_same);
}

absl::Status CheckName(std::string_view name) {
  if (IsLabel(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("policy name ", Quote(name), " must be 1 to ",
                                                 kLabelBytesMax, " of letters, digits, _ - . :"));
}

absl::Status TooManyPolicies() {
  return absl::ResourceExhaustedError(absl::StrCat("too many policies: at most ", kPoliciesMax));
}

absl::Status TooManyRulePolicies() {
  return absl::ResourceExhaustedError(
      absl::StrCat("too many policies of rules, with those that are retired: at most ",
                   kRulePoliciesMax, " (RL.POLICY DEL deletes retired ones)"));
}

}  // namespace

absl::Status UnknownPolicy(std::string_view name) {
  return absl::NotFoundError(
      absl::StrCat("unknown policy ", Quote(name), ": RL.POLICY SET makes one"));
}

std::shared_ptr<const Policy> Policies::Find(std::string_view name) const {
  MutexLock lock(mutex_);
  const auto found = policies_.find(name);
  return found == policies_.end() ? nullptr : found->second;
}

std::shared_ptr<const Policy> Policies::FindById(PolicyId id) const {
  MutexLock lock(mutex_);
  return FindByIdLocked(id);
}

std::shared_ptr<const Policy> Policies::FindByIdLocked(PolicyId id) const {
  const auto name = names_.find(id);
  if (name == names_.end()) return nullptr;
  const auto found = policies_.find(name->second);
  WEIR_CHECK(found != policies_.end());
  WEIR_CHECK(found->second->id == id);
  return found->second;
}

Policies::Size Policies::size() const {
  MutexLock lock(mutex_);
  return {.policies = policies_.size(), .overrides = override_count_};
}

std::vector<std::shared_ptr<const Policy>> Policies::All() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<const Policy>> all;
  all.reserve(policies_.size());
  for (const auto& [name, policy] : policies_) all.push_back(policy);
  return all;
}

std::shared_ptr<const PolicyLimits> Policies::LimitsOf(std::string_view name,
                                                       std::string_view key) const {
  const std::shared_ptr<const Policy> policy = Find(name);
  if (!policy) return nullptr;
  std::shared_ptr<const PolicyLimits> own = policy->overrides->Find(key);
  return own ? own : std::shared_ptr<const PolicyLimits>(policy, &policy->limits);
}

std::optional<Limit> Policies::PresentLimit(const Limit& interned,
                                            std::optional<std::string_view> key) const {
  if (!IsPolicys(interned)) return interned;
  const std::shared_ptr<const Policy> policy = FindById(interned.owner().policy);
  if (!policy) return std::nullopt;
  const std::shared_ptr<const PolicyLimits> own = key ? policy->overrides->Find(*key) : nullptr;
  return LimitIn(own ? *own : policy->limits, interned);
}

// Every policy has one name and one id, which was given out.
void Policies::CheckCounts() const {
  WEIR_CHECK(names_.size() == policies_.size());
  WEIR_CHECK(rule_policies_ <= kRulePoliciesMax);
  WEIR_CHECK(policies_.size() - rule_policies_ <= kPoliciesMax);
  WEIR_CHECK(override_count_ <= 2 * overrides_max_);
  WEIR_CHECK(next_id_ != kNoPolicy);
}

void Policies::FreeDeleted() {
  decltype(deleted_) deleted;
  {
    MutexLock lock(mutex_);
    if (!logs_changes_) deleted.swap(deleted_);
  }
  // A LimitMemo may hold these overrides, too.
  for (const auto& [id, overrides] : deleted) overrides->Clear();
}

// Raises a policy's greatest numbers: its buckets may owe that much from now on.
void Policies::RaiseTo(std::shared_ptr<const Policy>& policy,
                       std::vector<GreatestNumbers> greatest) {
  WEIR_CHECK(greatest.size() >= policy->greatest.size());
  Policy raised = *policy;
  raised.limits = OwnedBy(raised.id, std::move(raised.limits), greatest);
  raised.greatest = std::move(greatest);
  policy = std::make_shared<const Policy>(std::move(raised));
  Changed();
}

void Policies::RaiseGreatest(std::string_view name, std::span<const GreatestNumbers> greatest) {
  MutexLock lock(mutex_);
  const auto found = policies_.find(name);
  if (found == policies_.end()) return;
  std::vector<GreatestNumbers> raised = found->second->greatest;
  raised.resize(std::max(raised.size(), std::min(greatest.size(), kPolicyLimitsMax)));
  for (std::size_t i = 0; i < std::min(raised.size(), greatest.size()); ++i) {
    raised[i] = {std::clamp(greatest[i].capacity, raised[i].capacity, kCapacityMax),
                 std::clamp(greatest[i].ban, raised[i].ban, kPeriodMax)};
  }
  if (raised == found->second->greatest) return;
  RaiseTo(found->second, std::move(raised));
  MarkPolicyChanged(found->second->id);
}

// Makes the policy, or replaces the one of its name and id, whose overrides stay. Raises its
// greatest numbers to those of its limits.
void Policies::Put(Policy policy) {
  WEIR_CHECK(IsPolicyId(policy.id));
  policy.greatest = Raised(std::move(policy.greatest), policy.limits);
  policy.limits = OwnedBy(policy.id, std::move(policy.limits), policy.greatest);
  names_[policy.id] = policy.name;
  next_id_ = std::max(next_id_, Next(policy.id));
  std::shared_ptr<const Policy>& present = policies_[policy.name];
  WEIR_CHECK(!present || present->id == policy.id);
  if (present && IsOfRules(*present)) --rule_policies_;
  if (IsOfRules(policy)) ++rule_policies_;
  policy.overrides = present ? present->overrides : std::make_shared<Overrides>();
  present = std::make_shared<const Policy>(std::move(policy));
  CheckCounts();
}

void Policies::Store(std::string_view name, PolicyLimits limits, bool from_file) {
  Policy policy{std::string(name), next_id_, from_file, std::move(limits)};
  const auto found = policies_.find(name);
  if (found != policies_.end()) {
    policy.id = found->second->id;
    policy.greatest = found->second->greatest;
  }
  MarkPolicyChanged(policy.id);
  Put(std::move(policy));
}

absl::Status Policies::FromFile(std::string_view name) const {
  const bool is_of_rules = rules_own_names_ && HasRuleName(name);
  return absl::FailedPreconditionError(absl::StrCat(
      "policy ", Quote(name),
      is_of_rules ? " belongs to the rules of rls-config: change them there"
                  : " belongs to the policy file: change it there, then run RL.POLICY RELOAD"));
}

absl::Status Policies::Set(std::string_view name, PolicyLimits limits) {
  WEIR_RETURN_IF_ERROR(CheckName(name));
  WEIR_RETURN_IF_ERROR(CheckLabels(limits));
  MutexLock lock(mutex_);
  const auto found = policies_.find(name);
  if (found != policies_.end() && IsTheFiles(*found->second)) return FromFile(name);
  if (rules_own_names_ && HasRuleName(name)) return FromFile(name);
  const bool is_new = found == policies_.end();
  if (is_new && next_id_ == kThrottleOwner.policy) return TooManyPolicies();
  if ((is_new || IsOfRules(*found->second)) && !HasRoom(false)) return TooManyPolicies();
  Store(name, std::move(limits), false);
  Changed();
  return absl::OkStatus();
}

void Policies::Remove(ByName::iterator found) {
  const Policy& policy = *found->second;
  MarkPolicyChanged(policy.id);
  WEIR_CHECK(override_count_ >= policy.overrides->size());
  override_count_ -= policy.overrides->size();
  if (IsOfRules(policy)) --rule_policies_;
  deleted_.emplace_back(policy.id, policy.overrides);
  overridden_.erase(policy.id);
  names_.erase(policy.id);
  policies_.erase(found);
  CheckCounts();
}

absl::StatusOr<PolicyId> Policies::Delete(std::string_view name, Which which) {
  MutexLock lock(mutex_);
  const auto found = policies_.find(name);
  if (found == policies_.end()) return UnknownPolicy(name);
  if (IsTheFiles(*found->second)) return FromFile(name);
  const bool is_unused = found->second->retired && found->second->overrides->empty();
  if (which == Which::kUnused && !is_unused) {
    return absl::FailedPreconditionError(absl::StrCat("policy ", Quote(name), " is in use"));
  }
  const PolicyId id = found->second->id;
  Remove(found);
  Changed();
  return id;
}

// Makes or changes an override. Returns true if the policy's greatest numbers had to be raised.
bool Policies::PutOverride(const Policy& policy, std::string_view key, PolicyLimits limits) {
  const auto greatest = Raised(policy.greatest, limits);
  const bool raises = greatest != policy.greatest;
  if (raises) RaiseTo(policies_.find(policy.name)->second, greatest);
  const bool is_new = policy.overrides->Set(
      key, std::make_shared<const PolicyLimits>(OwnedBy(policy.id, std::move(limits), greatest)));
  if (is_new) {
    ++override_count_;
    overridden_.emplace(policy.id, policy.overrides);
  }
  CheckCounts();
  return raises;
}

absl::Status Policies::Override(std::string_view name, std::string_view key, PolicyLimits limits) {
  WEIR_RETURN_IF_ERROR(CheckLabels(limits));
  MutexLock lock(mutex_);
  const auto found = policies_.find(name);
  if (found == policies_.end()) return UnknownPolicy(name);
  const std::shared_ptr<const Policy> policy = found->second;
  if (override_count_ >= overrides_max_ && !policy->overrides->Find(key)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("too many overrides: at most ", overrides_max_));
  }
  if (PutOverride(*policy, key, std::move(limits))) MarkPolicyChanged(policy->id);
  MarkOverrideChanged(policy->id, key);
  return absl::OkStatus();
}

bool Policies::RemoveOverrideOf(const Policy& policy, std::string_view key) {
  if (!policy.overrides->Remove(key)) return false;
  WEIR_CHECK(override_count_ > 0);
  --override_count_;
  MarkOverrideChanged(policy.id, key);
  return true;
}

absl::StatusOr<bool> Policies::RemoveOverride(std::string_view name, std::string_view key) {
  MutexLock lock(mutex_);
  const auto found = policies_.find(name);
  if (found == policies_.end()) return UnknownPolicy(name);
  return RemoveOverrideOf(*found->second, key);
}

absl::Status Policies::CheckFile(const absl::btree_set<std::string_view>& listed,
                                 FilePart part) const {
  std::size_t rules = 0;
  std::size_t added = 0;
  for (const std::string_view name : listed) {
    if (!Concerns(part, name)) return FromFile(name);
    if (HasRuleName(name)) ++rules;
    const auto found = policies_.find(name);
    if (found == policies_.end()) {
      ++added;
    } else if (part == FilePart::kRules && !found->second->from_file) {
      return absl::FailedPreconditionError(
          absl::StrCat("policy ", Quote(name),
                       " was made by a client, and a rule needs its name: RL.POLICY DEL"));
    }
  }
  std::size_t others = listed.size() - rules;
  for (const auto& [name, policy] : policies_) {
    if (!listed.contains(name)) ++(IsOfRules(*policy) ? rules : others);
  }
  if (rules > kRulePoliciesMax) return TooManyRulePolicies();
  const std::uint32_t ids_left = NumberOf(kThrottleOwner.policy) - NumberOf(next_id_);
  if (others > kPoliciesMax || added > ids_left) return TooManyPolicies();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::shared_ptr<const Policy>>> Policies::ReplaceFile(
    const std::vector<std::pair<std::string, PolicyLimits>>& file, FilePart part) {
  absl::btree_set<std::string_view> listed;
  for (const auto& [name, limits] : file) {
    WEIR_RETURN_IF_ERROR(CheckName(name));
    WEIR_RETURN_IF_ERROR(CheckLabels(limits));
    listed.insert(name);
  }
  MutexLock lock(mutex_);
  rules_own_names_ = part != FilePart::kAll;
  WEIR_RETURN_IF_ERROR(CheckFile(listed, part));
  std::vector<std::shared_ptr<const Policy>> retired;
  for (auto& [name, policy] : policies_) {
    if (!IsTheFiles(*policy) || listed.contains(name) || !Concerns(part, name)) continue;
    Policy changed = *policy;
    changed.retired = true;
    policy = std::make_shared<const Policy>(std::move(changed));
    MarkPolicyChanged(policy->id);
    retired.push_back(policy);
  }
  bool is_changed = !retired.empty();
  for (const auto& [name, limits] : file) {
    const auto found = policies_.find(name);
    if (found != policies_.end() && HasAlready(*found->second, limits)) continue;
    Store(name, limits, true);
    is_changed = true;
  }
  if (is_changed) Changed();
  return retired;
}

// Does not log an override that stays the same: after a pause a replica gets all overrides again.
bool Policies::ApplyOverride(const OverrideChange& change) {
  const std::shared_ptr<const Policy> policy = FindByIdLocked(change.policy);
  if (!policy) return false;
  const std::shared_ptr<const PolicyLimits> present = policy->overrides->Find(change.key);
  if (!present && override_count_ >= 2 * overrides_max_) return false;
  const auto greatest = Raised(policy->greatest, *change.limits);
  if (present && IsSame(*present, OwnedBy(policy->id, *change.limits, greatest))) return true;
  if (PutOverride(*policy, change.key, *change.limits)) MarkPolicyChanged(policy->id);
  MarkOverrideChanged(policy->id, change.key);
  return true;
}

}  // namespace weir
