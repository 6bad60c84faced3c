#include "server/access/access_log.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

std::ptrdiff_t CountOf(std::size_t entries) { return static_cast<std::ptrdiff_t>(entries); }

}  // namespace

bool AccessLog::Entry::IsLike(const Entry& other) const {
  return reason == other.reason && in_transaction == other.in_transaction &&
         object == other.object && user == other.user;
}

void AccessLog::Add(Entry entry) {
  if (entry.object.size() > kObjectBytesMax) {
    entry.object.resize(kObjectBytesMax);
    entry.object += "...";
  }
  MutexLock lock(mutex_);
  ++counts_[static_cast<std::size_t>(entry.reason)];
  const auto end = entries_.begin() + CountOf(std::min(entries_.size(), kLookedAtMax));
  const auto same = std::find_if(entries_.begin(), end, [&](const Entry& one) {
    return one.IsLike(entry) && entry.last - one.last <= kSameTime;
  });
  if (same != end) {
    entry.count += same->count;
    entries_.erase(same);
  }
  entries_.push_front(std::move(entry));
  if (entries_.size() > kEntriesMax) entries_.pop_back();
}

std::vector<AccessLog::Entry> AccessLog::Latest(std::size_t max) const {
  MutexLock lock(mutex_);
  return {entries_.begin(), entries_.begin() + CountOf(std::min(entries_.size(), max))};
}

AccessLog::Counts AccessLog::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

void AccessLog::Clear() {
  MutexLock lock(mutex_);
  entries_.clear();
}

}  // namespace weir
