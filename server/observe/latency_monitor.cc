#include "server/observe/latency_monitor.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace weir {
namespace {

constexpr Nanos::rep kThresholdOff = std::numeric_limits<Nanos::rep>::max();

Nanos::rep ThresholdNanos(Nanos threshold) noexcept {
  return threshold == Nanos{0} ? kThresholdOff : threshold.count();
}

constexpr std::array kEvents = {LatencyMonitor::Event::kCommand,
                                LatencyMonitor::Event::kFastCommand};

}  // namespace

std::optional<LatencyMonitor::Event> LatencyMonitor::FindEvent(std::string_view name) {
  const auto found = std::ranges::find(kEventNames, name);
  if (found == kEventNames.end()) return std::nullopt;
  return kEvents[static_cast<std::size_t>(found - kEventNames.begin())];
}

LatencyMonitor::LatencyMonitor(Nanos threshold) : threshold_ns_(ThresholdNanos(threshold)) {
  for (const Event event : kEvents) histories_[static_cast<std::size_t>(event)].event = event;
}

void LatencyMonitor::set_threshold(Nanos threshold) noexcept {
  threshold_ns_.store(ThresholdNanos(threshold), std::memory_order_relaxed);
}

bool LatencyMonitor::is_on() const noexcept {
  return threshold_ns_.load(std::memory_order_relaxed) != kThresholdOff;
}

void LatencyMonitor::Add(Event event, HostInstant now, Nanos duration) {
  const auto second = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(duration).count();
  MutexLock lock(mutex_);
  History& history = histories_[static_cast<std::size_t>(event)];
  history.millis_max = std::max(history.millis_max, millis);
  // A thread whose event ended in one second may get here in the next, after events of that second.
  if (!history.samples.empty() && history.samples.back().second >= second) {
    std::int64_t& longest = history.samples.back().millis;
    longest = std::max(longest, millis);
    return;
  }
  history.samples.push_back({second, millis});
  if (history.samples.size() > kSamplesMax) history.samples.pop_front();
}

std::vector<LatencyMonitor::History> LatencyMonitor::All() const {
  std::vector<History> all;
  for (const Event event : kEvents) {
    if (auto history = Of(event)) all.push_back(*std::move(history));
  }
  return all;
}

std::optional<LatencyMonitor::History> LatencyMonitor::Of(Event event) const {
  MutexLock lock(mutex_);
  const History& history = histories_[static_cast<std::size_t>(event)];
  if (history.samples.empty()) return std::nullopt;
  return history;
}

bool LatencyMonitor::Reset(Event event) {
  MutexLock lock(mutex_);
  History& history = histories_[static_cast<std::size_t>(event)];
  const bool had_samples = !history.samples.empty();
  history = {.event = event, .samples = {}, .millis_max = 0};
  return had_samples;
}

}  // namespace weir
