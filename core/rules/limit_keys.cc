#include "core/rules/limit_keys.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/rules/limit_counters.h"

namespace weir {

std::size_t LimitKeys::Hash::operator()(std::string_view text) const noexcept {
  return absl::HashOf(AbslView(text));
}

void LimitKeys::Add(std::string_view limit, std::string_view key, std::uint64_t hash) {
  if (cleared_.load(std::memory_order_relaxed)) Forget();
  const Nanos now = clock_.Stopwatch();
  const auto known = sketches_.find(limit);
  Sketch* const sketch = known != sketches_.end() ? &known->second : Begin(limit, now);
  if (!sketch) return;
  sketch->last_denial = now;
  sketch->keys->Add(key, hash);
}

LimitKeys::Sketch* LimitKeys::Begin(std::string_view limit, Nanos now) {
  const bool is_spelled_out = IsSpelledOut(limit);
  if (sketches_.size() == kSketchedLimitsMax && !MakeRoom(is_spelled_out, now)) return nullptr;
  Sketch& begun = sketches_[std::string(limit)];
  begun.keys = std::make_shared<TopKeys>(kKeysOfLimitMax);
  if (is_spelled_out) ++spelled_out_;
  MutexLock lock(mutex_);
  shown_.emplace(limit, begun.keys);
  WEIR_CHECK(shown_.size() == sketches_.size());
  return &begun;
}

bool LimitKeys::MakeRoom(bool is_spelled_out, Nanos now) {
  const bool takes_any_age = !is_spelled_out && spelled_out_ > 0;
  if (!takes_any_age && now < full_until_) return false;
  auto idlest = sketches_.end();
  for (auto i = sketches_.begin(); i != sketches_.end(); ++i) {
    if (takes_any_age && !IsSpelledOut(i->first)) continue;
    if (idlest == sketches_.end() || i->second.last_denial < idlest->second.last_denial) idlest = i;
  }
  WEIR_CHECK(idlest != sketches_.end());
  if (!takes_any_age && now - idlest->second.last_denial < kIdleTime) {
    full_until_ = idlest->second.last_denial + kIdleTime;
    return false;
  }
  if (IsSpelledOut(idlest->first)) --spelled_out_;
  MutexLock lock(mutex_);
  shown_.erase(idlest->first);
  sketches_.erase(idlest);
  return true;
}

void LimitKeys::Forget() {
  MutexLock lock(mutex_);
  shown_.clear();
  sketches_.clear();
  spelled_out_ = 0;
  full_until_ = Nanos{0};
  cleared_.store(false, std::memory_order_relaxed);
}

LimitKeys::Shown LimitKeys::shown() const {
  MutexLock lock(mutex_);
  return cleared_.load(std::memory_order_relaxed) ? Shown() : shown_;
}

std::vector<TopKeys::Row> LimitKeys::Merge(Threads threads, std::string_view limit,
                                           std::size_t rows_max) {
  std::vector<std::shared_ptr<const TopKeys>> held;
  std::vector<const TopKeys*> sketches;
  for (const LimitKeys* thread : threads) {
    MutexLock lock(thread->mutex_);
    if (thread->cleared_.load(std::memory_order_relaxed)) continue;
    const auto found = thread->shown_.find(limit);
    if (found == thread->shown_.end()) continue;
    held.push_back(found->second);
    sketches.push_back(held.back().get());
  }
  return TopKeys::Merge(sketches, rows_max);
}

LimitKeys::LimitsOfKeys LimitKeys::ByKey(Threads threads) {
  LimitsOfKeys limits;
  for (const LimitKeys* thread : threads) {
    for (const auto& [name, keys] : thread->shown()) {
      for (const std::uint64_t hash : keys->tracked()) limits[hash].push_back(name);
    }
  }
  for (auto& [hash, names] : limits) {
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  return limits;
}

}  // namespace weir
