#include "server/os/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include "core/base/check.h"

namespace weir {
std::int64_t DescriptorsFor(std::int64_t clients, std::int64_t threads, bool keeps_state) noexcept {
  const std::int64_t more_threads = std::max<std::int64_t>(0, threads - kThreadsInReserve);
  return kDescriptorsReserved + more_threads * kDescriptorsPerThread + clients +
         (keeps_state ? kDescriptorsForState : 0);
}

std::int64_t ClientsWithin(std::int64_t limit, std::int64_t wanted, std::int64_t threads) noexcept {
  return std::min(wanted, limit - DescriptorsFor(0, threads));
}

std::int64_t RaiseDescriptorLimit(std::int64_t wanted, std::int64_t threads) {
  rlimit limit{};
  WEIR_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const auto needed = static_cast<rlim_t>(DescriptorsFor(wanted, threads));
  const rlim_t soft_before = limit.rlim_cur;
  limit.rlim_cur = std::max(soft_before, std::min(needed, limit.rlim_max));
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = soft_before;
  // RLIM_INFINITY is above any number of clients.
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
}

DescriptorBudget FitClientsToDescriptors(std::int64_t wanted, std::int64_t threads,
                                         bool keeps_state) {
  const std::int64_t for_state = keeps_state ? kDescriptorsForState : 0;
  const std::int64_t limit = RaiseDescriptorLimit(wanted + for_state, threads);
  return {.clients = ClientsWithin(limit - for_state, wanted, threads), .limit = limit};
}

}  // namespace weir
