// Accepts connections by TCP, by TLS on another port and by a Unix socket, and hands them to the
// I/O threads in turn.
//
// It survives every failure of accept(). A failure that only concerns one client is ignored. When
// the process has no descriptor left, it closes a descriptor that it keeps in reserve, accepts with
// it, sends the client an error and closes the connection, unless a descriptor has become free. If
// even that fails, it pauses for kAcceptPause. It never spins: accept() is called only after the
// loop has reported a waiting client.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "core/base/thread_role.h"
#include "server/net/io_thread.h"
#include "server/net/protected_mode.h"
#include "server/net/stream_socket.h"
#include "server/net/tls_context.h"
#include "server/net/unix_socket_file.h"
#include "server/os/descriptor_limit.h"
#include "server/os/log.h"
#include "server/session/port_protocol.h"
#include "server/session/worker.h"

namespace weir {

// The most connections accepted in one go; then the loop handles other events.
inline constexpr int kAcceptsPerTurn = 64;
// The most refused connections that linger at a time; further ones are closed at once.
inline constexpr int kRefusalsMax = 32;
static_assert(kRefusalsMax < kDescriptorsForRefusals);
inline constexpr std::chrono::milliseconds kAcceptPause{100};

// A descriptor that is kept in reserve for when the process has no other left.
class ReserveDescriptor {
 public:
  ReserveDescriptor() { Take(); }
  ~ReserveDescriptor() { Release(); }
  ReserveDescriptor(const ReserveDescriptor&) = delete;
  ReserveDescriptor& operator=(const ReserveDescriptor&) = delete;

  // Opens it if it is not open. Returns whether it is open now.
  bool Take();
  void Release();

 private:
  int descriptor_ = -1;
};

// Lives on the thread that runs `control`.
class Listener {
 public:
  // `threads` must outlive it, and not be empty.
  Listener(asio::io_context& control, Services& services,
           std::span<const std::unique_ptr<IoThread>> threads);

  // The calling thread runs `control` from now on.
  void TakeOverControl() { thread_.TakeOver(); }

  // Listens on one port of all addresses, and returns the port; 0 is any port that is free on all
  // of them. On failure it listens on none: "cannot listen on 127.0.0.1:7379: Address already in
  // use".
  absl::StatusOr<std::uint16_t> Listen(const PortProtocol& protocol,
                                       const std::vector<std::string>& addresses,
                                       std::uint16_t port);
  // Like Listen(), for clients that speak TLS. Requires: ReplaceTls() was called.
  absl::StatusOr<std::uint16_t> ListenForTls(const PortProtocol& protocol,
                                             const std::vector<std::string>& addresses,
                                             std::uint16_t port);
  // Listens on a Unix socket with a mode such as 0700. Fails with "cannot listen on
  // '/run/weir.sock': ...".
  absl::Status ListenOnUnixSocket(const PortProtocol& protocol, const std::string& path,
                                  mode_t mode);

  // Replaces the context for clients that connect from now on.
  void ReplaceTls(TlsContext context) {
    thread_.AssertHeld();
    tls_ = std::move(context);
  }

  // Begins to accept, and logs which addresses other hosts can reach.
  void Start();
  // Stops accepting. The kernel refuses clients that were not accepted.
  void Close();

 private:
  enum class Security { kPlain, kTls };
  struct ListeningSocket {
    ListeningSocket(asio::io_context& control, PortProtocol spoken, Security chosen)
        : acceptor(control), pause(control), protocol(std::move(spoken)), security(chosen) {}
    StreamAcceptor acceptor;
    asio::steady_timer pause;
    UnixSocketFile file;  // of a Unix socket
    const PortProtocol protocol;
    const Security security;
  };
  enum class Accepted { kOne, kNone, kFailed };

  absl::StatusOr<std::uint16_t> ListenOnAll(const PortProtocol& protocol,
                                            const std::vector<std::string>& addresses,
                                            std::uint16_t port, Security security)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  absl::StatusOr<std::uint16_t> ListenOn(const PortProtocol& protocol, const std::string& address,
                                         std::uint16_t port, Security security)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void WarnIfExposed(const ListeningSocket& listening, const std::string& place) const;
  [[nodiscard]] AccessRequirements AccessRequirementsOf(const ListeningSocket& listening) const;
  void Wait(ListeningSocket& listening);
  void AcceptSome(ListeningSocket& listening) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Pause(ListeningSocket& listening);
  void Admit(StreamSocket socket, const StreamEndpoint& peer, const ListeningSocket& listening,
             IoThread& thread) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Serve(StreamSocket socket, const StreamEndpoint& peer, const ListeningSocket& listening,
             IoThread& thread) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Refuse(StreamSocket socket, std::string_view error, const ListeningSocket& listening,
              IoThread& thread);
  Accepted AcceptWithReserve(ListeningSocket& listening, IoThread& thread)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);

  asio::io_context& control_;
  Services& services_;
  const std::span<const std::unique_ptr<IoThread>> threads_;
  ThreadRole thread_;  // that runs control_
  std::size_t next_thread_ ABSL_GUARDED_BY(thread_) = 0;
  std::vector<std::unique_ptr<ListeningSocket>> listening_sockets_ ABSL_GUARDED_BY(thread_);
  std::optional<TlsContext> tls_ ABSL_GUARDED_BY(thread_);
  ReserveDescriptor reserve_ ABSL_GUARDED_BY(thread_);
  LogThrottle refusal_throttle_;
  LogThrottle denial_throttle_;
  LogThrottle error_throttle_;
  // Shared with each lingering refusal, to count them.
  const std::shared_ptr<const int> refusals_ = std::make_shared<int>();
};

}  // namespace weir
