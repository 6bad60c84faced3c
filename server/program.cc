#include "server/program.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "server/config/option_effects.h"
#include "server/config/options.h"
#include "server/config/passwords.h"
#include "server/config/version.h"
#include "server/net/ping.h"
#include "server/os/crash_report.h"
#include "server/os/log.h"
#include "server/os/memory.h"
#include "server/os/signals.h"
#include "server/server.h"

namespace weir {
namespace {

enum ExitCode { kDone = 0, kFailed = 1, kWrongCommandLine = 2 };

// Longer than any reason, which quotes words and names files.
constexpr std::size_t kReasonBytesMax = 16 * 1024;

// Reports the reason in one line, whatever words of a file or an argument it quotes.
int Fail(ExitCode code, std::string_view reason) {
  std::fprintf(stderr, "weir-server: %s\n", EscapedForLog(reason, kReasonBytesMax).c_str());
  return code;
}

// Reports why the server ends: as a line of the log, if a program reads that.
int End(const Options& options, const absl::Status& failure) {
  const std::string_view reason = StdView(failure.message());
  if (options.log_format == LogLineFormat::kText) return Fail(kFailed, reason);
  spdlog::error("{}", EscapedForLog(reason, kReasonBytesMax));
  return kFailed;
}

int Serve(Options& options) {
  ConfigureLog(options.log_level, options.log_format);
  spdlog::info("weir {}", kVersion);
  const absl::Status read = ReadPasswords(TakePasswordVariables(), options);
  if (!read.ok()) return End(options, read);
  for (const std::string& sentence : OptionsWithoutEffect(options)) {
    spdlog::warn("{}", EscapedForLog(sentence));
  }
  ReportCrashes(kVersion);
  BlockSignals();
  Server server(options);
  absl::Status started = server.HandleSignals();
  if (started.ok()) started = server.Start();
  // The server has what it needs of them.
  for (const PasswordPlaces& places : kPasswords) options.*places.word = {};
  if (!started.ok()) return End(options, started);
  if (const absl::Status ran = server.Run(); !ran.ok()) return End(options, ran);
  spdlog::info("stopped");
  return kDone;
}

int AskOther(const CommandLine& line) {
  const absl::Status answered = Ping(line.options, *line.ping);
  if (answered.ok()) return kDone;
  return Fail(absl::IsInvalidArgument(answered) ? kWrongCommandLine : kFailed,
              StdView(answered.message()));
}

}  // namespace

int RunProgram(int argc, const char* const* argv) {
  ConfigureHeap();
  // Writing to a client or a log reader that has gone, or to a file that may not grow, must return
  // an error instead of raising a signal.
  for (const int error : {SIGPIPE, SIGXFSZ}) signal(error, SIG_IGN);
  absl::StatusOr<CommandLine> line = ParseCommandLine(argc, argv);
  if (!line.ok()) return Fail(kWrongCommandLine, StdView(line.status().message()));
  if (!line->print_and_exit.empty()) {
    std::fputs(line->print_and_exit.c_str(), stdout);
    return kDone;
  }
  // Only the libraries throw: when the system has no descriptor or thread left for an event loop.
  try {
    return line->ping ? AskOther(*line) : Serve(line->options);
  } catch (const std::exception& error) {
    return Fail(kFailed, error.what());
  }
}

}  // namespace weir
