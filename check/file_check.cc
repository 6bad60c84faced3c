#include "check/file_check.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

constexpr std::array<FileCheck, 6> kFileChecks = {{
    {.kind = "checks",
     .argument = "FILE",
     .summary =
         "The file of the option `checks`. Names of users are not looked up; `config` does that.",
     .check = CheckChecksFile},
    {.kind = "config",
     .argument = "FILE",
     .summary =
         "The options of a file for --config, and the files that they name: checks, policies, "
         "users and those of TLS. Relative paths begin at the current directory.",
     .check = CheckConfigFile},
    {.kind = "data",
     .argument = "DIR",
     .summary =
         "The data directory of a stopped server, or a copy of one: its format, every record, "
         "and what a start would drop. Nothing is written into it. It takes the time and the "
         "memory of a start.",
     .check = CheckDataDirectory},
    {.kind = "policies",
     .argument = "FILE",
     .summary = "The file of the option `policies`.",
     .check = CheckPolicyFile},
    {.kind = "rls",
     .argument = "FILE|DIR",
     .summary =
         "The rules of Envoy's rate limit service: the files *.yaml and *.yml of a folder, or one "
         "file. Remarks on what may be a mistake follow.",
     .check = CheckRuleFiles,
     .flag = "--merge-domains",
     .flag_summary = "Several files may have one domain.",
     .check_with_flag = CheckMergedRuleFiles},
    {.kind = "users",
     .argument = "FILE",
     .summary = "The file of the option `users-file`. No password is shown.",
     .check = CheckUsersFile},
}};
static_assert(std::ranges::is_sorted(kFileChecks, {}, &FileCheck::kind));

}  // namespace

std::span<const FileCheck> FileChecks() noexcept { return kFileChecks; }

void Find(FileReport& report, const std::string& path, const absl::Status& error) {
  const bool has_place = absl::StartsWith(error.message(), absl::StrCat(path, ":"));
  report.findings.push_back(has_place ? std::string(error.message())
                                      : absl::StrCat(path, ": ", error.message()));
}

}  // namespace weir
