#include "server/os/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include "core/base/check.h"

namespace weir {

std::int64_t DescriptorsFor(std::int64_t clients, const DescriptorUse& use) noexcept {
  return clients + kDescriptorsReserved + kDescriptorsForReplication + kDescriptorsForRefusals +
         use.threads * kDescriptorsPerLoop + use.listeners +
         (use.keeps_state ? kDescriptorsForState : 0);
}

std::int64_t ClientsWithin(std::int64_t limit, std::int64_t wanted,
                           const DescriptorUse& use) noexcept {
  return std::min(wanted, limit - DescriptorsFor(0, use));
}

std::int64_t RaiseDescriptorLimit(std::int64_t wanted, const DescriptorUse& use) {
  rlimit limit{};
  WEIR_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const auto needed = static_cast<rlim_t>(DescriptorsFor(wanted, use));
  const rlim_t soft_before = limit.rlim_cur;
  limit.rlim_cur = std::max(soft_before, std::min(needed, limit.rlim_max));
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = soft_before;
  // RLIM_INFINITY is above any number of clients.
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
}

DescriptorBudget FitClientsToDescriptors(std::int64_t wanted, const DescriptorUse& use) {
  const std::int64_t limit = RaiseDescriptorLimit(wanted, use);
  return {.clients = ClientsWithin(limit, wanted, use), .limit = limit};
}

}  // namespace weir
