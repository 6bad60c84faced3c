// The answers of a replay, and their two forms: a table for people, and JSON for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "replay/denied_keys.h"
#include "replay/log_format.h"

namespace weir {

inline constexpr std::size_t kBadLinesShown = 10;
inline constexpr std::size_t kWorstKeysShown = 10;

struct BadLine {
  std::uint64_t number = 0;  // from 1
  std::string error{};
};

struct LogReport {
  std::string name{};
  LogFormat format = LogFormat::kAccess;
  std::uint64_t lines = 0;
  std::uint64_t requests = 0;     // that asked for tokens
  std::uint64_t refunds = 0;      // refunds and resets, DEL and FLUSHALL among them
  std::uint64_t passed_over = 0;  // lines that the format has beside requests
  std::uint64_t bad_lines = 0;
  std::uint64_t late_lines = 0;            // the bad lines whose time was too far back
  std::vector<BadLine> first_bad_lines{};  // kBadLinesShown at most
  Instant begin{};                         // of the first request; equal to `end` if there is none
  Instant end{};
  std::uint64_t end_line = 0;  // the line with the time `end`
};

struct LimitReport {
  std::string name{};
  std::uint64_t denials = 0;  // its own, also as a shadow and beside the denial of another limit
  std::uint64_t decided = 0;  // denied requests that had to wait for this limit the longest
};

struct FitReport {
  std::string limit{};
  std::optional<std::int64_t> burst{};  // nothing: no burst is enough
};

struct AskReport {
  std::string ask{};
  std::uint64_t requests = 0;
  std::uint64_t admitted = 0;
  std::vector<std::uint64_t> by_alternative{};  // of these; empty if the ask has only one
  std::uint64_t keys_denied = 0;
  std::vector<LimitReport> limits{};
  std::vector<DeniedKey> worst_keys{};  // kWorstKeysShown at most
  std::vector<FitReport> fits{};        // of its token buckets, where a fit was asked for
};

// How many requests two asks admitted.
struct Comparison {
  std::uint64_t both = 0;
  std::uint64_t only_first = 0;
  std::uint64_t only_second = 0;
  std::uint64_t neither = 0;
};

struct Report {
  LogReport log;
  std::vector<AskReport> asks{};
  std::optional<Comparison> comparison{};
  std::string fit_percent{};  // as it was asked for; empty if it was not
};

// What a replay cannot know about this log.
[[nodiscard]] std::vector<std::string> Caveats(const LogReport& log);

// The text with bytes that are not printable ASCII escaped, as MONITOR shows them.
[[nodiscard]] std::string Printable(std::string_view text);

// Lines that end with a newline; keys and errors are Printable.
[[nodiscard]] std::string TableOf(const Report& report);

// One JSON object and a newline. Times are Unix nanoseconds, shares are counts. Bytes that are no
// UTF-8 are replaced by U+FFFD.
[[nodiscard]] std::string JsonOf(const Report& report);

}  // namespace weir
