#include "server/observe/slow_log.h"

#include <limits>
#include <utility>

#include "server/commands/redaction.h"

namespace weir {
namespace {

Nanos::rep ThresholdNanos(std::optional<Nanos> threshold) noexcept {
  return threshold ? threshold->count() : std::numeric_limits<Nanos::rep>::max();
}

std::size_t ReplyBytesOf(const SlowLog::Entry& entry) {
  constexpr std::size_t kOfNumbersAndHeaders = 128;
  std::size_t bytes = kOfNumbersAndHeaders + entry.address.size() + entry.client_name.size();
  for (const std::string& argument : entry.arguments) bytes += argument.size() + 8;
  return bytes;
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

std::vector<SlowLog::Entry> SlowLog::Latest(std::size_t count, std::size_t bytes_max) const {
  std::vector<Entry> latest;
  std::size_t bytes = 0;
  MutexLock lock(mutex_);
  for (std::size_t i = entries_.size(); i > 0; --i) {
    if (latest.size() >= count || bytes >= bytes_max) break;
    bytes += ReplyBytesOf(entries_[i - 1]);
    latest.push_back(entries_[i - 1]);
  }
  return latest;
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
  arguments.reserve(kept + 1);
  for (const std::string_view word : words.first(kept)) {
    arguments.push_back(Truncated(word, kArgumentBytesMax));
  }
  if (is_cut) arguments.push_back(OmittedWordsText(words.size() - kept));
  return arguments;
}

void SlowLog::DropOldest() {
  while (entries_.size() > length_max_) entries_.pop_front();
}

}  // namespace weir
