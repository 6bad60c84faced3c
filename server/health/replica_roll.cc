#include "server/health/replica_roll.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weir {

std::vector<std::string> ReplicaRoll::Call(HostInstant now,
                                           std::span<const ReplicaStatus> connected) {
  for (const ReplicaStatus& replica : connected) {
    const std::string address = absl::StrCat(replica.ip, ":", replica.port);
    const auto known = heard_.find(address);
    const HostInstant heard = now - replica.lag;
    if (known != heard_.end()) {
      known->second = std::max(known->second, heard);
    } else if (replica.online) {
      heard_.emplace(address, heard);
    }
  }
  std::erase_if(heard_, [&](const auto& one) { return now - one.second >= kForgottenAfter; });
  while (heard_.size() > kNamesMax) {
    heard_.erase(std::ranges::min_element(heard_, {}, [](const auto& one) { return one.second; }));
  }
  std::vector<std::string> away;
  for (const auto& [address, heard] : heard_) {
    if (now - heard >= kAwayAfter) away.push_back(address);
  }
  return away;
}

}  // namespace weir
