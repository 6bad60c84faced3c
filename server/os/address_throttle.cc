#include "server/os/address_throttle.h"

#include <algorithm>
#include <utility>

namespace weir {

bool AddressThrottle::IsDue(const Lines& lines, HostInstant now) {
  return !lines.last || now - *lines.last >= kInterval;
}

AddressThrottle::Lines& AddressThrottle::LinesOf(std::string_view address, HostInstant now) {
  std::string key(address.substr(0, kAddressBytesMax));
  if (const auto found = addresses_.find(key); found != addresses_.end()) return found->second;
  if (addresses_.size() == kAddressesMax) {
    const auto oldest = std::min_element(
        addresses_.begin(), addresses_.end(),
        [](const auto& one, const auto& other) { return one.second.last < other.second.last; });
    if (!IsDue(oldest->second, now)) return others_;
    others_.suppressed += oldest->second.suppressed;  // so that none goes uncounted
    addresses_.erase(oldest);
  }
  return addresses_[std::move(key)];
}

std::optional<std::uint64_t> AddressThrottle::Admit(std::string_view address) {
  MutexLock lock(mutex_);
  const HostInstant now = clock_.HostNow();
  Lines& lines = LinesOf(address, now);
  if (!IsDue(lines, now)) {
    ++lines.suppressed;
    return std::nullopt;
  }
  lines.last = now;
  return std::exchange(lines.suppressed, 0);
}

}  // namespace weir
