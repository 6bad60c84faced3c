// The check of the rules of Envoy's rate limit service.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include "check/counted.h"
#include "check/file_check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "rls/rule_file.h"
#include "rls/rule_folder.h"
#include "rls/rule_remarks.h"
#include "rls/rule_tree.h"

namespace weir {
namespace {

// Each file is read up to its first mistake. What only all files show is looked for if none has
// one.
FileReport CheckRules(const std::string& path, bool merge_domains) {
  FileReport report;
  const absl::StatusOr<RulePaths> paths = FindRuleFiles(path);
  if (!paths.ok()) {
    Find(report, path, paths.status());
    return report;
  }
  std::vector<RuleFile> files;
  for (const std::string& name : paths->files) {
    absl::StatusOr<RuleFile> file = ReadRuleFile(name);
    if (!file.ok()) {
      Find(report, name, file.status());
      continue;
    }
    report.facts.push_back(absl::StrCat(name, ": domain ", Quote(file->domain), ", ",
                                        Counted(file->rules.size(), "rule", "rules")));
    files.push_back(*std::move(file));
  }
  for (const std::string& name : paths->passed_over) {
    report.facts.push_back(absl::StrCat(
        name, ": passed over, as it is no file *.yaml or *.yml; envoyproxy/ratelimit reads it"));
  }
  if (!report.findings.empty()) return report;
  // Before the remarks, which compare all patterns of a level: it bounds the rules of all files.
  const absl::StatusOr<RuleTree> tree = RuleTree::Create(files, merge_domains);
  if (!tree.ok()) {
    report.findings.emplace_back(StdView(tree.status().message()));
    return report;
  }
  for (std::string& remark : RemarksOn(files)) report.facts.push_back(std::move(remark));
  return report;
}

}  // namespace

FileReport CheckRuleFiles(const std::string& path) { return CheckRules(path, false); }

FileReport CheckMergedRuleFiles(const std::string& path) { return CheckRules(path, true); }

}  // namespace weir
