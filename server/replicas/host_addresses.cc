#include "server/replicas/host_addresses.h"

#include <system_error>
#include <utility>

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
  if (pending_.size() >= kPendingMax || !pending_.insert(host).second) return;
  resolver_.async_resolve(
      host, "",
      [this, host, take = std::move(take)](std::error_code failed,
                                           const asio::ip::tcp::resolver::results_type& found) {
        pending_.erase(host);
        if (failed || found.empty()) return;
        const asio::ip::address first = found.begin()->endpoint().address();
        kept_[host] = {first, clock_.HostNow() + kAddressKeptTime};
        take(first);
      });
}

}  // namespace weir
