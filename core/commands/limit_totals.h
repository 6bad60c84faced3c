// The counts of each limit since the last reset, summed over all threads.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/base/since_reset.h"
#include "core/rules/limit_counters.h"

namespace weir {

class RequestCounters;

// Thread-safe. The counts of requests go on after a reset, as INFO tells them, too.
class LimitTotals {
 public:
  using Numbers = LimitCounters::Totals;
  using Rows = std::map<std::string, Numbers>;

  // By the name of the limit, only those that count something; of more than kCountedLimitsMax the
  // last by name are counted together with the others.
  [[nodiscard]] Rows Since(std::span<const RequestCounters* const> counters) const;
  // The total: the first two numbers are requests that passed and did not, the others are sums of
  // the rows.
  [[nodiscard]] Numbers Total(std::span<const RequestCounters* const> counters) const;
  // Forgets the counts and the keys that were denied most.
  void Reset(std::span<RequestCounters* const> counters);

 private:
  SinceReset<std::array<std::uint64_t, 2>> requests_;  // allowed, denied
};

}  // namespace weir
