// The addresses of hosts by name, kept for 10 s. Everything happens on the thread of the context. A
// look-up neither keeps that thread waiting nor keeps it from ending.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "server/net/host_look_up.h"

namespace weir {

inline constexpr Nanos kAddressKeptTime = std::chrono::seconds{10};

class HostAddresses {
 public:
  HostAddresses(asio::io_context& context, const Clock& clock) : clock_(clock), context_(context) {}

  // Calls `take` with the address: in this call if the host is an address or its address is known,
  // else when the look-up has ended. Never calls it if the look-up fails, or if another one of that
  // name is under way.
  using Take = std::function<void(const asio::ip::address& address)>;
  void Find(const std::string& host, Take take);
  // Drops the answers of the look-ups.
  void Cancel() { pending_.clear(); }

 private:
  static constexpr std::size_t kKeptMax = 64;
  static constexpr std::size_t kPendingMax = 8;
  // Leaves a place for the look-up of the link to the primary. But a look-up whose answer was
  // dropped keeps its place until it ends, so many of these may take all.
  static_assert(kPendingMax < kHostLookUpsMax);
  struct Kept {
    asio::ip::address address;
    HostInstant until;
  };

  const Clock& clock_;
  asio::io_context& context_;
  absl::flat_hash_map<std::string, Kept> kept_;
  absl::flat_hash_map<std::string, std::unique_ptr<HostLookUp>> pending_;
};

}  // namespace weir
