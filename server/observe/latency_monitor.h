// LATENCY: events that took long, by kind, in bounded memory.
//
//     LatencyMonitor monitor(std::chrono::milliseconds{100});
//     if (monitor.IsSlow(elapsed)) monitor.Add(LatencyMonitor::Event::kCommand, now, elapsed);
//
// For each kind, it keeps the latest kSamplesMax seconds that had such an event, with the longest
// event of the second. Thread-safe. IsSlow costs one relaxed load.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "core/base/instant.h"
#include "core/base/mutex.h"

namespace weir {

class LatencyMonitor {
 public:
  static constexpr std::size_t kSamplesMax = 160;

  // The execution of a command, and of a command that should be fast (the flag `fast` in COMMAND).
  enum class Event : std::uint8_t { kCommand, kFastCommand };
  static constexpr std::array<std::string_view, 2> kEventNames = {"command", "fast-command"};
  // Returns nothing if there is no such event.
  [[nodiscard]] static std::optional<Event> FindEvent(std::string_view name);

  struct Sample {
    std::int64_t second = 0;  // since the Unix epoch, by the host's clock
    std::int64_t millis = 0;  // of the longest event in the second

    friend bool operator==(const Sample&, const Sample&) = default;
  };
  struct History {
    Event event;
    std::deque<Sample> samples;   // oldest first; not empty
    std::int64_t millis_max = 0;  // of the longest event since the last reset
  };

  // Records events that take `threshold` or longer; with 0, none.
  explicit LatencyMonitor(Nanos threshold);

  void set_threshold(Nanos threshold) noexcept;
  [[nodiscard]] bool is_on() const noexcept;
  [[nodiscard]] bool IsSlow(Nanos duration) const noexcept {
    return duration.count() >= threshold_ns_.load(std::memory_order_relaxed);
  }
  void Add(Event event, HostInstant now, Nanos duration);

  // The histories of the events that have occurred.
  [[nodiscard]] std::vector<History> All() const;
  [[nodiscard]] std::optional<History> Of(Event event) const;
  // Clears the event's history. Returns false if it was empty.
  bool Reset(Event event);

 private:
  std::atomic<Nanos::rep> threshold_ns_;
  mutable Mutex mutex_;
  std::array<History, kEventNames.size()> histories_ ABSL_GUARDED_BY(mutex_);  // by event
};

}  // namespace weir
