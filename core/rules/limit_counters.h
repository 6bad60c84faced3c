// Counts how often each limit has admitted and denied.
//
// Each thread has its own table, so that counting is an addition to memory that no other thread
// writes: the owner counts, any thread may read. A limit's counts are found by its name in replies
// and statistics. Bounded: after kCountedLimitsMax names, all further names are counted together
// under kOtherLimits, until a reset empties the table.
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
// The name of CL.THROTTLE's limits, which is counted even if the table is full.
inline constexpr std::string_view kThrottleName = "cl.throttle";

// The counts of one limit. A limit that would admit a request counts nothing if another limit
// denies it.
struct LimitCounters {
  Counter allowed;         // admitted, and the request passed
  Counter denied;          // denied the request
  Counter shadow_denied;   // would have denied it
  Counter near_limit;      // those of `allowed` that left at least 80 % of the limit in use
  Counter bans;            // denials of either kind that shut the limit
  Counter charged_beyond;  // charges of tokens that were not there

  using Totals = std::array<std::uint64_t, 6>;
  static constexpr std::array<const char*, 6> kNames = {"allowed",    "denied", "shadow_denied",
                                                        "near_limit", "bans",   "charged_beyond"};
  [[nodiscard]] Totals totals() const noexcept {
    return {allowed.value(),    denied.value(), shadow_denied.value(),
            near_limit.value(), bans.value(),   charged_beyond.value()};
  }
};

// Counts the decision of a limit. `taken`: the request has taken its tokens, as it does if it
// passes, and in a charge. Returns whether it counts as near the limit. Only for the thread that
// owns `counts`.
inline bool CountDecision(LimitCounters& counts, const Limit& limit, const Decision& decision,
                          bool taken) noexcept {
  constexpr std::int64_t kNearFraction = 5;  // a fifth is left: 80 % is in use
  if (!decision.allowed) {
    Counter& count = limit.shape().shadow ? counts.shadow_denied : counts.denied;
    count.Add();
    return false;
  }
  if (!taken) return false;
  counts.allowed.Add();
  if (decision.remaining > limit.capacity_tokens() / kNearFraction) return false;
  counts.near_limit.Add();
  return true;
}

// The counts that a name was last found to have, to save the search until the next reset.
struct CountersHint {
  LimitCounters* counts = nullptr;
  std::uint64_t resets = 0;
};

// The counts of one thread, by name, since the last reset.
class LimitCounterTable {
 public:
  // The counts of a name, which live until the next call after a reset. Only for the owning thread.
  // Cost: a comparison if `hint` has the counts, else a search under a mutex.
  [[nodiscard]] LimitCounters& Of(std::string_view name, CountersHint& hint) {
    const std::uint64_t resets = resets_.load(std::memory_order_relaxed);
    if (!hint.counts || hint.resets != resets) hint = {Find(name, resets), resets};
    return *hint.counts;
  }

  // Calls visit(name, counts) for each name, in no order. For any thread.
  void ForEach(const std::function<void(const std::string&, const LimitCounters&)>& visit) const;

  // Forgets all names and counts. ForEach visits none from now on; the owning thread, which alone
  // may free them, does so when it counts next. For any thread.
  void Reset() noexcept { resets_.fetch_add(1, std::memory_order_relaxed); }

 private:
  LimitCounters* Find(std::string_view name, std::uint64_t resets);

  std::atomic<std::uint64_t> resets_{0};
  mutable Mutex mutex_;  // guards the map; a name's counts need no lock
  std::uint64_t resets_done_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::node_hash_map<std::string, LimitCounters> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
