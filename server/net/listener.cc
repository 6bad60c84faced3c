#include "server/net/listener.h"

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
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/local/stream_protocol.hpp>
#include <spdlog/spdlog.h>

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"

namespace weir {
namespace {

using asio::ip::tcp;

// The number of free ports of the first address that are tried until one is free on all addresses.
constexpr int kFreePortTries = 16;

// True for errors of the client or the network: the next accept() may well succeed (accept(2),
// "Error handling").
bool IsPassing(const std::error_code& error) {
  constexpr std::array kPassing = {ECONNABORTED, EINTR,       EPROTO, ENETDOWN,
                                   ENOPROTOOPT,  EHOSTDOWN,   ENONET, EHOSTUNREACH,
                                   EOPNOTSUPP,   ENETUNREACH, EPERM,  ETIMEDOUT};
  return std::ranges::find(kPassing, error.value()) != kPassing.end();
}

// True if the process or the system has no descriptor or memory left.
bool IsExhaustion(const std::error_code& error) {
  constexpr std::array kExhaustion = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
  return std::ranges::find(kExhaustion, error.value()) != kExhaustion.end();
}

// The most bytes of replies that the kernel accepts before it has sent them. Without it, a client
// that does not read fills the largest buffer that Linux gives a socket, usually 4 MB.
constexpr int kUnsentBytesMax = 64 * 1024;

// Accepted sockets inherit these options, which saves seven system calls per connection.
std::error_code SetConnectionOptions(int descriptor) {
  struct Option {
    int level;
    int name;
    int value;
  };
  constexpr std::array<Option, 7> kConnectionOptions = {{
      {IPPROTO_TCP, TCP_NODELAY, 1},  // a reply leaves at once
      {IPPROTO_TCP, TCP_NOTSENT_LOWAT, kUnsentBytesMax},
      // A client that has vanished is probed after 60 s without a byte, and then every 20 s. It is
      // closed at the first probe 30 s or more after the last acknowledgement, if one is
      // unanswered: after about 80 s. TCP_USER_TIMEOUT decides that in place of TCP_KEEPCNT, and
      // also closes a client that leaves sent bytes without an acknowledgement for 30 s.
      {SOL_SOCKET, SO_KEEPALIVE, 1},
      {IPPROTO_TCP, TCP_KEEPIDLE, 60},
      {IPPROTO_TCP, TCP_KEEPINTVL, 20},
      {IPPROTO_TCP, TCP_KEEPCNT, 3},
      {IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000},  // milliseconds
  }};
  for (const Option& option : kConnectionOptions) {
    const int set =
        setsockopt(descriptor, option.level, option.name, &option.value, sizeof option.value);
    if (set != 0) return {errno, std::generic_category()};
  }
  return {};
}

// Sets the options of every acceptor and listens.
std::error_code BeginListening(StreamAcceptor& acceptor) {
  std::error_code error;
  acceptor.listen(StreamAcceptor::max_listen_connections, error);
  if (!error) acceptor.non_blocking(true, error);
  // Without it, Asio would wait for the next client within accept().
  if (!error) acceptor.set_option(StreamAcceptor::enable_connection_aborted(true), error);
  return error;
}

absl::Status CannotListen(const std::string& place, std::string_view reason) {
  return absl::UnavailableError(absl::StrCat("cannot listen on ", place, ": ", AbslView(reason)));
}

// True if every client must log in first.
bool AsksForPassword(const Services& services) {
  return services.access.ForNewConnection() == nullptr;
}

// Sends an error to a client that is not served. A TLS client gets none, as its handshake has not
// begun.
void SendFinalError(StreamSocket& socket, std::string_view error, bool plain) {
  std::error_code ignored;
  socket.non_blocking(true, ignored);
  if (plain) socket.write_some(asio::buffer(error), ignored);
}

}  // namespace

bool ReserveDescriptor::Take() {
  if (descriptor_ < 0) descriptor_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return descriptor_ >= 0;
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
      denial_throttle_(services.clock),
      error_throttle_(services.clock) {
  WEIR_CHECK(!threads_.empty());
}

absl::StatusOr<std::uint16_t> Listener::Listen(const PortProtocol& protocol,
                                               const std::vector<std::string>& addresses,
                                               std::uint16_t port) {
  thread_.AssertHeld();
  return ListenOnAll(protocol, addresses, port, Security::kPlain);
}

absl::StatusOr<std::uint16_t> Listener::ListenForTls(const PortProtocol& protocol,
                                                     const std::vector<std::string>& addresses,
                                                     std::uint16_t port) {
  thread_.AssertHeld();
  WEIR_CHECK(tls_.has_value());
  return ListenOnAll(protocol, addresses, port, Security::kTls);
}

absl::StatusOr<std::uint16_t> Listener::ListenOnAll(const PortProtocol& protocol,
                                                    const std::vector<std::string>& addresses,
                                                    std::uint16_t port, Security security) {
  const std::size_t sockets_before = listening_sockets_.size();
  absl::StatusOr<std::uint16_t> used = port;
  for (int tries = 0; tries < (port == 0 ? kFreePortTries : 1); ++tries) {
    used = port;
    for (const std::string& address : addresses) {
      used = ListenOn(protocol, address, *used, security);
      if (!used.ok()) break;
    }
    if (used.ok()) return used;
    listening_sockets_.resize(sockets_before);
  }
  return used;
}

absl::StatusOr<std::uint16_t> Listener::ListenOn(const PortProtocol& protocol,
                                                 const std::string& address, std::uint16_t port,
                                                 Security security) {
  std::error_code error;
  const tcp::endpoint endpoint(asio::ip::make_address(address, error), port);
  auto listening = std::make_unique<ListeningSocket>(control_, protocol, security);
  StreamAcceptor& acceptor = listening->acceptor;
  if (!error) acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(StreamAcceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true), error);
  if (!error) error = SetConnectionOptions(acceptor.native_handle());
  if (!error) acceptor.bind(endpoint, error);
  if (!error) error = BeginListening(acceptor);
  StreamEndpoint bound = endpoint;
  if (!error) bound = acceptor.local_endpoint(error);
  if (error) return CannotListen(EndpointText(endpoint), error.message());
  listening_sockets_.push_back(std::move(listening));
  return PortOf(bound);
}

absl::Status Listener::ListenOnUnixSocket(const PortProtocol& protocol, const std::string& path,
                                          mode_t mode) {
  thread_.AssertHeld();
  auto listening = std::make_unique<ListeningSocket>(control_, protocol, Security::kPlain);
  std::error_code error;
  listening->acceptor.open(asio::local::stream_protocol(), error);
  if (!error) {
    const absl::Status bound =
        listening->file.Bind(listening->acceptor.native_handle(), path, mode);
    if (!bound.ok()) return CannotListen(Quote(path), StdView(bound.message()));
    error = BeginListening(listening->acceptor);
  }
  if (error) return CannotListen(Quote(path), error.message());
  listening_sockets_.push_back(std::move(listening));
  return absl::OkStatus();
}

void Listener::Start() {
  thread_.AssertHeld();
  for (const std::unique_ptr<ListeningSocket>& listening : listening_sockets_) {
    std::error_code ignored;
    const StreamEndpoint endpoint = listening->acceptor.local_endpoint(ignored);
    const std::string place = EscapedForLog(EndpointText(endpoint));
    spdlog::info("listening on {}{}{}", place, listening->protocol.purpose,
                 listening->security == Security::kTls ? " for TLS" : "");
    if (!IsLocal(endpoint)) WarnIfExposed(*listening, place);
    Wait(*listening);
  }
}

void Listener::WarnIfExposed(const ListeningSocket& listening, const std::string& place) const {
  const AccessRequirements required = AccessRequirementsOf(listening);
  if (IsProtected(required)) {
    spdlog::warn("other hosts can reach {}, but only clients on loopback are served, see {}", place,
                 "--protected-mode");
  } else if (!required.asks_for_password && !required.asks_for_certificate) {
    spdlog::warn("other hosts can reach {}, and authentication is off: {}", place,
                 "restrict access to trusted hosts");
  }
}

// Computed for each client, because users and the protected mode may change at run time.
AccessRequirements Listener::AccessRequirementsOf(const ListeningSocket& listening) const {
  const bool asks = services_.options.tls_auth_clients == TlsAuthClients::kYes;
  return {.protected_mode = services_.settings.Get(&Options::protected_mode),
          .asks_for_password = AsksForPassword(services_),
          .asks_for_certificate = listening.security == Security::kTls && asks};
}

void Listener::Close() {
  thread_.AssertHeld();
  for (const std::unique_ptr<ListeningSocket>& listening : listening_sockets_) {
    std::error_code ignored;
    listening->acceptor.close(ignored);
    listening->pause.cancel();
    listening->file.Remove();
  }
}

void Listener::Wait(ListeningSocket& listening) {
  listening.acceptor.async_wait(StreamAcceptor::wait_read,
                                [this, &listening](std::error_code error) {
                                  thread_.AssertHeld();
                                  if (!error && listening.acceptor.is_open()) AcceptSome(listening);
                                });
}

void Listener::AcceptSome(ListeningSocket& listening) {
  reserve_.Take();  // No descriptor may have been left the last time.
  for (int accepts = 0; accepts < kAcceptsPerTurn; ++accepts) {
    IoThread& thread = *threads_[next_thread_];
    StreamSocket socket(thread.context());
    StreamEndpoint peer;
    std::error_code error;
    listening.acceptor.accept(socket, peer, error);
    if (!error) {
      Admit(std::move(socket), peer, listening, thread);
      continue;
    }
    if (error == asio::error::would_block) break;
    if (IsPassing(error)) continue;
    if (const auto suppressed = error_throttle_.Admit()) {
      spdlog::error("cannot accept: {} ({} similar lines suppressed)", error.message(),
                    *suppressed);
    }
    const Accepted accepted =
        IsExhaustion(error) ? AcceptWithReserve(listening, thread) : Accepted::kFailed;
    if (accepted == Accepted::kFailed) return Pause(listening);
    if (accepted == Accepted::kNone) break;
  }
  Wait(listening);
}

void Listener::Pause(ListeningSocket& listening) {
  listening.pause.expires_after(kAcceptPause);
  listening.pause.async_wait([this, &listening](std::error_code error) {
    if (!error && listening.acceptor.is_open()) Wait(listening);
  });
}

void Listener::Admit(StreamSocket socket, const StreamEndpoint& peer,
                     const ListeningSocket& listening, IoThread& thread) {
  next_thread_ = (next_thread_ + 1) % threads_.size();
  services_.main_counters["total_connections_received"].Add();
  if (!IsLocal(peer) && IsProtected(AccessRequirementsOf(listening))) {
    if (const auto suppressed = denial_throttle_.Admit()) {
      spdlog::warn(
          "refused client {}: protected mode serves only local clients ({} similar lines "
          "suppressed)",
          EndpointText(peer), *suppressed);
    }
    return Refuse(std::move(socket), listening.protocol.denied, listening, thread);
  }
  const PortProtocol& protocol = listening.protocol;
  if (services_.clients.size(protocol.face) >= protocol.clients_max) {
    return Refuse(std::move(socket), protocol.too_many_clients, listening, thread);
  }
  const auto clients = static_cast<std::int64_t>(services_.clients.size());
  if (clients >= services_.settings.Get(&Options::max_clients)) {
    if (const auto suppressed = refusal_throttle_.Admit()) {
      spdlog::warn(
          "refused client {}: {} clients are connected, as many as max-clients allows ({} similar "
          "lines suppressed)",
          EscapedForLog(EndpointText(peer)), clients, *suppressed);
    }
    return Refuse(std::move(socket), protocol.too_many_clients, listening, thread);
  }
  Serve(std::move(socket), peer, listening, thread);
}

void Listener::Serve(StreamSocket socket, const StreamEndpoint& peer,
                     const ListeningSocket& listening, IoThread& thread) {
  const int descriptor = socket.native_handle();
  TlsSession session;
  if (listening.security == Security::kTls) {
    session = tls_->NewSession(descriptor, listening.protocol.alpn);
    if (!session) return;  // No memory is left, so the client is closed.
  }
  std::error_code ignored;
  const StreamEndpoint own = socket.local_endpoint(ignored);
  // The client's end of a Unix socket has no name, so it is known by that of the server's end.
  const std::string address = EndpointText(IsUnix(own) ? own : peer);
  thread.Adopt(Transport(std::move(socket), std::move(session)), listening.protocol.make,
               services_.clients.Announce(address, EndpointText(own), descriptor,
                                          services_.clock.HostNow(), listening.protocol.face));
}

void Listener::Refuse(StreamSocket socket, std::string_view error, const ListeningSocket& listening,
                      IoThread& thread) {
  services_.main_counters["rejected_connections"].Add();
  SendFinalError(socket, error, listening.security == Security::kPlain);
  if (refusals_.use_count() > kRefusalsMax) return;
  thread.Dismiss(std::move(socket), refusals_);
}

// Refuses a client because no descriptor is left; if one has become free, serves the client as any
// other. A refused client's descriptor goes back to the reserve at once, so its close cannot
// linger: only the bytes that the client has sent so far are read.
Listener::Accepted Listener::AcceptWithReserve(ListeningSocket& listening, IoThread& thread) {
  reserve_.Release();
  Accepted accepted = Accepted::kFailed;
  {
    StreamSocket socket(thread.context());
    StreamEndpoint peer;
    std::error_code error;
    listening.acceptor.accept(socket, peer, error);
    if (!error) {
      accepted = Accepted::kOne;
      if (reserve_.Take()) {
        Admit(std::move(socket), peer, listening, thread);
        return accepted;
      }
      services_.main_counters["total_connections_received"].Add();
      services_.main_counters["rejected_connections"].Add();
      SendFinalError(socket, listening.protocol.too_many_clients,
                     listening.security == Security::kPlain);
      socket.shutdown(StreamSocket::shutdown_send, error);
      std::array<char, 4096> sent_by_client;
      socket.read_some(asio::buffer(sent_by_client), error);
    } else if (error == asio::error::would_block) {
      accepted = Accepted::kNone;
    }
  }
  reserve_.Take();
  return accepted;
}

}  // namespace weir
