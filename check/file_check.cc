#include "check/file_check.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

constexpr std::array<FileCheck, 5> kFileChecks = {{
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
    {.kind = "users",
     .argument = "FILE",
     .summary = "The file of the option `users-file`. No password is shown.",
     .check = CheckUsersFile},
}};
static_assert(std::ranges::is_sorted(kFileChecks, {}, &FileCheck::kind));

}  // namespace

std::span<const FileCheck> FileChecks() noexcept { return kFileChecks; }

}  // namespace weir
