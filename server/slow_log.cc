#include "server/slow_log.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

Nanos::rep ThresholdNanos(std::optional<Nanos> threshold) noexcept {
  return threshold ? threshold->count() : std::numeric_limits<Nanos::rep>::max();
}

std::string CutWord(std::string_view word) {
  std::string cut(word.substr(0, SlowLog::kArgumentBytesMax));
  if (cut.size() < word.size()) {
    absl::StrAppend(&cut, "... (", word.size() - cut.size(), " more bytes)");
  }
  return cut;
}

}  // namespace

SlowLog::SlowLog(std::optional<Nanos> threshold, std::size_t length_max)
    : threshold_ns_(ThresholdNanos(threshold)), length_max_(length_max) {}

void SlowLog::set_threshold(std::optional<Nanos> threshold) noexcept {
  threshold_ns_.store(ThresholdNanos(threshold), std::memory_order_relaxed);
}

void SlowLog::set_length_max(std::size_t length_max) {
  MutexLock lock(mutex_);
  length_max_ = length_max;
  DropOldest();
}

void SlowLog::Add(Entry entry) {
  MutexLock lock(mutex_);
  entry.id = next_id_++;
  entries_.push_back(std::move(entry));
  DropOldest();
}

std::vector<SlowLog::Entry> SlowLog::Latest(std::size_t count) const {
  MutexLock lock(mutex_);
  const auto length = static_cast<std::ptrdiff_t>(std::min(count, entries_.size()));
  return {entries_.rbegin(), entries_.rbegin() + length};
}

std::size_t SlowLog::size() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

void SlowLog::Reset() {
  MutexLock lock(mutex_);
  entries_.clear();
}

std::vector<std::string> SlowLog::Cut(std::span<const std::string_view> words) {
  const bool is_cut = words.size() > kArgumentsMax;
  const std::size_t kept = is_cut ? kArgumentsMax - 1 : words.size();
  std::vector<std::string> arguments;
  arguments.reserve(kArgumentsMax);
  for (const std::string_view word : words.first(kept)) arguments.push_back(CutWord(word));
  if (is_cut) arguments.push_back(absl::StrCat("... (", words.size() - kept, " more arguments)"));
  return arguments;
}

void SlowLog::DropOldest() {
  while (entries_.size() > length_max_) entries_.pop_front();
}

}  // namespace weir
