// Accepts connections and hands them to the I/O threads in turn: by TCP, by TLS on another port,
// and by a Unix socket.
//
// It must never be the part that fails: an accept() that fails for the client's sake is forgotten;
// when the process has no descriptor left it closes one that it keeps for the purpose, accepts,
// says why it closes, and closes, unless there is one again by then; and when even that fails it
// pauses. It never spins: accept() is called only after the loop has said that a client is waiting.
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
#include <vector>

#include "absl/status/status.h"
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "server/net/io_thread.h"
#include "server/net/protected_mode.h"
#include "server/net/stream_socket.h"
#include "server/net/tls_context.h"
#include "server/net/unix_socket_file.h"
#include "server/os/log.h"
#include "server/session/worker.h"

namespace weir {

// Accepted in one go; then the loop sees to other things.
inline constexpr int kAcceptsPerTurn = 64;
// Refused connections that are closed with care at a time; those above are just closed.
inline constexpr int kRefusalsMax = 32;
inline constexpr std::chrono::milliseconds kAcceptPause{100};

// A descriptor that is kept for the time when there is no other.
class ReserveDescriptor {
 public:
  ReserveDescriptor() { Take(); }
  ~ReserveDescriptor() { Release(); }
  ReserveDescriptor(const ReserveDescriptor&) = delete;
  ReserveDescriptor& operator=(const ReserveDescriptor&) = delete;

  // Returns whether it is held now.
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

  // Binds all addresses to one port, 0 being any that is free on all of them. On failure nothing is
  // bound: "cannot listen on 127.0.0.1:7379: Address already in use".
  absl::Status Listen(const std::vector<std::string>& addresses, std::uint16_t port);
  // The same, for clients that speak TLS.
  absl::Status ListenForTls(const std::vector<std::string>& addresses, std::uint16_t port,
                            TlsContext context);
  // On a Unix socket, with a mode such as 0700: "cannot listen on '/run/weir.sock': ...".
  absl::Status ListenOnUnixSocket(const std::string& path, mode_t mode);
  // Of Listen(); 0: not called.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  // Clients that connect from now on use this one.
  void ReplaceTls(TlsContext context) { tls_ = std::move(context); }

  // Begins to accept; says what other hosts can do with addresses that they can reach.
  void Start();
  // Ends it; who has not been accepted is refused by the kernel.
  void Close();

 private:
  enum class Security { kPlain, kTls };
  struct ListeningSocket {
    ListeningSocket(asio::io_context& control, Security chosen)
        : acceptor(control), pause(control), security(chosen) {}
    StreamAcceptor acceptor;
    asio::steady_timer pause;
    const Security security;
  };
  enum class Accepted { kOne, kNobodyThere, kFailed };

  absl::StatusOr<std::uint16_t> ListenOnAll(const std::vector<std::string>& addresses,
                                            std::uint16_t port, Security security);
  absl::StatusOr<std::uint16_t> ListenOn(const std::string& address, std::uint16_t port,
                                         Security security);
  void WarnIfExposed(const ListeningSocket& listening, const std::string& place) const;
  [[nodiscard]] AccessRequirements AccessRequirementsOf(const ListeningSocket& listening) const;
  void Wait(ListeningSocket& listening);
  void AcceptSome(ListeningSocket& listening);
  void Pause(ListeningSocket& listening);
  void Admit(StreamSocket socket, const StreamEndpoint& peer, const ListeningSocket& listening,
             IoThread& thread);
  void Serve(StreamSocket socket, const StreamEndpoint& peer, const ListeningSocket& listening,
             IoThread& thread);
  void Refuse(StreamSocket socket, std::string_view farewell, const ListeningSocket& listening,
              IoThread& thread);
  Accepted AcceptWithReserve(ListeningSocket& listening, IoThread& thread);

  asio::io_context& control_;
  Services& services_;
  const std::span<const std::unique_ptr<IoThread>> threads_;
  std::size_t next_thread_ = 0;
  std::vector<std::unique_ptr<ListeningSocket>> listening_sockets_;
  std::uint16_t port_ = 0;
  std::optional<TlsContext> tls_;
  UnixSocketFile unix_socket_;
  ReserveDescriptor reserve_;
  LogThrottle refusal_throttle_;
  LogThrottle denial_throttle_;
  LogThrottle error_throttle_;
  const std::shared_ptr<const int> refusals_ =
      std::make_shared<int>();  // held by each lingering one
};

}  // namespace weir
