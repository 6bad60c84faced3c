// LATENCY: what has held up those who wait for it, by kind of event, in bounded memory.
//
//     LatencyMonitor monitor(std::chrono::milliseconds{100});
//     if (monitor.IsSlow(elapsed)) monitor.Add(LatencyMonitor::Event::kCommand, now, elapsed);
//
// For each kind, the latest kSamplesMax seconds in which there was one are kept, with the longest
// of the second. Thread-safe. IsSlow costs one relaxed load.
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

  // A command, and one of those that are meant to be fast (the flag in COMMAND).
  enum class Event : std::uint8_t { kCommand, kFastCommand };
  static constexpr std::array<std::string_view, 2> kEventNames = {"command", "fast-command"};
  // Nothing: there is no such event.
  [[nodiscard]] static std::optional<Event> FindEvent(std::string_view name);

  struct Sample {
    std::int64_t second = 0;  // since the Unix epoch
    std::int64_t millis = 0;  // the longest of the second

    friend bool operator==(const Sample&, const Sample&) = default;
  };
  struct History {
    Event event;
    std::deque<Sample> samples;   // oldest first; not empty
    std::int64_t millis_max = 0;  // of all since the last reset
  };

  // `threshold`: what takes so long is noted; 0: nothing is.
  explicit LatencyMonitor(Nanos threshold);

  void set_threshold(Nanos threshold) noexcept;
  [[nodiscard]] bool is_on() const noexcept;
  [[nodiscard]] bool IsSlow(Nanos duration) const noexcept {
    return duration.count() >= threshold_ns_.load(std::memory_order_relaxed);
  }
  void Add(Event event, Instant now, Nanos duration);

  // The events that have occurred.
  [[nodiscard]] std::vector<History> All() const;
  [[nodiscard]] std::optional<History> Of(Event event) const;
  // Forgets the event. Returns whether there was something to forget.
  bool Reset(Event event);

 private:
  std::atomic<Nanos::rep> threshold_ns_;
  mutable Mutex mutex_;
  std::array<History, kEventNames.size()> histories_ ABSL_GUARDED_BY(mutex_);  // by event
};

}  // namespace weir
