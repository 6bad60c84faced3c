// The log: lines on standard error, each with its UTC time and level. Written with spdlog:
//
//     spdlog::info("listening on {}:{}", address, port);
//     2026-01-01T12:00:00.000Z info listening on 127.0.0.1:7379
//
// Nothing of the client's reaches it but through EscapedForLog, and no line that a client can
// provoke but through a LogThrottle; an operator's changes are all there.
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

// From now on lines of `level` and above are written.
void ConfigureLog(LogLevel level);
// The same, while other threads write lines. Requires: ConfigureLog was called.
void SetLogLevel(LogLevel level);

inline constexpr std::size_t kLogBytesMax = 256;

// Bytes from outside as printable ASCII: \n, \r, \t, \\ and \x7f. What is longer than kLogBytesMax
// is cut there, and ends in "...".
[[nodiscard]] std::string EscapedForLog(std::string_view bytes);

// Lets one line an interval through, a second if nothing is said. One object for each place that
// logs; thread-safe.
//
//     if (const auto held_back = throttle_.Admit()) {
//       spdlog::warn("cannot accept: {} ({} more such lines held back)", error, *held_back);
//     }
class LogThrottle {
 public:
  static constexpr Nanos kInterval = std::chrono::seconds{1};

  explicit LogThrottle(const Clock& clock, Nanos interval = kInterval)
      : clock_(clock), interval_(interval) {}

  // The number of lines held back since the last one that was let through; nothing: hold this one
  // back, too.
  [[nodiscard]] std::optional<std::uint64_t> Admit();

 private:
  const Clock& clock_;
  const Nanos interval_;
  Mutex mutex_;
  std::optional<Instant> last_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t held_back_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
