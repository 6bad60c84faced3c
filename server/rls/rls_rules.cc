#include "server/rls/rls_rules.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "core/limiter/isolation.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/policies/overrides.h"
#include "rls/rule_file.h"
#include "rls/rule_folder.h"
#include "rls/rule_policies.h"
#include "server/health/add_event.h"
#include "server/os/log.h"

namespace weir {
namespace {

// A policy that is retired stays for so long at least.
constexpr Nanos kRetiredTime = std::chrono::hours{1};
// While policies are deleted, decisions wait.
constexpr std::size_t kDeletedAtOnce = 100;

absl::StatusOr<std::vector<RuleFile>> ReadFiles(const std::string& folder_or_file) {
  const absl::StatusOr<RulePaths> paths = FindRuleFiles(folder_or_file);
  if (!paths.ok()) return paths.status();
  std::vector<RuleFile> files;
  for (const std::string& path : paths->files) {
    absl::StatusOr<RuleFile> file = ReadRuleFile(path);
    if (!file.ok()) return file.status();
    files.push_back(*std::move(file));
  }
  return files;
}

absl::StatusOr<std::shared_ptr<const RlsRules::Set>> MakeSet(
    absl::StatusOr<std::vector<RuleFile>> files, const Options& options, RlsCounters& counters) {
  if (!files.ok()) return files.status();
  std::vector<std::string> places;
  for (const RuleFile& file : *files) {
    for (const Rule& rule : file.rules) places.push_back(PlaceText(file, file.rules, rule));
  }
  absl::StatusOr<RuleTree> tree = RuleTree::Create(*std::move(files), options.rls_merge_domains);
  if (!tree.ok()) return tree.status();
  absl::StatusOr<RulePolicies> policies = PoliciesOf(*tree);
  if (!policies.ok()) return policies.status();
  std::vector<std::string> words;
  for (const std::string& name : policies->names) {
    words.push_back(name.empty() ? "" : absl::StrCat("@", name));
  }
  std::vector<RlsDomainCounts*> counts;
  for (const RuleDomain& domain : tree->domains())
    counts.push_back(&counters.OfDomain(domain.name));
  std::unique_ptr<std::atomic<ReferenceCounts*>[]> reference;
  if (options.rls_metrics == RlsMetrics::kReference) {
    reference = std::make_unique<std::atomic<ReferenceCounts*>[]>(words.size());
  }
  return std::make_shared<const RlsRules::Set>(
      RlsRules::Set{*std::move(tree), std::move(words), std::move(policies->policies),
                    std::move(counts), std::move(places), std::move(reference)});
}

// The longest time until all buckets of a policy are full, which may owe their limit twice.
Nanos TimeToFill(const Policy& policy) {
  Nanos longest{0};
  for (const PolicyLimit& limit : policy.limits) {
    const LimitShape& shape = limit.limit.shape();
    const Nanos windows =
        shape.algorithm == Algorithm::kFixedWindow ? shape.period : 2 * shape.period;
    longest = std::max(longest, shape.has_calendar() ? kPeriodMax : windows);
  }
  Nanos longest_ban{0};
  for (const GreatestNumbers& greatest : policy.greatest) {
    longest = std::max(longest, 2 * greatest.capacity);
    longest_ban = std::max(longest_ban, greatest.ban);
  }
  return longest + longest_ban;
}

// When a policy that has been retired since then is deleted.
Instant EndOf(const Policy& policy, Instant since) {
  return since + std::max(TimeToFill(policy), kRetiredTime);
}

bool IsRetiredRule(const Policy& policy) {
  return policy.retired && policy.name.starts_with(kRulePolicyPrefix);
}

// True for the same limit, of any owner.
bool AreEqual(const PolicyLimit& a, const PolicyLimit& b) {
  return a.limit.shape() == b.limit.shape() && a.cost == b.cost && a.keep == b.keep &&
         a.label == b.label;
}

// True if all these are policies of a file that are in use.
bool HasAll(const Policies& policies, const PolicyFile& file) {
  return std::ranges::all_of(file, [&policies](const auto& wanted) {
    const std::shared_ptr<const Policy> policy = policies.Find(wanted.first);
    return policy && policy->from_file && !policy->retired &&
           std::ranges::equal(policy->limits, wanted.second, AreEqual);
  });
}

// The policies of `after`, and those of `before` that it does not have. (No request may use one
// that is retired.)
PolicyFile Joined(const PolicyFile& before, const PolicyFile& after) {
  PolicyFile both = after;
  std::vector<std::string_view> names;
  for (const auto& [name, limits] : after) names.push_back(name);
  std::ranges::sort(names);
  for (const auto& policy : before) {
    if (!std::ranges::binary_search(names, policy.first)) both.push_back(policy);
  }
  return both;
}

}  // namespace

absl::Status RlsRules::Load() {
  loaded_ = LookAtFiles();
  seen_ = loaded_;
  const Options& options = services_.options;
  return Take(MakeSet(ReadFiles(options.rls_config), options, services_.rls), RulesFrom::kFiles);
}

absl::Status RlsRules::Replace(absl::StatusOr<std::vector<RuleFile>> rules, RulesFrom from) {
  return Take(MakeSet(std::move(rules), services_.options, services_.rls), from);
}

absl::Status RlsRules::Take(const absl::StatusOr<std::shared_ptr<const Set>>& read,
                            RulesFrom from) {
  RlsCounters& counters = services_.rls;
  absl::Status used = read.ok() ? Use(*read, from) : read.status();
  load_error_ = std::string(StdView(used.message()));
  counters.set_load_error(load_error_);
  if (used.ok()) counters.from.store(from);
  if (used.ok() && from == RulesFrom::kFiles) {
    AddEvent(
        services_, ServerEventKind::kPolicy, "",
        absl::StrCat("read the rules of rls-config: ", (*read)->tree.rules().size(), " rules"));
  }
  (used.ok() ? counters.loads : counters.load_errors).fetch_add(1, std::memory_order_relaxed);
  return used;
}

// A call that still has the old rules finds their policies until the next look.
absl::Status RlsRules::Use(const std::shared_ptr<const Set>& set, RulesFrom from) {
  const std::shared_ptr<const Set> before = Get();
  bool puts_in_force = false;
  if (services_.rls.in_force.load() && services_.is_primary()) {
    const PolicyFile both = Joined(before->policies, set->policies);
    if (!HasAll(services_.policies, both)) {
      WEIR_RETURN_IF_ERROR(MakeRoom(both));
      WEIR_RETURN_IF_ERROR(services_.ReplaceRulePolicies(both));
    }
    has_leftovers_ = has_leftovers_ || both.size() > set->policies.size();
    absl::flat_hash_set<std::string_view> names;
    for (const auto& [name, limits] : both) names.insert(name);
    std::erase_if(leaving_, [&](const Leaving& retired) { return names.contains(retired.name); });
  } else if (from == RulesFrom::kXds && services_.admission().is_serving()) {
    WEIR_RETURN_IF_ERROR(MakePoliciesOf(*set));
    puts_in_force = true;
  } else {
    // A replica that becomes a primary before the next look has other policies.
    services_.rls.in_force.store(false);
    version_seen_ = 0;
  }
  services_.rls.domains.store(set->tree.domains().size(), std::memory_order_relaxed);
  services_.rls.rules.store(set->tree.rules().size(), std::memory_order_relaxed);
  {
    MutexLock lock(mutex_);
    set_ = set;
  }
  if (puts_in_force) services_.rls.in_force.store(true);
  return absl::OkStatus();
}

absl::Status RlsRules::MakePolicies() {
  const std::shared_ptr<const Set> set = Get();
  if (!set) return absl::OkStatus();  // A control plane has not sent them yet.
  WEIR_RETURN_IF_ERROR(MakePoliciesOf(*set));
  services_.rls.in_force.store(true);
  return absl::OkStatus();
}

absl::Status RlsRules::MakePoliciesOf(const Set& set) {
  WEIR_RETURN_IF_ERROR(MakeRoom(set.policies));
  WEIR_RETURN_IF_ERROR(services_.ReplaceRulePolicies(set.policies));
  NoteRetired();
  has_leftovers_ = false;
  return absl::OkStatus();
}

bool RlsRules::HasPolicies() {
  const std::uint64_t version = services_.policies.version();
  if (version == version_seen_) return true;
  const bool has_all = HasAll(services_.policies, Get()->policies);
  version_seen_ = has_all ? version : 0;
  return has_all;
}

absl::Status RlsRules::MakeRoom(const PolicyFile& policies_of_rules) {
  absl::flat_hash_set<std::string_view> wanted;
  for (const auto& [name, limits] : policies_of_rules) wanted.insert(name);
  std::size_t others = 0;
  std::size_t overridden = 0;  // of the others
  for (const std::shared_ptr<const Policy>& policy : services_.policies.All()) {
    const bool is_of_rules = policy->from_file && policy->name.starts_with(kRulePolicyPrefix);
    if (!is_of_rules || wanted.contains(policy->name)) continue;
    ++others;
    if (!policy->overrides->empty()) ++overridden;
  }
  if (wanted.size() + others <= kRulePoliciesMax) return absl::OkStatus();
  if (wanted.size() + overridden > kRulePoliciesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("too many policies of rules: at most ", kRulePoliciesMax,
                     " with those of rules that have left and have overrides"));
  }
  PolicyFile present;
  for (const auto& policy : policies_of_rules) {
    if (services_.policies.Find(policy.first)) present.push_back(policy);
  }
  WEIR_RETURN_IF_ERROR(services_.ReplaceRulePolicies(present));
  NoteRetired();
  std::vector<Leaving> deleted;
  for (const Leaving& retired : leaving_) {
    if (wanted.size() + others - deleted.size() == kRulePoliciesMax) break;
    const std::shared_ptr<const Policy> policy = services_.policies.Find(retired.name);
    if (policy && policy->overrides->empty() && !wanted.contains(retired.name)) {
      deleted.push_back(retired);
    }
  }
  Delete(deleted);
  return absl::OkStatus();
}

void RlsRules::NoteRetired() {
  absl::flat_hash_map<std::string, Instant> since;
  for (Leaving& retired : leaving_) since.emplace(std::move(retired.name), retired.since);
  leaving_.clear();
  const Instant now = services_.clock.Now();
  for (const std::shared_ptr<const Policy>& policy : services_.policies.All()) {
    if (!IsRetiredRule(*policy)) continue;
    const Instant begin = since.try_emplace(policy->name, now).first->second;
    leaving_.push_back({policy->name, begin, EndOf(*policy, begin)});
  }
  std::ranges::stable_sort(leaving_, {}, &Leaving::since);
}

void RlsRules::DeleteLeft(Instant now) {
  std::vector<Leaving> left;
  for (Leaving& retired : leaving_) {
    if (now < retired.ends) continue;
    const std::shared_ptr<const Policy> policy = services_.policies.Find(retired.name);
    if (policy) retired.ends = EndOf(*policy, retired.since);
    if (now >= retired.ends) left.push_back(retired);
  }
  if (left.empty()) return;
  Delete(left);
  std::erase_if(leaving_, [now](const Leaving& retired) { return now >= retired.ends; });
}

void RlsRules::Delete(std::span<const Leaving> retired) {
  std::vector<PolicyId> deleted;
  while (!retired.empty()) {
    const auto step = retired.first(std::min(retired.size(), kDeletedAtOnce));
    retired = retired.subspan(step.size());
    const Isolation isolation(services_.limiter.table());
    for (const Leaving& one : step) {
      // An override may be made at this moment.
      const auto id = services_.policies.Delete(one.name, Policies::Which::kUnused);
      if (id.ok()) deleted.push_back(*id);
    }
  }
  if (deleted.empty()) return;
  spdlog::info("deleted {} policies of rules that have left", deleted.size());
  const auto forget = [&upkeep = services_.upkeep, deleted] { upkeep.ForgetPolicies(deleted); };
  if (!services_.run_aside(forget, [] {}).ok()) forget();
}

void RlsRules::ShowError(const absl::Status& made) {
  const std::string error(StdView(made.message()));
  services_.rls.set_load_error(load_error_.empty() ? error : load_error_);
  if (error != making_error_ && !made.ok()) {
    spdlog::error("the rules are not in force: {}", EscapedForLog(error));
  }
  making_error_ = error;
}

RlsRules::Traces RlsRules::LookAtFiles() const {
  const absl::StatusOr<RulePaths> paths = FindRuleFiles(services_.options.rls_config);
  if (!paths.ok()) return {std::string(StdView(paths.status().message()))};
  Traces traces;
  for (const std::string& path : paths->files) {
    struct stat file = {};  // zeros for one that is not there
    static_cast<void>(stat(path.c_str(), &file));
    traces.push_back(absl::StrCat(path, " ", file.st_dev, " ", file.st_ino, " ", file.st_size, " ",
                                  file.st_mtim.tv_sec, ".", file.st_mtim.tv_nsec, " ",
                                  file.st_ctim.tv_sec, ".", file.st_ctim.tv_nsec));
  }
  return traces;
}

void RlsRules::Look() {
  if (services_.admission().loading()) return;
  absl::Status made;
  if (!services_.is_primary()) {
    services_.rls.in_force.store(false);
    leaving_.clear();
    version_seen_ = 0;
  } else if (has_leftovers_ || !services_.rls.in_force.load() || !HasPolicies()) {
    made = MakePolicies();
  }
  ShowError(made);
  if (services_.rls.in_force.load()) DeleteLeft(services_.clock.Now());
  if (!services_.options.rls_config.empty()) LookForChanges();
}

void RlsRules::LookForChanges() {
  Traces present = LookAtFiles();
  const bool is_still = present == seen_;
  seen_ = std::move(present);
  if (!is_still || seen_ == loaded_) return;
  const absl::Status loaded = Load();
  if (loaded.ok()) return spdlog::info("the files of rls-config have changed: the rules are read");
  spdlog::error("the files of rls-config have changed: the rules are unchanged: {}",
                EscapedForLog(StdView(loaded.message())));
}

void ReloadRules(RlsRules& rules) {
  const absl::Status loaded = rules.Load();
  if (loaded.ok()) return spdlog::info("received SIGHUP: read the rules of rls-config again");
  spdlog::error("received SIGHUP: the rules are unchanged: {}",
                EscapedForLog(StdView(loaded.message())));
}

}  // namespace weir
