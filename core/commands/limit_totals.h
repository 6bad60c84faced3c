// The counts of each limit since the last reset, summed over all threads.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"
#include "core/base/since_reset.h"
#include "core/rules/limit_counters.h"

namespace weir {

class RequestCounters;

// Thread-safe. The threads' counters of requests go on after a reset, because INFO shows them, too.
class LimitTotals {
 public:
  using Numbers = LimitCounters::Totals;
  using Rows = std::map<std::string, Numbers>;

  // The rows by the limits' names, without those that are all 0. If there are more than
  // kCountedLimitsMax, the last by name are added to kOtherLimits.
  [[nodiscard]] Rows Since(std::span<const RequestCounters* const> counters) const;
  // The total: the first two numbers count requests that passed and that were denied, the others
  // are sums of the rows.
  [[nodiscard]] Numbers Total(std::span<const RequestCounters* const> counters) const;
  // The rows and the total, never those of the middle of a reset; `resets`: how many there were.
  struct Reading {
    Numbers total{};
    Rows rows;
    std::uint64_t resets = 0;
  };
  [[nodiscard]] Reading Read(std::span<const RequestCounters* const> counters) const;
  // Forgets the counts, and the keys that were denied or near their limits most often.
  void Reset(std::span<RequestCounters* const> counters);

 private:
  SinceReset<std::array<std::uint64_t, 2>> requests_;  // allowed, denied
  mutable Mutex reset_mutex_;
  std::uint64_t resets_ ABSL_GUARDED_BY(reset_mutex_) = 0;
};

}  // namespace weir
