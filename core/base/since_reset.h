// Totals since the last reset, for counters that only their own threads write.
//
// A reset leaves the counters as they are and remembers their totals, which are subtracted from
// then on. Totals are integers, or arrays and maps of totals; any other type needs an overload of
// ForEachNumber beside it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"

namespace weir {

// Calls visit(number, other) for each number of `totals` that `others` has, too. A number missing
// from a map in `totals` is added to it as 0.
template <typename Visit>
void ForEachNumber(std::uint64_t& total, std::uint64_t other, Visit visit) {
  visit(total, other);
}
template <typename Part, std::size_t kSize, typename Visit>
void ForEachNumber(std::array<Part, kSize>& totals, const std::array<Part, kSize>& others,
                   Visit visit) {
  for (std::size_t i = 0; i < kSize; ++i) ForEachNumber(totals[i], others[i], visit);
}
template <typename Name, typename Part, typename Order, typename Visit>
void ForEachNumber(std::map<Name, Part, Order>& totals, const std::map<Name, Part, Order>& others,
                   Visit visit) {
  for (const auto& [name, other] : others) ForEachNumber(totals[name], other, visit);
}

template <typename Totals>
void AddTotals(Totals& totals, const Totals& others) {
  ForEachNumber(totals, others, [](std::uint64_t& total, std::uint64_t other) { total += other; });
}

// Thread-safe. Cost: a lock, and a pass over the totals.
template <typename Totals>
class SinceReset {
 public:
  // Returns the counts since the last reset; `totals` are the counts since the start. Counters go
  // on while they are read, so a total remembered by the reset may be slightly ahead of `totals`:
  // the result is then 0.
  [[nodiscard]] Totals Of(Totals totals) const {
    MutexLock lock(mutex_);
    ForEachNumber(totals, at_reset_, [](std::uint64_t& total, std::uint64_t before) {
      total -= std::min(total, before);
    });
    return totals;
  }

  void Reset(Totals totals) {
    MutexLock lock(mutex_);
    at_reset_ = std::move(totals);
  }

 private:
  mutable Mutex mutex_;
  Totals at_reset_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace weir
