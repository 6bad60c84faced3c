// How often each limit has said yes and no.
//
// One object a thread, so that counting is an addition to memory of its own: the thread that owns
// it counts, any thread may read. Limits go by the names that replies and statistics call them by.
// Bounded: what comes after kCountedLimitsMax names is counted together, under kOtherLimits, until
// a reset gives all places back.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/node_hash_map.h"

#include "core/base/counter.h"
#include "core/base/mutex.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"

namespace weir {

inline constexpr std::size_t kCountedLimitsMax = 4096;
inline constexpr std::string_view kOtherLimits = "(others)";
// CL.THROTTLE's limits, which have a place whatever else is counted.
inline constexpr std::string_view kThrottleName = "cl.throttle";

// The counts of one limit. A request that another limit denied counts for none that would have
// admitted.
struct LimitCounters {
  Counter allowed;        // admitted, and the request passed
  Counter denied;         // said no
  Counter shadow_denied;  // would have said no
  Counter near_limit;     // of the allowed: after them at least 80 % of the limit were in use

  using Totals = std::array<std::uint64_t, 4>;
  static constexpr std::array<const char*, 4> kNames = {"allowed", "denied", "shadow_denied",
                                                        "near_limit"};
  [[nodiscard]] Totals totals() const noexcept {
    return {allowed.value(), denied.value(), shadow_denied.value(), near_limit.value()};
  }
};

// Counts what a limit said in a request that passed, or not. For the thread that owns `counts`.
void CountDecision(LimitCounters& counts, const Limit& limit, const Decision& decision,
                   bool request_passed) noexcept;

// Where a name's counts were found, so that they need not be looked up again before a reset.
struct CountersHint {
  LimitCounters* counts = nullptr;
  std::uint64_t resets = 0;
};

// The counts of one thread, by name, since the last reset.
class LimitCounterTable {
 public:
  // The counts of a name, which live until the next call after a reset. For the owning thread.
  // Cost: a comparison if `hint` has them, else a search under a mutex.
  [[nodiscard]] LimitCounters& Of(std::string_view name, CountersHint& hint) {
    const std::uint64_t resets = resets_.load(std::memory_order_relaxed);
    if (!hint.counts || hint.resets != resets) hint = {Find(name, resets), resets};
    return *hint.counts;
  }

  // Calls visit(name, counts) for each name, in no order. For any thread.
  void ForEach(const std::function<void(const std::string&, const LimitCounters&)>& visit) const;

  // Forgets all names and counts: at once for ForEach, and when it counts next for the owning
  // thread, which alone may free them. For any thread.
  void Reset() noexcept { resets_.fetch_add(1, std::memory_order_relaxed); }

 private:
  LimitCounters* Find(std::string_view name, std::uint64_t resets);

  std::atomic<std::uint64_t> resets_{0};
  mutable Mutex mutex_;  // of the map; a name's counts need none
  std::uint64_t resets_done_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::node_hash_map<std::string, LimitCounters> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
