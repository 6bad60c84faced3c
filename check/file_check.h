// The checks of weir-check: one for each kind of file that an operator writes or keeps.
//
//     const FileReport report = CheckPolicyFile("policies.toml");
//
// Each reads a file with the code by which the server reads it, changes nothing, and finds what
// would keep a server from starting or what a start would leave out. A file of text is read up to
// its first mistake.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace weir {

struct FileReport {
  // A line for each mistake, which begins with the place: "weir.toml:3: option 'port': ...".
  std::vector<std::string> findings;
  // Lines about what was read: "policies.toml: 3 policies".
  std::vector<std::string> facts;
};

// A row of the table of checks.
struct FileCheck {
  std::string_view kind;      // the word of the command line
  std::string_view argument;  // what follows it: "FILE", "DIR" or "FILE|DIR"
  const char* summary;        // sentences
  FileReport (*check)(const std::string& path);
  // A flag of this kind alone, its summary, and the check that it asks for; empty: there is none.
  std::string_view flag = "";
  const char* flag_summary = "";
  FileReport (*check_with_flag)(const std::string& path) = nullptr;
};

// Sorted by kind.
[[nodiscard]] std::span<const FileCheck> FileChecks() noexcept;

// Adds the error of a file, with its path before it unless it begins with its place.
void Find(FileReport& report, const std::string& path, const absl::Status& error);

// --- The checks ---

// The options of a file for --config, and the files that they name. Relative paths begin at the
// current directory, as the server's do.
[[nodiscard]] FileReport CheckConfigFile(const std::string& path);
[[nodiscard]] FileReport CheckPolicyFile(const std::string& path);
// Routes of checks. Every name of a user passes: the users are in another file.
[[nodiscard]] FileReport CheckChecksFile(const std::string& path);
[[nodiscard]] FileReport CheckUsersFile(const std::string& path);
// The rules of Envoy's rate limit service: a folder or a file. A domain in two files is a mistake,
// unless they are merged. Remarks on what may be one are facts.
[[nodiscard]] FileReport CheckRuleFiles(const std::string& path);
[[nodiscard]] FileReport CheckMergedRuleFiles(const std::string& path);
// A data directory that no server uses: every record, as a start at this moment would load it.
// Cost: the time and the memory of such a start.
[[nodiscard]] FileReport CheckDataDirectory(const std::string& path);

}  // namespace weir
