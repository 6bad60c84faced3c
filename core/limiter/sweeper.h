// Sweeps the partitions in endless laps: drops full buckets, settles holds that have expired, and
// gives memory back.
//
// A full bucket is the same as an absent one, so dropping it changes no reply. Each step sweeps one
// partition under its lock: a scan (10 us for the 2,400 slots of a table of ten million) that stops
// after kVisitsPerHold slots and takes the lock again, so that no request waits longer than about
// 100 us. If many holds expire at once, each lap settles some thousands of them in each partition,
// a few under one lock. Nothing here sleeps: the caller paces the steps by LapTime().
//
// Not thread-safe: one thread drives it. The counts may be read from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/limiter/limiter_upkeep.h"

namespace weir {

class Sweeper {
 public:
  static constexpr std::size_t kVisitsPerHold = 8192;
  // The number of holds that are settled under one lock; and how often this repeats in one lap if
  // more are due.
  static constexpr std::size_t kDueAtOnce = 16;
  static constexpr std::size_t kMoreDue = 256;
  // Ids are taken back when kIdleLimitsMin are idle, kReclaimsPerStop at a time: the world stops
  // for it.
  static constexpr std::size_t kIdleLimitsMin = 1024;
  static constexpr std::size_t kReclaimsPerStop = 1024;
  // The time of a lap when there is little to drop, and when there is much.
  static constexpr Nanos kCalmLap = std::chrono::seconds{10};
  static constexpr Nanos kBusyLap = std::chrono::seconds{1};
  static_assert(kBusyLap < kCalmLap);

  explicit Sweeper(LimiterTable& table) : upkeep_(table) {}

  // Sweeps the next partition. Returns true at the end of a lap, where idle limits were taken back,
  // too.
  bool Step(Instant now);

  // Frees a part of the content that LimiterUpkeep::Clear has discarded. Returns false if nothing
  // is left.
  bool FreeDiscarded() { return upkeep_.FreeDiscarded(); }

  // True if the last lap has left holds that had expired: their memory is free soon.
  [[nodiscard]] bool has_left_due() const noexcept { return has_left_due_; }
  // The time that the present lap should take, for the pace of the steps.
  [[nodiscard]] Nanos LapTime() const noexcept { return lap_time_; }

  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return dropped_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t laps() const noexcept {
    return laps_.load(std::memory_order_relaxed);
  }

 private:
  void EndLap();

  LimiterUpkeep upkeep_;
  std::size_t next_ = 0;  // partition
  std::size_t dropped_this_lap_ = 0;
  bool leaves_due_ = false;    // the present lap
  bool has_left_due_ = false;  // the last one
  Nanos lap_time_ = kBusyLap;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> laps_{0};
};

inline bool Sweeper::Step(Instant now) {
  for (std::size_t slot = 0; slot != Partition::kNoMore;) {
    const LimiterUpkeep::Swept part = upkeep_.SweepSome(next_, now, slot, kVisitsPerHold);
    WEIR_CHECK(part.erased <= kVisitsPerHold);
    slot = part.next;
    bool has_due = part.has_due;
    for (std::size_t more = 0; has_due && more < kMoreDue; ++more) {
      has_due = upkeep_.ExpireSome(next_, now, kDueAtOnce);
    }
    leaves_due_ = leaves_due_ || has_due;
    dropped_this_lap_ += part.erased;
    dropped_.fetch_add(part.erased, std::memory_order_relaxed);
  }
  next_ = (next_ + 1) % kPartitionCount;
  if (next_ != 0) return false;
  EndLap();
  return true;
}

inline void Sweeper::EndLap() {
  upkeep_.FitTable();
  while (upkeep_.ReclaimLimits(kIdleLimitsMin, kReclaimsPerStop) > 0) {
  }
  // Busy if the lap dropped more than an eighth of the buckets that are left, or left holds.
  has_left_due_ = std::exchange(leaves_due_, false);
  const bool busy = has_left_due_ || dropped_this_lap_ > upkeep_.size().buckets / 8;
  lap_time_ = busy ? kBusyLap : kCalmLap;
  dropped_this_lap_ = 0;
  laps_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace weir
