#include "server/observe/error_counters.h"

namespace weir {

void ErrorCounters::Count(std::string_view error) {
  const std::string_view prefix = error.substr(0, error.find(' '));
  MutexLock lock(mutex_);
  auto found = counts_.find(prefix);
  if (found == counts_.end()) {
    const bool fits = counts_.size() < kPrefixesMax;
    found = counts_.try_emplace(std::string(fits ? prefix : kOverflow), 0).first;
  }
  ++found->second;
}

ErrorTotals ErrorCounters::totals() const {
  MutexLock lock(mutex_);
  return counts_;
}

}  // namespace weir
