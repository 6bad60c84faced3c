// Counters: what a Limiter counts, and how it tells its service that weir is unavailable.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "weir/core/settings.h"
#include "weir/counts.h"
#include "weir/decision.h"

namespace weir::client {

// Thread-safe.
class Counters {
 public:
  explicit Counters(const Settings& settings);

  void AddDecision(const Decision& decision);
  void AddKept();

  // A mistake; `is_asked`: of words that were sent for a Decision.
  void AddMistake(bool is_asked = false);

  // Counts an outage and tells it. What the callback throws is counted as a mistake. `now` is the
  // time of the Limiter's clock.
  void AddUnavailable(std::string_view cause, Clock::time_point now);

  [[nodiscard]] Counts counts() const;

 private:
  void WriteLog(std::string_view cause, Clock::time_point now);

  const std::function<void(std::string_view)> on_unavailable_;
  const bool fails_open_;
  mutable std::mutex mutex_;
  Counts counts_;                               // guarded by mutex_
  std::optional<Clock::time_point> next_line_;  // guarded by mutex_: no line before that
  std::int64_t since_line_ = 0;                 // guarded by mutex_: outages since the last line
};

}  // namespace weir::client
