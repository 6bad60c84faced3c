#include "rls/rule_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weir {

absl::StatusOr<RulePaths> FindRuleFiles(const std::string& path) {
  namespace fs = std::filesystem;
  RulePaths paths;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    paths.files.push_back(path);  // whose reader says what is wrong with it
    return paths;
  }
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("..")) continue;
    const bool is_named = (name.ends_with(".yaml") || name.ends_with(".yml")) && name[0] != '.';
    std::error_code type_error;  // of a link to nothing, whose reader fails
    const bool is_folder = fs::is_directory(entry->path(), type_error);
    (is_named && !is_folder ? paths.files : paths.passed_over).push_back(entry->path().string());
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot read the folder ", path, ": ", error.message()));
  }
  if (paths.files.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no file *.yaml or *.yml"));
  }
  std::ranges::sort(paths.files);
  std::ranges::sort(paths.passed_over);
  return paths;
}

}  // namespace weir
