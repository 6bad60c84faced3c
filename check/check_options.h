// The command line of weir-check.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "check/file_check.h"

namespace weir {

struct CheckCommandLine {
  const FileCheck* check = nullptr;  // a row of FileChecks()
  std::string path;
  bool has_flag = false;       // the flag of that row
  std::string print_and_exit;  // the text of --help or --version; empty: check
};

inline constexpr const char* kCheckDescription =
    "Checks a file as weir-server reads it, without a server, and changes nothing.";

// Fails with kInvalidArgument and one line.
[[nodiscard]] absl::StatusOr<CheckCommandLine> ParseCheckCommandLine(int argc,
                                                                     const char* const* argv);

}  // namespace weir
