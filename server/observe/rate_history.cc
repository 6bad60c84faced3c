#include "server/observe/rate_history.h"

#include <algorithm>
#include <chrono>

#include "core/base/check.h"

namespace weir {
namespace {

// The time after which no step of any ring has a count any more.
constexpr std::int64_t kSpan = [] {
  std::int64_t span = 0;
  for (const HistoryRing& ring : kHistoryRings) {
    span = std::max(span, ring.width * static_cast<std::int64_t>(ring.steps));
  }
  return span;
}();

// The place of a step among those of all rings.
std::size_t PlaceOf(const HistoryRing& ring, std::int64_t step) {
  return ring.begin + static_cast<std::size_t>(step) % ring.steps;
}

// The last step that is no longer kept when the ring has come to `newest`; before 1970, none.
std::int64_t LastBefore(const HistoryRing& ring, std::int64_t newest) {
  return std::max<std::int64_t>(newest - static_cast<std::int64_t>(ring.steps), -1);
}

}  // namespace

void RateHistory::Update(Instant now, const std::function<LimitTotals::Reading()>& read) {
  const auto time = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  const std::int64_t second = std::max<std::int64_t>(time.count(), 1);  // Step 0 is over.
  if (!IsDue(second)) return;
  MutexLock lock(mutex_);
  if (!IsDue(second)) return;
  second_.store(second, std::memory_order_relaxed);
  Add(second, read());  // under the lock, so that no later reading is added before
}

bool RateHistory::IsDue(std::int64_t second) const noexcept {
  const std::int64_t last = second_.load(std::memory_order_relaxed);
  return second > last || second < last - kLateSeconds;
}

void RateHistory::Add(std::int64_t second, const LimitTotals::Reading& reading) {
  if (second <= newest_) {
    series_.clear();
    places_.clear();
  }
  const bool begins = series_.empty();
  if (begins) {
    began_ = second;
    newest_ = second - 1;
    series_.reserve(1 + kHistoryLimitsMax);  // Growth would take twice the memory.
    series_.emplace_back().before = reading.total;
  } else if (reading.resets != resets_) {
    for (Rings& rings : series_) rings.before = {};
  }
  resets_ = reading.resets;
  ClearUpTo(second - 1);
  CountInNewest(series_.front(), reading.total);
  for (const auto& [limit, numbers] : reading.rows) {
    if (!HasPlace(limit, numbers)) continue;
    Rings& rings = series_[places_.at(limit)];
    if (begins) rings.before = numbers;
    CountInNewest(rings, numbers);
  }
}

// Makes room for the steps up to that of the second `newest`.
void RateHistory::ClearUpTo(std::int64_t newest) {
  for (const HistoryRing& ring : kHistoryRings) {
    const std::int64_t last = newest / ring.width;
    const std::int64_t first = std::max(newest_ / ring.width, LastBefore(ring, last)) + 1;
    for (std::int64_t step = first; step <= last; ++step) {
      for (Rings& rings : series_) rings.steps[PlaceOf(ring, step)] = {};
    }
  }
  newest_ = newest;
}

void RateHistory::CountInNewest(Rings& rings, const LimitTotals::Numbers& numbers) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t i = 0; i < kNumbers; ++i) {
    if (numbers[i] <= rings.before[i]) continue;
    const std::uint64_t more = std::min(numbers[i] - rings.before[i], kMax);
    rings.before[i] = numbers[i];
    rings.last_counted = newest_;
    for (const HistoryRing& ring : kHistoryRings) {
      std::uint32_t& count = rings.steps[PlaceOf(ring, newest_ / ring.width)][i];
      count = static_cast<std::uint32_t>(std::min(count + more, kMax));
    }
  }
}

// Returns whether the limit has a series, after giving it a free place or that of a limit whose
// steps are all 0.
bool RateHistory::HasPlace(const std::string& limit, const LimitTotals::Numbers& numbers) {
  if (places_.contains(limit)) return true;
  if (series_.size() <= kHistoryLimitsMax) {
    places_.emplace(limit, series_.size());
    series_.emplace_back().limit = limit;
    series_.back().last_counted = newest_;
    return true;
  }
  const std::int64_t counted_min = newest_ - kSpan;
  const auto idle = std::find_if(series_.begin() + 1, series_.end(), [&](const Rings& rings) {
    return rings.last_counted < counted_min;
  });
  if (idle == series_.end()) return false;
  places_.erase(idle->limit);
  places_.emplace(limit, static_cast<std::size_t>(idle - series_.begin()));
  idle->limit = limit;
  idle->before = numbers;  // The limit may have counted all of it long ago.
  idle->last_counted = newest_;
  return true;
}

RateHistory::Steps RateHistory::Read(const HistoryRing& ring, std::int64_t from) const {
  Steps read;
  MutexLock lock(mutex_);
  if (series_.empty()) return read;
  const std::int64_t end = (newest_ + 1) / ring.width;  // the first step that is not over
  const std::int64_t kept = LastBefore(ring, newest_ / ring.width) + 1;
  const std::int64_t first = std::clamp(from / ring.width, kept, end);
  const std::int64_t existing = std::clamp(began_ / ring.width, first, end);
  read.from = first * ring.width;
  read.missing = static_cast<std::size_t>(existing - first);
  for (const Rings& rings : series_) {
    Series& series = read.series.emplace_back();
    series.limit = rings.limit;
    for (std::int64_t step = existing; step < end; ++step) {
      series.steps.push_back(rings.steps[PlaceOf(ring, step)]);
    }
  }
  return read;
}

}  // namespace weir
