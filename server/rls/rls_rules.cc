#include "server/rls/rls_rules.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "rls/rule_file.h"
#include "rls/rule_folder.h"
#include "rls/rule_policies.h"
#include "server/os/log.h"

namespace weir {
namespace {

absl::StatusOr<std::shared_ptr<const RlsRules::Set>> ReadRules(const Options& options) {
  const absl::StatusOr<RulePaths> paths = FindRuleFiles(options.rls_config);
  if (!paths.ok()) return paths.status();
  std::vector<RuleFile> files;
  for (const std::string& path : paths->files) {
    absl::StatusOr<RuleFile> file = ReadRuleFile(path);
    if (!file.ok()) return file.status();
    files.push_back(*std::move(file));
  }
  absl::StatusOr<RuleTree> tree = RuleTree::Create(std::move(files), options.rls_merge_domains);
  if (!tree.ok()) return tree.status();
  absl::StatusOr<RulePolicies> policies = PoliciesOf(*tree);
  if (!policies.ok()) return policies.status();
  std::vector<std::string> words;
  for (const std::string& name : policies->names) {
    words.push_back(name.empty() ? "" : absl::StrCat("@", name));
  }
  return std::make_shared<const RlsRules::Set>(
      RlsRules::Set{*std::move(tree), std::move(words), std::move(policies->policies)});
}

// True for the same limit, of any owner.
bool AreEqual(const PolicyLimit& a, const PolicyLimit& b) {
  return a.limit.shape() == b.limit.shape() && a.cost == b.cost && a.keep == b.keep &&
         a.label == b.label;
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
  RlsCounters& counters = services_.rls;
  loaded_ = LookAtFiles();
  seen_ = loaded_;
  const absl::StatusOr<std::shared_ptr<const Set>> read = ReadRules(services_.options);
  absl::Status used = read.ok() ? Use(*read) : read.status();
  counters.set_load_error(std::string(StdView(used.message())));
  (used.ok() ? counters.loads : counters.load_errors).fetch_add(1, std::memory_order_relaxed);
  return used;
}

// A call that still has the old rules finds their policies until the next look.
absl::Status RlsRules::Use(const std::shared_ptr<const Set>& set) {
  const std::shared_ptr<const Set> before = Get();
  if (services_.rls.in_force.load() && services_.is_primary()) {
    WEIR_RETURN_IF_ERROR(services_.ReplaceRulePolicies(Joined(before->policies, set->policies)));
    has_leftovers_ = true;
  }
  services_.rls.domains.store(set->tree.domains().size(), std::memory_order_relaxed);
  services_.rls.rules.store(set->tree.rules().size(), std::memory_order_relaxed);
  {
    MutexLock lock(mutex_);
    set_ = set;
  }
  return absl::OkStatus();
}

absl::Status RlsRules::MakePolicies() {
  WEIR_RETURN_IF_ERROR(services_.ReplaceRulePolicies(Get()->policies));
  has_leftovers_ = false;
  services_.rls.in_force.store(true);
  return absl::OkStatus();
}

bool RlsRules::HasPolicies() const {
  const std::shared_ptr<const Set> set = Get();
  return std::ranges::all_of(set->policies, [this](const auto& wanted) {
    const std::shared_ptr<const Policy> policy = services_.policies.Find(wanted.first);
    return policy && policy->from_file && !policy->retired &&
           std::ranges::equal(policy->limits, wanted.second, AreEqual);
  });
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
  if (!services_.is_primary()) {
    services_.rls.in_force.store(false);
  } else if (has_leftovers_ || !services_.rls.in_force.load() || !HasPolicies()) {
    const absl::Status made = MakePolicies();
    if (!made.ok()) spdlog::error("the rules are not in force: {}", StdView(made.message()));
  }
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
