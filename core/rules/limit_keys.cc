#include "core/rules/limit_keys.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/hash/hash.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/rules/limit_counters.h"

namespace weir {
namespace {

// Clients can make as many of these as they like.
bool IsOfClients(std::string_view limit) { return KindOf(limit) != NameKind::kGiven; }

}  // namespace

std::size_t LimitKeys::Hash::operator()(std::string_view text) const noexcept {
  return absl::HashOf(AbslView(text));
}

void LimitKeys::Add(std::string_view limit, std::string_view key, std::uint64_t hash,
                    std::uint16_t partition) {
  if (cleared_.load(std::memory_order_relaxed)) Forget();
  ++additions_;
  if (!last_ || last_->first != limit) {
    const auto known = sketches_.find(limit);
    last_ = known != sketches_.end() ? &*known : Begin(limit);
    if (!last_) return;
  }
  last_->second.last_denial = additions_;
  last_->second.keys->Add(key, hash, partition);
}

LimitKeys::Sketches::value_type* LimitKeys::Begin(std::string_view limit) {
  const bool is_of_clients = IsOfClients(limit);
  if (sketches_.size() == kSketchedLimitsMax && !MakeRoom(is_of_clients)) return nullptr;
  Sketches::value_type& begun = *sketches_.try_emplace(std::string(limit)).first;
  begun.second.keys = std::make_shared<TopKeys>(kKeysOfLimitMax);
  if (is_of_clients) ++of_clients_;
  if (sketches_.size() == kSketchedLimitsMax && !mark_) mark_ = {clock_.Stopwatch(), additions_};
  MutexLock lock(mutex_);
  shown_.emplace(limit, begun.second.keys);
  WEIR_CHECK(shown_.size() == sketches_.size());
  return &begun;
}

LimitKeys::Sketches::iterator LimitKeys::Idlest(bool among_of_clients) {
  auto idlest = sketches_.end();
  for (auto i = sketches_.begin(); i != sketches_.end(); ++i) {
    if (among_of_clients && !IsOfClients(i->first)) continue;
    if (idlest == sketches_.end() || i->second.last_denial < idlest->second.last_denial) idlest = i;
  }
  WEIR_CHECK(idlest != sketches_.end());
  return idlest;
}

bool LimitKeys::MakeRoom(bool is_of_clients) {
  const bool takes_any_age = !is_of_clients && of_clients_ > 0;
  if (!takes_any_age) {
    WEIR_CHECK(mark_.has_value());
    const Nanos now = clock_.Stopwatch();
    if (now - mark_->time < kIdleTime) return false;
    if (Idlest(false)->second.last_denial > mark_->additions) {
      mark_ = {now, additions_};
      return false;
    }
  }
  const auto idlest = Idlest(takes_any_age);
  if (IsOfClients(idlest->first)) --of_clients_;
  MutexLock lock(mutex_);
  shown_.erase(idlest->first);
  sketches_.erase(idlest);
  return true;
}

void LimitKeys::Forget() {
  MutexLock lock(mutex_);
  shown_.clear();
  last_ = nullptr;
  sketches_.clear();
  of_clients_ = 0;
  mark_.reset();
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

std::vector<TopKeys::Row> LimitKeys::AllRows(Threads threads) {
  std::vector<TopKeys::Row> all;
  for (const LimitKeys* thread : threads) {
    for (const auto& [name, keys] : thread->shown()) {
      const TopKeys* const sketch = keys.get();
      std::ranges::move(TopKeys::Merge({&sketch, 1}, kKeysOfLimitMax), std::back_inserter(all));
    }
  }
  return all;
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
