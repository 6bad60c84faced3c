// The log: lines on standard error, each with its UTC time and level. spdlog writes them, as text
// or as one JSON object a line:
//
//     spdlog::info("listening on {}:{}", address, port);
//     2026-01-01T12:00:00.000Z info listening on 127.0.0.1:7379
//     {"time":"2026-01-01T12:00:00.000Z","level":"info","message":"listening on 127.0.0.1:7379"}
//
// Bytes that a client sent pass through EscapedForLog, and lines that a client can cause pass
// through a LogThrottle. Every change that an operator makes is logged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "core/base/mutex.h"

namespace weir {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogLineFormat { kText, kJson };

// Starts the log: lines of `level` and above are written. In JSON the message is that of the text,
// with U+FFFD in the place of bytes that are not UTF-8.
void ConfigureLog(LogLevel level, LogLineFormat format = LogLineFormat::kText);
// Changes the level, also while other threads write lines. Requires: ConfigureLog was called.
void SetLogLevel(LogLevel level);

inline constexpr std::size_t kLogBytesMax = 256;

// Returns bytes from outside as printable ASCII, with the escapes \n, \r, \t, \\ and \x7f. A result
// longer than `bytes_max` is cut there and ends in "...".
[[nodiscard]] std::string EscapedForLog(std::string_view bytes,
                                        std::size_t bytes_max = kLogBytesMax);

// Lets one line an interval through, by default one a second. Each place that logs has its own
// throttle. Thread-safe.
//
//     if (const auto suppressed = throttle_.Admit()) {
//       spdlog::warn("cannot accept: {} ({} similar lines suppressed)", error, *suppressed);
//     }
class LogThrottle {
 public:
  static constexpr Nanos kInterval = std::chrono::seconds{1};

  explicit LogThrottle(const Clock& clock, Nanos interval = kInterval)
      : clock_(clock), interval_(interval) {}

  // Returns the number of lines suppressed since the last one that passed, or nothing if this line
  // must be suppressed, too.
  [[nodiscard]] std::optional<std::uint64_t> Admit();

 private:
  const Clock& clock_;
  const Nanos interval_;
  Mutex mutex_;
  std::optional<HostInstant> last_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t suppressed_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
