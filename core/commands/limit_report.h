// The counts of each limit since the last reset, summed over all threads.
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

// Thread-safe. A reset takes nothing from the counts of requests, which INFO tells, too: it
// remembers them, and they are subtracted from then on.
class LimitReport {
 public:
  static constexpr std::array<const char*, 4> kNumbers = {"allowed", "denied", "shadow_denied",
                                                          "near_limit"};
  using Numbers = std::array<std::uint64_t, kNumbers.size()>;
  using Rows = std::map<std::string, Numbers>;

  // By the name of the limit, only those that count something; of more than kCountedLimitsMax the
  // last by name are counted together with the others.
  [[nodiscard]] Rows Since(std::span<const Tally* const> tallies) const;
  // The total: the first two numbers are requests that passed and did not, the others are sums of
  // the rows.
  [[nodiscard]] Numbers Total(std::span<const Tally* const> tallies) const;
  // Forgets the counts and the keys that were denied most.
  void Reset(std::span<Tally* const> tallies);

 private:
  struct Requests {
    std::uint64_t allowed = 0;
    std::uint64_t denied = 0;
  };
  static Requests Count(std::span<const Tally* const> tallies);

  mutable Mutex mutex_;
  Requests at_reset_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
