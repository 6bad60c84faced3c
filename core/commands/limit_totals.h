// The counts of each limit since the last reset, summed over all threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"
#include "core/base/since_reset.h"
#include "core/rules/limit_counters.h"

namespace weir {

class RequestCounters;

// Gives rows to at most kCountedLimitsMax names, and besides to kCountedValuesMax names of values;
// all others are counted together under kOtherLimits. Each reading gives the free rows to the names
// that have none: to given names before those that are spelled out, then to those that were used
// first. A name keeps its row even after a
// reset, so that new names never move a count to kOtherLimits or back.
//
// Thread-safe. The threads' counters of requests continue after a reset, because INFO shows them,
// too.
class LimitTotals {
 public:
  using Numbers = LimitCounters::Totals;
  // Rows by the limits' names, without rows that are all 0. Rows are in
  // the order of NameKind, and within a kind in that in which they were given. kOtherLimits is the
  // last.
  using Rows = std::vector<std::pair<std::string, Numbers>>;
  using Counters = std::span<RequestCounters* const>;

  [[nodiscard]] Rows Since(Counters counters);
  // The total: the first two numbers count requests that passed and that were denied, the others
  // are sums of the rows.
  [[nodiscard]] Numbers Total(std::span<const RequestCounters* const> counters) const;
  // The rows and the total, never those of the middle of a reset; `resets`: how many there were.
  struct Reading {
    Numbers total{};
    Rows rows;
    std::uint64_t resets = 0;
  };
  [[nodiscard]] Reading Read(Counters counters);
  // Forgets the counts, and the keys that were denied, by each limit too, or near their limits.
  void Reset(Counters counters);

 private:
  [[nodiscard]] Rows RowsOf(Counters counters) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SinceReset<std::array<std::uint64_t, 2>> requests_;  // allowed, denied
  Mutex mutex_;                                        // held while the threads' tables are locked
  std::uint64_t resets_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const LimitPlaces> places_ ABSL_GUARDED_BY(mutex_) = FirstPlaces();
};

}  // namespace weir
