// What all threads together have counted of each limit, since the last reset.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"
#include "core/rules/limit_stats.h"

namespace weir {

class Tally;

// Thread-safe. A reset takes nothing from the counts, which only their threads write: it remembers
// them, and they are subtracted from then on.
class LimitReport {
 public:
  static constexpr std::array<const char*, 4> kNumbers = {"allowed", "denied", "shadow_denied",
                                                          "near_limit"};
  using Numbers = std::array<std::uint64_t, kNumbers.size()>;
  using Rows = std::map<std::string, Numbers>;

  // By the name of the limit, only those that count something; of more than kCountedLimitsMax the
  // last by name are counted together with the others.
  [[nodiscard]] Rows Since(std::span<const Tally* const> tallies) const;
  // Of requests: the first two are requests that passed and did not, the others sums of the rows.
  [[nodiscard]] Numbers Total(std::span<const Tally* const> tallies) const;
  void Reset(std::span<const Tally* const> tallies);

 private:
  mutable Mutex mutex_;
  Rows rows_at_reset_ ABSL_GUARDED_BY(mutex_);
  Numbers total_at_reset_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace weir
