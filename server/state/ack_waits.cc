#include "server/state/ack_waits.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace weir {
namespace {

// The number of offsets, the highest first, that are at or above one.
std::size_t CountFrom(std::uint64_t offset, std::span<const std::uint64_t> acked) {
  const auto below =
      std::ranges::find_if(acked, [offset](std::uint64_t one) { return one < offset; });
  return static_cast<std::size_t>(below - acked.begin());
}

}  // namespace

std::shared_ptr<AckWait> AckWaits::Add(std::size_t needed, std::function<void()> wake) {
  auto wait = std::make_shared<AckWait>(needed, std::move(wake));
  MutexLock lock(mutex_);
  // The tick under way may have missed the caller's change.
  wait->tick_ = ticks_ + 1;
  if (needed > 0) return Keep(std::move(wait));
  End(*wait);
  return wait;
}

std::shared_ptr<AckWait> AckWaits::AddForSameChange(const AckWait* earlier, std::size_t needed,
                                                    std::function<void()> wake) {
  auto wait = std::make_shared<AckWait>(needed, std::move(wake));
  MutexLock lock(mutex_);
  wait->tick_ = earlier ? earlier->tick_ : 0;
  wait->offset_ = earlier ? earlier->offset_ : 0;
  if (wait->offset_ != AckWait::kNoOffset) wait->count_ = CountFrom(wait->offset_, acked_);
  if (wait->is_done()) {
    End(*wait);
    return wait;
  }
  return Keep(std::move(wait));
}

std::shared_ptr<AckWait> AckWaits::Keep(std::shared_ptr<AckWait> wait) {
  if (ended_) {
    End(*wait);
    return wait;
  }
  // Where no tick comes, nothing else drops waits that were given up.
  if (waits_.size() >= dropped_at_) {
    ForEach([](AckWait&) { return true; });
    dropped_at_ = 2 * waits_.size() + 16;
  }
  waits_.push_back(wait);
  is_empty_.store(false, std::memory_order_relaxed);
  return wait;
}

template <typename Visit>
void AckWaits::ForEach(Visit visit) {
  std::erase_if(waits_, [&](const std::weak_ptr<AckWait>& kept) {
    const std::shared_ptr<AckWait> wait = kept.lock();
    const bool is_of_use = wait && !(wait->is_given_up() && wait->offset_ != AckWait::kNoOffset);
    return !is_of_use || !visit(*wait);
  });
  is_empty_.store(waits_.empty(), std::memory_order_relaxed);
}

void AckWaits::End(AckWait& wait) {
  WEIR_CHECK(!wait.is_over());
  wait.over_.store(true, std::memory_order_release);
  wait.wake_();
}

void AckWaits::BeginTick() {
  MutexLock lock(mutex_);
  ++ticks_;
}

// A wait that was added before the tick began is seen here, since BeginTick took the mutex.
void AckWaits::EndTick(std::uint64_t offset) {
  if (is_empty_.load(std::memory_order_relaxed)) return;
  MutexLock lock(mutex_);
  WEIR_CHECK(offset >= ended_at_);
  ended_at_ = offset;
  ForEach([offset, ticks = ticks_](AckWait& wait) {
    const bool is_new = wait.offset_ == AckWait::kNoOffset;
    if (is_new && wait.tick_ <= ticks) wait.offset_ = offset;
    return true;
  });
}

void AckWaits::Judge(std::span<const std::uint64_t> acked) {
  WEIR_CHECK(std::ranges::is_sorted(acked, std::ranges::greater()));
  MutexLock lock(mutex_);
  acked_.assign(acked.begin(), acked.end());
  if (waits_.empty()) return;
  ForEach([&](AckWait& wait) {
    if (wait.offset_ == AckWait::kNoOffset) return true;
    wait.count_.store(CountFrom(wait.offset_, acked), std::memory_order_relaxed);
    if (!wait.is_done()) return true;
    End(wait);
    return false;
  });
}

void AckWaits::EndAll() {
  MutexLock lock(mutex_);
  ended_ = true;
  acked_.clear();
  ForEach([](AckWait& wait) {
    End(wait);
    return false;
  });
}

void AckWaits::Begin() {
  MutexLock lock(mutex_);
  ended_ = false;
  ended_at_ = 0;
}

std::size_t AckWaits::size() const {
  if (is_empty_.load(std::memory_order_relaxed)) return 0;
  MutexLock lock(mutex_);
  const auto is_kept = [](const std::weak_ptr<AckWait>& kept) {
    const std::shared_ptr<AckWait> wait = kept.lock();
    return wait && !wait->is_given_up();
  };
  return static_cast<std::size_t>(std::ranges::count_if(waits_, is_kept));
}

}  // namespace weir
