#include "server/listener.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include <asio/buffer.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/v6_only.hpp>
#include <spdlog/spdlog.h>

namespace weir {
namespace {

using asio::ip::tcp;

constexpr std::string_view kTooManyClients = "-ERR max number of clients reached\r\n";

// How often a port that is free on the first address is looked for when it is taken on another one.
constexpr int kFreePortTries = 16;

// The client's fault, or the network's: the next accept() may well succeed (accept(2), "Error
// handling").
bool IsPassing(const std::error_code& error) {
  constexpr std::array kPassing = {ECONNABORTED, EINTR,       EPROTO, ENETDOWN,
                                   ENOPROTOOPT,  EHOSTDOWN,   ENONET, EHOSTUNREACH,
                                   EOPNOTSUPP,   ENETUNREACH, EPERM,  ETIMEDOUT};
  return std::ranges::find(kPassing, error.value()) != kPassing.end();
}

// Ours: no descriptor or memory is left.
bool IsExhaustion(const std::error_code& error) {
  constexpr std::array kExhaustion = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
  return std::ranges::find(kExhaustion, error.value()) != kExhaustion.end();
}

// Accepted sockets inherit these, which saves six system calls each.
std::error_code SetConnectionOptions(int descriptor) {
  struct Option {
    int level;
    int name;
    int value;
  };
  constexpr std::array<Option, 6> kConnectionOptions = {{
      {IPPROTO_TCP, TCP_NODELAY, 1},           // a reply leaves at once
      {SOL_SOCKET, SO_KEEPALIVE, 1},           // who vanished without a word is found out
      {IPPROTO_TCP, TCP_KEEPIDLE, 60},         // after 60 s without a byte
      {IPPROTO_TCP, TCP_KEEPINTVL, 20},        // and probes 20 s apart,
      {IPPROTO_TCP, TCP_KEEPCNT, 3},           // three of them,
      {IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000}  // or 30 s after it stopped taking replies
  }};
  for (const Option& option : kConnectionOptions) {
    const int set =
        setsockopt(descriptor, option.level, option.name, &option.value, sizeof option.value);
    if (set != 0) return {errno, std::generic_category()};
  }
  return {};
}

}  // namespace

std::string EndpointText(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? absl::StrCat("[", address, "]:", endpoint.port())
                                    : absl::StrCat(address, ":", endpoint.port());
}

void ReserveDescriptor::Take() {
  if (descriptor_ < 0) descriptor_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void ReserveDescriptor::Release() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

Listener::Listener(asio::io_context& control, Services& services,
                   std::span<const std::unique_ptr<IoThread>> threads)
    : control_(control),
      services_(services),
      threads_(threads),
      refusal_throttle_(services.clock),
      error_throttle_(services.clock) {}

absl::Status Listener::Listen(const std::vector<std::string>& addresses, std::uint16_t port) {
  absl::Status listening;
  for (int tries = 0; tries < (port == 0 ? kFreePortTries : 1); ++tries) {
    port_ = port;
    for (const std::string& address : addresses) {
      listening = ListenOn(address, port_);
      if (!listening.ok()) break;
    }
    if (listening.ok()) return listening;
    doors_.clear();
  }
  return listening;
}

absl::Status Listener::ListenOn(const std::string& address, std::uint16_t port) {
  std::error_code error;
  tcp::endpoint endpoint(asio::ip::make_address(address, error), port);
  auto door = std::make_unique<Door>(control_);
  tcp::acceptor& acceptor = door->acceptor;
  if (!error) acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
  if (!error) error = SetConnectionOptions(acceptor.native_handle());
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (!error) acceptor.non_blocking(true, error);
  // Else Asio would wait for the next one, within accept().
  if (!error) acceptor.set_option(tcp::acceptor::enable_connection_aborted(true), error);
  if (!error) endpoint = acceptor.local_endpoint(error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", EndpointText(endpoint), ": ", error.message()));
  }
  port_ = endpoint.port();
  doors_.push_back(std::move(door));
  return absl::OkStatus();
}

void Listener::Start() {
  for (const std::unique_ptr<Door>& door : doors_) {
    std::error_code ignored;
    const tcp::endpoint endpoint = door->acceptor.local_endpoint(ignored);
    spdlog::info("listening on {}", EndpointText(endpoint));
    if (!endpoint.address().is_loopback()) {
      spdlog::warn(
          "other hosts can reach {}, and there is no password yet: let only those whom "
          "you trust",
          EndpointText(endpoint));
    }
    Wait(*door);
  }
}

void Listener::Close() {
  for (const std::unique_ptr<Door>& door : doors_) {
    std::error_code ignored;
    door->acceptor.close(ignored);
    door->pause.cancel();
  }
}

void Listener::Wait(Door& door) {
  door.acceptor.async_wait(tcp::acceptor::wait_read, [this, &door](std::error_code error) {
    if (!error && door.acceptor.is_open()) AcceptSome(door);
  });
}

void Listener::AcceptSome(Door& door) {
  for (int accepts = 0; accepts < kAcceptsPerTurn; ++accepts) {
    IoThread& thread = *threads_[next_thread_];
    tcp::socket socket(thread.context());
    tcp::endpoint peer;
    std::error_code error;
    door.acceptor.accept(socket, peer, error);
    if (!error) {
      next_thread_ = (next_thread_ + 1) % threads_.size();
      Admit(std::move(socket), peer, thread);
      continue;
    }
    if (error == asio::error::would_block) break;
    if (IsPassing(error)) continue;
    if (const auto held_back = error_throttle_.Admit()) {
      spdlog::error("cannot accept: {} ({} such lines held back)", error.message(), *held_back);
    }
    const Refused refused = IsExhaustion(error) ? RefuseWithReserve(door) : Refused::kFailed;
    if (refused == Refused::kFailed) return Pause(door);
    if (refused == Refused::kNobodyThere) break;
  }
  Wait(door);
}

void Listener::Pause(Door& door) {
  door.pause.expires_after(kAcceptPause);
  door.pause.async_wait([this, &door](std::error_code error) {
    if (!error && door.acceptor.is_open()) Wait(door);
  });
}

void Listener::Admit(tcp::socket socket, const tcp::endpoint& peer, IoThread& thread) {
  services_.connections_received.fetch_add(1, std::memory_order_relaxed);
  const auto clients = static_cast<std::int64_t>(services_.clients.size());
  if (clients >= services_.options.max_clients) {
    if (const auto held_back = refusal_throttle_.Admit()) {
      spdlog::warn("refused {}: {} clients are connected ({} such lines held back)",
                   EndpointText(peer), clients, *held_back);
    }
    return Refuse(std::move(socket), thread);
  }
  std::error_code ignored;
  const tcp::endpoint own = socket.local_endpoint(ignored);
  const int descriptor = socket.native_handle();
  thread.Adopt(std::move(socket), services_.clients.Add(EndpointText(peer), EndpointText(own),
                                                        descriptor, services_.clock.Now()));
}

void Listener::Refuse(tcp::socket socket, IoThread& thread) {
  services_.connections_rejected.fetch_add(1, std::memory_order_relaxed);
  std::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(kTooManyClients), ignored);
  if (refusals_.use_count() > kRefusalsMax) return;
  thread.Dismiss(std::move(socket), refusals_);
}

// The descriptor is needed back at once, so this close cannot linger: what the client has sent by
// now is read, and no more.
Listener::Refused Listener::RefuseWithReserve(Door& door) {
  reserve_.Release();
  Refused refused = Refused::kFailed;
  {
    tcp::socket socket(control_);
    std::error_code error;
    door.acceptor.accept(socket, error);
    if (!error) {
      refused = Refused::kOne;
      services_.connections_received.fetch_add(1, std::memory_order_relaxed);
      services_.connections_rejected.fetch_add(1, std::memory_order_relaxed);
      socket.non_blocking(true, error);
      socket.write_some(asio::buffer(kTooManyClients), error);
      socket.shutdown(tcp::socket::shutdown_send, error);
      std::array<char, 4096> sent_by_client;
      socket.read_some(asio::buffer(sent_by_client), error);
    } else if (error == asio::error::would_block) {
      refused = Refused::kNobodyThere;
    }
  }
  reserve_.Take();
  return refused;
}

}  // namespace weir
