// The program weir-check. It exits with 0 if it finds no mistake, with 1 if it does or cannot write
// its output, and with 2 if the command line is wrong.
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "check/check_options.h"
#include "core/base/status.h"
#include "server/os/log.h"

namespace weir {
namespace {

enum ExitCode { kDone = 0, kFailed = 1, kWrongCommandLine = 2 };

// Longer than any line, which quotes words and names files.
constexpr std::size_t kLineBytesMax = 16 * 1024;

int Fail(ExitCode code, absl::string_view reason) {
  std::fprintf(stderr, "weir-check: %s\n", EscapedForLog(StdView(reason), kLineBytesMax).c_str());
  return code;
}

int Main(int argc, const char* const* argv) {
  const absl::StatusOr<CheckCommandLine> line = ParseCheckCommandLine(argc, argv);
  if (!line.ok()) return Fail(kWrongCommandLine, line.status().message());
  std::string text = line->print_and_exit;
  ExitCode code = kDone;
  if (line->check != nullptr) {
    const auto check = line->has_flag ? line->check->check_with_flag : line->check->check;
    const FileReport report = check(line->path);
    for (const std::string& finding : report.findings) {
      absl::StrAppend(&text, EscapedForLog(finding, kLineBytesMax), "\n");
      code = kFailed;
    }
    for (const std::string& fact : report.facts) {
      absl::StrAppend(&text, EscapedForLog(fact, kLineBytesMax), "\n");
    }
  }
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return code;
  return Fail(kFailed, absl::StrCat("cannot write to the standard output: ",
                                    std::generic_category().message(errno)));
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
