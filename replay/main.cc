// The program weir-replay. It exits with 0 after a report, with 1 if a file cannot be read, the
// output cannot be written or the log has no report, and with 2 if the command line, a request of
// it or the policy file is wrong, or the columns are not those of the log.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "replay/replay.h"

namespace weir {
namespace {

enum ExitCode { kDone = 0, kFailed = 1, kWrongCommandLine = 2 };

int Fail(ExitCode code, absl::string_view reason) {
  std::fprintf(stderr, "weir-replay: %s\n", Printable(StdView(reason)).c_str());
  return code;
}

// Prints the text on the standard output, all of it or the reason why not.
int Print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return kDone;
  return Fail(kFailed, absl::StrCat("cannot write to the standard output: ",
                                    std::generic_category().message(errno)));
}

// A line on the terminal that is written over again and again, for logs that take a while.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (shown_) std::fputs("\r\033[K", stderr);
  }

  void Show(const ReplayProgress& progress) {
    constexpr std::uint64_t kLongLogLines = 1'000'000;
    if (!is_terminal_ || progress.lines < kLongLogLines) return;
    shown_ = true;
    std::fprintf(stderr, "\r%llu lines", static_cast<unsigned long long>(progress.lines));
    if (progress.file_bytes > 0) {
      std::fprintf(stderr, ", %d %%",
                   static_cast<int>(100.0 * static_cast<double>(progress.bytes) /
                                    static_cast<double>(progress.file_bytes)));
    }
  }

 private:
  const bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
};

int Main(int argc, const char* const* argv) {
  const absl::StatusOr<ReplayCommandLine> line = ParseReplayCommandLine(argc, argv);
  if (!line.ok()) return Fail(kWrongCommandLine, line.status().message());
  if (!line->print_and_exit.empty()) return Print(line->print_and_exit);
  absl::StatusOr<Report> report = absl::InternalError("");
  {
    ProgressLine progress_line;
    report = RunReplay(line->options, [&](const ReplayProgress& p) { progress_line.Show(p); });
  }
  if (!report.ok()) {
    const bool is_wrong =
        absl::IsInvalidArgument(report.status()) || absl::IsNotFound(report.status());
    return Fail(is_wrong ? kWrongCommandLine : kFailed, report.status().message());
  }
  return Print(line->options.json ? JsonOf(*report) : TableOf(*report));
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) { return weir::Main(argc, argv); }
