#include "core/policies/overrides.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/table/key_hash.h"

namespace weir {

std::uint16_t PartitionOfOverride(std::string_view key) {
  static const KeyHasher kHasher{HashSecret{}};
  return kHasher(key).partition;
}

Overrides::Watcher::Watcher(Overrides& overrides) : overrides_(overrides) {
  MutexLock lock(overrides_.mutex_);
  overrides_.watchers_.push_back(this);
}

Overrides::Watcher::~Watcher() {
  MutexLock lock(overrides_.mutex_);
  std::erase(overrides_.watchers_, this);
}

std::vector<std::string> Overrides::Watcher::Take() {
  MutexLock lock(overrides_.mutex_);
  return std::exchange(keys_, {});
}

void Overrides::Tell(std::string_view key) {
  for (Watcher* const watcher : watchers_) watcher->keys_.emplace_back(key);
}

std::shared_ptr<const PolicyLimits> Overrides::Find(std::string_view key) const {
  MutexLock lock(mutex_);
  const auto found = limits_.find(key);
  return found == limits_.end() ? nullptr : found->second;
}

bool Overrides::Set(std::string_view key, std::shared_ptr<const PolicyLimits> limits) {
  MutexLock lock(mutex_);
  const auto [place, is_new] = limits_.insert_or_assign(std::string(key), std::move(limits));
  if (is_new) places_.emplace(PartitionOfOverride(key), place->first);
  Tell(key);
  size_.store(limits_.size(), std::memory_order_release);
  return is_new;
}

bool Overrides::Remove(std::string_view key) {
  MutexLock lock(mutex_);
  const auto found = limits_.find(key);
  if (found == limits_.end()) return false;
  Tell(key);
  places_.erase({PartitionOfOverride(key), found->first});
  limits_.erase(found);
  size_.store(limits_.size(), std::memory_order_release);
  return true;
}

std::vector<std::string> Overrides::Keys() const {
  std::vector<std::string> keys;
  ForEach([&keys](const std::string& key, const PolicyLimits&) {
    keys.push_back(key);
    return true;
  });
  return keys;
}

std::vector<std::string> Overrides::Clear() {
  decltype(limits_) gone;  // freed after the mutex is released, as the next
  decltype(places_) places;
  {
    MutexLock lock(mutex_);
    limits_.swap(gone);
    places_.swap(places);
    size_.store(0, std::memory_order_release);
  }
  std::vector<std::string> keys;
  keys.reserve(gone.size());
  for (const auto& [key, limits] : gone) keys.push_back(key);
  return keys;
}

std::vector<Overrides::Entry> Overrides::In(std::uint16_t partition) const {
  std::vector<Entry> entries;
  MutexLock lock(mutex_);
  for (auto place = places_.lower_bound({partition, ""});
       place != places_.end() && place->first == partition; ++place) {
    entries.emplace_back(*limits_.find(place->second));
  }
  return entries;
}

void Overrides::ForEach(
    const std::function<bool(const std::string&, const PolicyLimits&)>& visit) const {
  MutexLock lock(mutex_);
  for (const auto& [key, limits] : limits_) {
    if (!visit(key, *limits)) return;
  }
}

std::vector<Overrides::Entry> Overrides::Some(const std::optional<std::string>& after) const {
  std::vector<Entry> some;
  some.reserve(std::min(size(), kCopiedAtOnce));
  MutexLock lock(mutex_);
  auto next = after ? limits_.upper_bound(*after) : limits_.begin();
  for (; some.size() < kCopiedAtOnce && next != limits_.end(); ++next) some.emplace_back(*next);
  return some;
}

std::optional<Overrides::Entry> Overrides::Next(const std::optional<std::string>& after) const {
  MutexLock lock(mutex_);
  const auto next = after ? limits_.upper_bound(*after) : limits_.begin();
  return next == limits_.end() ? std::nullopt : std::optional<Entry>(*next);
}

std::vector<Overrides::Entry> Overrides::All() const {
  std::vector<Entry> all;
  all.reserve(size());
  std::optional<std::string> after;
  for (bool has_more = true; has_more;) {
    std::vector<Entry> some = Some(after);
    has_more = some.size() == kCopiedAtOnce;
    if (has_more) after = some.back().first;
    std::ranges::move(some, std::back_inserter(all));
  }
  return all;
}

}  // namespace weir
