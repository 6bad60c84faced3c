#include "server/replicas/host_addresses.h"

#include <system_error>
#include <utility>
#include <vector>

namespace weir {

void HostAddresses::Find(const std::string& host, Take take) {
  std::error_code error;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (!error) return take(address);
  if (const auto found = kept_.find(host); found != kept_.end()) {
    if (clock_.HostNow() < found->second.until) return take(found->second.address);
    kept_.erase(found);
  }
  if (kept_.size() >= kKeptMax) kept_.clear();
  if (pending_.size() >= kPendingMax || pending_.contains(host)) return;
  pending_[host] = std::make_unique<HostLookUp>(
      host, context_,
      [this, host, take = std::move(take)](std::error_code failed,
                                           const std::vector<asio::ip::address>& found) {
        pending_.erase(host);
        if (failed) return;
        kept_[host] = {found.front(), clock_.HostNow() + kAddressKeptTime};
        take(found.front());
      });
}

}  // namespace weir
