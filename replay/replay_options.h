// The command line of weir-replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "protocol/client_address.h"
#include "replay/log_format.h"
#include "replay/log_reader.h"

namespace weir {

inline constexpr std::size_t kAsksMax = 2;

struct ReplayOptions {
  std::string log{};                  // a path, or "-" for the standard input
  std::optional<LogFormat> format{};  // nothing: the log's lines tell it
  std::vector<std::string> columns = {"time", "key", "cost"};
  bool cost_is_optional = true;  // false if the command line names the columns
  JsonFields json_fields{};
  std::string key{};                  // of all requests; empty: the log has it
  std::string policies{};             // a path, or empty
  std::vector<std::string> asks{};    // 1 to kAsksMax
  std::optional<std::int64_t> fit{};  // a share as in burst_fit.h
  std::string fit_percent{};          // the same as it was written
  std::optional<int> ipv6_bits{};     // of the addresses that are keys; nothing: kIpv6Bits
  Nanos slack = std::chrono::seconds{5};
  Nanos max_wait = std::chrono::seconds{60};  // 0 to kMaxWaitMax
  bool json = false;
};

struct ReplayCommandLine {
  ReplayOptions options;
  std::string print_and_exit;  // the help, if that was asked for
};

// The text of --help in its parts, for the manual page.
struct ReplayHelp {
  struct Option {
    std::string name;      // "--fit"; LOG is not among them
    std::string value;     // "PERCENT"; empty for a flag
    std::string fallback;  // empty if there is none
    std::string text;      // sentences, the last without a full stop
  };
  std::string description;  // paragraphs; one that begins with two blanks is an example
  std::string footer;
  std::vector<Option> options;
};
[[nodiscard]] ReplayHelp HelpOfReplay();

// Fails with kInvalidArgument if the command line has an option for logs of another format.
[[nodiscard]] absl::Status CheckFormat(const ReplayOptions& options, LogFormat format);

// Fails with kInvalidArgument and one line that names the argument and what would be right.
[[nodiscard]] absl::StatusOr<ReplayCommandLine> ParseReplayCommandLine(int argc,
                                                                       const char* const* argv);

}  // namespace weir
